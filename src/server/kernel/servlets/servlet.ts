import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { isAskMethod, type Ask } from "../core/asks.ts";
import type { CallContext } from "../core/call-context.ts";
import type { CompletionRequest, OwnRun } from "../calls/call-ref.ts";
import {
  ANONYMOUS,
  isObject,
  type CallToolResult,
  type CompleteResult,
  type GetPromptResult,
  type Json,
  type Lists,
  type ReadResourceResult,
} from "../core/model.ts";
import { Suspended, type Outcome } from "../core/suspension.ts";
import { withoutView } from "../core/views.ts";
import { sentAsks, wrongElicitation } from "../schema/elicitations.ts";
import { excessOf } from "../core/shape.ts";
import type { Ending } from "../wasm/call.ts";
import type { HostFunctions } from "../wasm/host-function.ts";
import { parseJson } from "../core/text.ts";
import { mapValues } from "../core/values.ts";
import { tidyToolResult } from "./tidy/results.ts";

/**
 * One servlet of any dialect. Names are the servlet's own. Results are valid in the newest MCP; a failing tool returns
 * a result with `isError`, so that a model can correct its call. Every other failure is thrown as a `Fault`.
 */
export interface Servlet {
  /** True if it can list such entries. */
  lists(kind: keyof Lists): boolean;
  list<K extends keyof Lists>(kind: K, call: CallContext): Promise<Lists[K]>;
  /** `demandFit` throws a `Fault` if a result does not match the tool's output schema. */
  callTool(
    name: string,
    args: Json,
    call: CallContext,
    demandFit?: (result: CallToolResult) => void,
  ): Promise<Outcome<CallToolResult>>;
  readResource(uri: string, call: CallContext): Promise<Outcome<ReadResourceResult>>;
  getPrompt(
    name: string,
    args: Record<string, string>,
    call: CallContext,
  ): Promise<Outcome<GetPromptResult>>;
  complete(request: CompletionRequest, call: CallContext): Promise<CompleteResult>;
  /** Handles a change of the client's roots; absent if the servlet has no handler. */
  rootsChanged?(call: CallContext): Promise<Outcome<Json>>;
  /** Runs it without a request of a caller; the result is one of a tool. Absent in dialects that cannot do that. */
  runOwn?(why: OwnRun, request: Json, call: CallContext): Promise<Outcome<CallToolResult>>;
  readonly completes: boolean;
}

/** Runs one export of the servlet with this input, and reads its output. */
type Run = <T>(
  name: string,
  input: string,
  call: CallContext,
  read: (ending: Ending) => T,
) => Promise<T>;

/** The exports of a servlet and how to run them. */
export interface Interface {
  /** Names of its exports. */
  exports: readonly string[];
  /** True if request ids and progress tokens are passed as the client sent them, not as strings. */
  idsAsGiven: boolean;
  run: Run;
}

/** A plugin interface: how its servlets are called, and what they may import. */
export interface Dialect {
  /** Exports of a servlet that are called. */
  exports: readonly string[];
  /** Host functions that its servlets may import from `extism:host/user`. */
  userFunctions: HostFunctions;
  connect(servlet: Interface): Servlet;
}

const faulty = (what: string) => new Fault("servlet_failed", `${what} Report this to its author.`);

/** The output of a run as a JSON object. Throws a `Fault` for a run that failed. */
export function outputOf(ending: Ending): Json {
  if (ending.kind === "suspended")
    throw faulty(
      "The servlet asked for input in a list or completion, where no client can be asked.",
    );
  if (ending.kind !== "returned") throw new Fault("servlet_failed", ending.message);
  if (ending.output === undefined || ending.output === "")
    throw faulty("The servlet returned no output; a JSON object was expected.");
  let output: unknown;
  try {
    output = parseJson(ending.output);
  } catch {
    throw faulty("The servlet's output is not JSON.");
  }
  if (!isObject(output)) throw faulty("The servlet's output is not a JSON object.");
  // A short text cannot be nested deeply.
  const isLong = ending.output.length > 2 * limits.outputDepth;
  if (isLong && excessOf(output, { depth: limits.outputDepth }) !== undefined)
    throw faulty(`The servlet's output is nested too deeply (limit ${limits.outputDepth} levels).`);
  if (isObject(output["error"]) && typeof output["error"]["code"] === "number") {
    throw chosenError(output["error"]["code"], output["error"]);
  }
  return output;
}

/** The suspended call of an interrupted run. */
export const suspendedBy = (ending: Ending & { kind: "suspended" }): Suspended =>
  new Suspended(ending.reason, ending.fuelUsed, ending);

/** Reads the output of a run that may be suspended, or may return a request for input. */
export function outcomeOf<T>(ending: Ending, read: (output: Json) => T): Outcome<T> {
  if (ending.kind === "suspended") return suspendedBy(ending);
  const output = outputOf(ending);
  if (ending.kind === "returned" && output["resultType"] === "input_required") {
    return inputRequired(output, ending);
  }
  delete output["resultType"]; // The server sets it.
  return read(output);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequiredresult */
function inputRequired(
  output: Json,
  { fuelUsed, isSingleUse = false }: Ending & { kind: "returned" },
): Suspended {
  const { inputRequests: requests = {}, requestState: state } = output;
  const bad = (what: string) =>
    new Fault("servlet_failed", `The servlet needs input, but ${what}.`);
  if (!isObject(requests)) throw bad("its inputRequests are not an object");
  if (state !== undefined && typeof state !== "string")
    throw bad("its requestState is not a string");
  const asked = mapValues(requests, (one, key): Ask => {
    const { method, params } = isObject(one) ? one : {};
    if (!isAskMethod(method)) throw bad(`${key} is not a request with a known method`);
    return { method, params: isObject(params) ? params : {} };
  });
  if (Object.keys(asked).length === 0 && state === undefined) throw bad("it asks for nothing");
  let states = 0;
  const wrong = wrongElicitation(asked, (more) => {
    states += more;
    if (states > limits.patternSizes) throw bad("the patterns of its forms are too large");
  });
  if (wrong !== undefined) throw bad(wrong);
  const asks = mapValues(sentAsks(asked), withoutView);
  const reason = { kind: "input" as const, asks, given: {} };
  return new Suspended(reason, fuelUsed, { state, isSingleUse });
}

/** The result of a tool's run. */
export function toolOutcome(
  ending: Ending,
  demandFit: ((result: CallToolResult) => void) | undefined,
): Outcome<CallToolResult> {
  if (ending.kind === "trapped" || ending.kind === "refused")
    return { content: [{ type: "text", text: ending.message }], isError: true };
  return outcomeOf(ending, (output) => {
    const result = tidyToolResult(output);
    demandFit?.(result);
    return result;
  });
}

/** The error of a servlet that does not handle a client's missing capability. */
const MISSING_CAPABILITY = -32021;

/** The JSON-RPC error that a servlet chose. Reserved codes of the specification are replaced. */
function chosenError(code: number, error: Json): Fault {
  const message = typeof error["message"] === "string" ? error["message"] : "The servlet failed.";
  const data = error["data"];
  if (code === -32002) return new Fault("not_found", message, { data });
  if (code === MISSING_CAPABILITY && isObject(data) && isObject(data["requiredCapabilities"])) {
    return new Fault("missing_capability", message, { data });
  }
  const own = Number.isInteger(code) && !(code >= -32099 && code <= -32000);
  return new Fault("servlet_error", message, { data, ownCode: own ? code : -32603 });
}

/** A call without a caller. */
export const nobodysCall: CallContext = {
  id: "list",
  meta: {},
  principal: ANONYMOUS,
  client: { capabilities: {} },
  signal: () => new AbortController().signal,
  notify: () => {},
  ask: () =>
    Promise.reject(
      new Fault(
        "servlet_failed",
        "The servlet asked its client while it was listed. Lists must not depend on a client.",
      ),
    ),
};

/** Why a list of a servlet is missing. */
export interface ListFailure {
  kind: keyof Lists;
  message: string;
}

/** The lists of a servlet; missing lists are empty. */
export interface CollectedLists {
  lists: Lists;
  failures: readonly ListFailure[];
}

/** Codes of faults caused by the servlet itself. */
const OWN_FAULTS = new Set([
  "servlet_failed",
  "servlet_error",
  "missing_capability",
  "not_found",
  "not_configured",
]);

/** Reads each list of a servlet; by default without a principal. Throws a `Fault` if the servlet cannot be asked. */
export async function listAll(servlet: Servlet, call = nobodysCall): Promise<CollectedLists> {
  const failures: ListFailure[] = [];
  const list = async <K extends keyof Lists>(kind: K): Promise<Lists[K]> => {
    try {
      return await servlet.list(kind, call);
    } catch (error) {
      if (!(error instanceof Fault) || !OWN_FAULTS.has(error.code)) throw error;
      failures.push({ kind, message: error.message });
      return NO_ENTRIES[kind];
    }
  };
  const lists = {
    tools: await list("tools"),
    resources: await list("resources"),
    resourceTemplates: await list("resourceTemplates"),
    prompts: await list("prompts"),
  };
  return { lists, failures };
}

/** The lists of a servlet without entries. */
export const NO_ENTRIES: Lists = { tools: [], resources: [], resourceTemplates: [], prompts: [] };

/** The entries of each list, in words. */
export const KIND_NAMES: Readonly<Record<keyof Lists, string>> = {
  tools: "tools",
  resources: "resources",
  resourceTemplates: "resource templates",
  prompts: "prompts",
};

/** A failure as text that follows the servlet's name. */
export const describeFailure = ({ kind, message }: ListFailure): string =>
  `has no list of ${KIND_NAMES[kind]}, as it fails: ${message}`;
