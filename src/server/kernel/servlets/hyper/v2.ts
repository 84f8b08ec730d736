import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { CompletionRequest, OwnRun } from "../../calls/call-ref.ts";
import type { CallContext } from "../../core/call-context.ts";
import type { Json, Lists } from "../../core/model.ts";
import { Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { mapValues } from "../../core/values.ts";
import { plainAnswer } from "./plain-answers.ts";
import {
  outcomeOf,
  outputOf,
  toolOutcome,
  type Dialect,
  type Interface,
  type Servlet,
  suspendedBy,
} from "../servlet.ts";
import { userFunctions } from "./functions.ts";
import { validList } from "../tidy/lists.ts";
import { completion, tidyPromptResult, tidyReadResult } from "../tidy/results.ts";

/** Pages of a servlet's list; a longer one is treated as endless. */
const LIST_PAGES = 100;

/**
 * The plugin interface of hyper-mcp 2: one export for each method, given `{request, context}`.
 * https://github.com/hyper-mcp-rs/hyper-mcp/blob/main/xtp-plugin-schema.json
 */
const LIST_EXPORTS: Record<keyof Lists, string> = {
  tools: "list_tools",
  resources: "list_resources",
  resourceTemplates: "list_resource_templates",
  prompts: "list_prompts",
};

const ROOTS_CHANGED = "on_roots_list_changed";

/** Exports of this project, for runs without a caller. */
const OWN_RUNS: Record<OwnRun, string> = {
  schedule: "run_schedule",
  webhook: "receive_webhook",
};

const connect = ({ exports, idsAsGiven, run }: Interface): Servlet => {
  const input = (request: Json | undefined, call: CallContext): string =>
    JSON.stringify({ ...(request && { request }), context: contextOf(call, idsAsGiven) });

  const exported = (name: string): string => {
    if (exports.includes(name)) return name;
    throw new Fault("method_not_found", `The servlet has no ${name}.`);
  };

  return {
    completes: exports.includes("complete"),
    lists: (kind) => exports.includes(LIST_EXPORTS[kind]),

    async list<K extends keyof Lists>(kind: K, call: CallContext): Promise<Lists[K]> {
      const found: unknown[] = [];
      if (!exports.includes(LIST_EXPORTS[kind])) return validList(kind, found);
      let cursor: string | undefined;
      let characters = 0;
      for (let page = 0; page < LIST_PAGES; page++) {
        const request = cursor === undefined ? undefined : { cursor };
        const output = await run(LIST_EXPORTS[kind], input(request, call), call, (ending) => {
          characters += ending.kind === "returned" ? (ending.output ?? "").length : 0;
          return characters > limits.outputBytes ? undefined : outputOf(ending);
        });
        if (output === undefined) break;
        found.push(...validList(kind, output[kind]));
        if (typeof output["nextCursor"] !== "string") return validList(kind, found);
        cursor = output["nextCursor"];
      }
      throw new Fault(
        "servlet_failed",
        `The servlet's list of ${kind} is too long: at most ${LIST_PAGES} pages and ${limits.outputBytes} bytes are read.`,
      );
    },

    callTool(name, args, call, demandFit) {
      const request = { name, arguments: args, ...givenTo(call) };
      return run(exported("call_tool"), input(request, call), call, (ending) =>
        toolOutcome(ending, demandFit),
      );
    },

    readResource(uri, call) {
      const request = { uri, ...givenTo(call) };
      return run(exported("read_resource"), input(request, call), call, (ending) =>
        outcomeOf(ending, (output) => tidyReadResult(output, uri)),
      );
    },

    getPrompt(name, args, call) {
      const request = { name, arguments: args, ...givenTo(call) };
      return run(exported("get_prompt"), input(request, call), call, (ending) =>
        outcomeOf(ending, tidyPromptResult),
      );
    },

    complete({ ref, ...rest }: CompletionRequest, call) {
      const own = { ...ref, type: ref.type === "ref/prompt" ? "prompt" : "resource" };
      const request = { ref: own, ...rest };
      return run(exported("complete"), input(request, call), call, (ending) =>
        completion(outputOf(ending)),
      );
    },

    runOwn(why, request, call) {
      const given = { ...request, ...givenTo(call) };
      return run(exported(OWN_RUNS[why]), input(given, call), call, (ending) =>
        toolOutcome(ending, undefined),
      );
    },

    ...(exports.includes(ROOTS_CHANGED) && {
      rootsChanged(call: CallContext) {
        const context = { _meta: {}, context: contextOf(call, idsAsGiven) };
        return run(ROOTS_CHANGED, JSON.stringify(context), call, (ending) => {
          if (ending.kind === "suspended") return suspendedBy(ending);
          if (ending.kind === "returned") return {};
          throw new Fault("servlet_failed", ending.message);
        });
      },
    }),
  };
};

/**
 * The client's answers, for a servlet that returned an input request and is called again. If one has failed,
 * `inputAnswers` has all as `Answers`, so that a servlet can distinguish a failure from a decision.
 */
function givenTo({ input }: CallContext): Json | undefined {
  if (input === undefined) return undefined;
  const hasFailed = Object.values(input.responses).some((answer) => "failed" in answer);
  return {
    inputResponses: mapValues(input.responses, plainAnswer),
    ...(hasFailed && { inputAnswers: input.responses }),
    ...(input.state !== undefined && { requestState: input.state }),
  };
}

/** The guest's `context`. Its schema requires `_meta`, and strings for ids and tokens. */
function contextOf(
  { id, meta, client, principal, session }: CallContext,
  idsAsGiven: boolean,
): Json {
  const { progressToken: token } = meta;
  return {
    id: idsAsGiven ? id : String(id),
    _meta:
      typeof token !== "number" || idsAsGiven ? meta : { ...meta, progressToken: String(token) },
    client: {
      ...client,
      principal: principal.name,
      ...(session !== undefined && { session: sessionName(session) }),
    },
  };
}

/** The name of a session for servlets: a hash, because the id may authenticate its client. 32 hex digits. */
const sessionName = (session: string): string =>
  bytesToHex(sha256(utf8ToBytes(`session ${session}`))).slice(0, 32);

export const hyperV2: Dialect = {
  exports: [
    ...Object.values(LIST_EXPORTS),
    "call_tool",
    "read_resource",
    "get_prompt",
    "complete",
    ROOTS_CHANGED,
    ...Object.values(OWN_RUNS),
  ],
  userFunctions,
  connect,
};
