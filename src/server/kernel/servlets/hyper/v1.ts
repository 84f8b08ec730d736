import { Fault } from "../../core/errors.ts";
import type { CallContext } from "../../core/call-context.ts";
import type { Lists } from "../../core/model.ts";
import {
  outcomeOf,
  outputOf,
  toolOutcome,
  type Dialect,
  type Interface,
  type Servlet,
} from "../servlet.ts";
import { userFunctions } from "./functions.ts";
import { validList } from "../tidy/lists.ts";
import { tidyReadResult } from "../tidy/results.ts";

/**
 * The plugin interface of hyper-mcp 1 and of mcp.run: `describe` lists tools, `call` calls one. They
 * differ in spelling only, and every spelling is read. mcp.run adds resources.
 * https://github.com/dylibso/mcp.run-servlets
 */
const LIST_EXPORTS: Partial<Record<keyof Lists, string>> = {
  resources: "list_resources",
  resourceTemplates: "list_resource_templates",
};

const connect = ({ exports, run }: Interface): Servlet => ({
  completes: false,
  lists: (kind) => kind === "tools" || exports.includes(LIST_EXPORTS[kind] ?? ""),

  async list<K extends keyof Lists>(kind: K, call: CallContext): Promise<Lists[K]> {
    if (kind === "tools") {
      const described = await run("describe", "", call, outputOf);
      // Early servlets describe their only tool without a list.
      return validList(kind, "tools" in described ? described["tools"] : [described]);
    }
    const name = LIST_EXPORTS[kind];
    if (name === undefined || !exports.includes(name)) return validList(kind, []);
    return validList(kind, (await run(name, "", call, outputOf))[kind]);
  },

  callTool(name, args, call, demandFit) {
    // Exactly these keys, and always `arguments`: some guests reject other keys, some trap without it.
    const input = request("tools/call", { name, arguments: args });
    return run("call", input, call, (ending) => toolOutcome(ending, demandFit));
  },

  readResource(uri, call) {
    return run("read_resource", request("resources/read", { uri }), call, (ending) =>
      outcomeOf(ending, (output) => tidyReadResult(output, uri)),
    );
  },

  getPrompt: () => refuse("prompts"),
  complete: () => refuse("completion"),
});

const request = (method: string, params: object) => JSON.stringify({ method, params });

function refuse(what: string): Promise<never> {
  return Promise.reject(new Fault("method_not_found", `The servlet has no ${what}.`));
}

export const hyperV1: Dialect = {
  exports: ["describe", "call", "read_resource", ...Object.values(LIST_EXPORTS)],
  userFunctions,
  connect,
};
