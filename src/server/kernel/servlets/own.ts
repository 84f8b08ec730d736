import { Fault } from "../core/errors.ts";
import type { CallContext } from "../core/call-context.ts";
import type { CallToolResult, Json, Tool } from "../core/model.ts";
import { Suspended, Wait, type Outcome } from "../core/suspension.ts";
import type { PreparedServlet } from "./bundle.ts";
import { SERVER_SERVLET } from "./scopes.ts";
import type { Servlet } from "./servlet.ts";
import type { ServedSkills } from "./bundle.ts";

/** A tool of the server itself. */
export interface OwnTool {
  tool: Omit<Tool, "name">;
  /** Throws a `Wait` for an answer, with the state that it is called again with. */
  run(args: Json, call: CallContext): Promise<Outcome<CallToolResult>>;
}

/** The result of a failed tool of the server, in words for the model. */
export const errorResult = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
});

/** A servlet that is part of the server: it has these tools and skills, and no code. */
export function ownServlet(
  name: string,
  tools: Readonly<Record<string, OwnTool>>,
  skills?: ServedSkills,
): [PreparedServlet, Servlet] {
  const listed = Object.entries(tools).map(([own, { tool }]) => ({ ...tool, name: own }));
  const lists = { tools: listed, resources: [], resourceTemplates: [], prompts: [] };
  const refuse = () => Promise.reject(new Fault("method_not_found", `${name} has only tools.`));
  const servlet: Servlet = {
    completes: false,
    lists: (kind) => kind === "tools",
    list: (kind) => Promise.resolve(lists[kind]),
    async callTool(own, args, call) {
      try {
        return await tools[own]!.run(args, call);
      } catch (error) {
        if (error instanceof Wait) return new Suspended(error.reason, 0, { state: error.state });
        // A model can correct its call.
        const { code, message } = Fault.from(error);
        if (code !== "invalid_params" && code !== "conflict") throw error;
        return errorResult(message);
      }
    },
    readResource: refuse,
    getPrompt: refuse,
    complete: refuse,
  };
  const neverWaits = name === SERVER_SERVLET;
  const prepared = {
    name,
    hash: name,
    neverWaits,
    exports: [],
    manifest: {},
    lists,
    ...(skills && { skills }),
  };
  return [{ ...prepared, dialect: "hyper-v2" }, servlet];
}
