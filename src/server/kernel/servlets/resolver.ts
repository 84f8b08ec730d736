/** Resolves a call reference to an entry: the servlet's run with the arguments checked. */
import { checkWithoutNulls } from "../core/deviations.ts";
import { Fault, noResource } from "../core/errors.ts";
import type { CallRef, CompletionRequest } from "../calls/call-ref.ts";
import type { CallContext } from "../core/call-context.ts";
import type { CallToolResult, CompleteResult, Json, ReadResourceResult } from "../core/model.ts";
import { nearest } from "../core/nearest.ts";
import { Suspended, type Outcome } from "../core/suspension.ts";
import { isForModels } from "../core/views.ts";
import type { Access } from "./access.ts";
import type { PreparedServlet } from "./bundle.ts";
import {
  demandArguments,
  findCompleted,
  findResource,
  isSkipped,
  readersOf,
  toolNamedIn,
  unlistedResource,
} from "./catalog.ts";
import type { Catalog, FoundResource, EntrySource, PromptEntry, ToolEntry } from "./catalog.ts";
import { describeIssues } from "./checks.ts";
import type { Deployment, FoundEntry } from "./deployment.ts";
import { errorResult } from "./own.ts";
import { tellMisfit } from "./run-log.ts";
import type { Servlet } from "./servlet.ts";

/** A call reference resolved for one caller. */
export interface Entry extends FoundEntry {
  tool?: ToolEntry;
}

/** Everything served to one caller, for looking up names. */
export interface Offered {
  readonly access: Access;
  readonly deployment: Deployment;
  /** The servlets with the newest versions. */
  readonly servlets: readonly PreparedServlet[];
  /** The entries that all callers with this access share, if known without waiting. */
  readonly shared: Catalog | undefined;
  /** All entries. */
  catalog(): Promise<Catalog>;
  /**
   * Looks something up, first by `pickShared` among the entries that do not depend on a caller's state. Throws
   * `insufficient_scope` if only the caller's scopes hide it.
   */
  find<T extends Partial<EntrySource>>(
    pick: (catalog: Catalog) => T | undefined,
    pickShared?: (catalog: Catalog) => T | undefined,
  ): Promise<T | undefined>;
  /** The tool with this name, if it belongs to one caller and not to a list. */
  callersTool(name: string, catalog: Catalog): ToolEntry | undefined;
  /** Everything served to a caller whose scopes grant everything. */
  readonly whole: Offered;
  servlet(prepared: PreparedServlet): Servlet;
}

/**
 * The entry of this reference; not a promise for a tool whose catalog is known. Throws `invalid_params`,
 * `insufficient_scope`.
 */
export function resolve(ref: CallRef, of: Offered): Entry | Promise<Entry> {
  if (ref.kind === "tool") {
    const tool = of.shared?.tools.get(ref.name);
    if (tool !== undefined) {
      of.access.demand(tool);
      return calledTool(tool, ref, of);
    }
  }
  return lookedUp(ref, of);
}

async function lookedUp(ref: CallRef, of: Offered): Promise<Entry> {
  switch (ref.kind) {
    case "tool":
      return calledTool(await toolNamed(ref.name, of), ref, of);
    case "prompt": {
      const { servlet, own, prompt } = await promptNamed(ref.name, of);
      const run = async (call: CallContext) => {
        demandArguments(prompt, ref.input);
        return of.servlet(servlet).getPrompt(own, ref.input, call);
      };
      return { ref, subject: ref.name, servlet, run };
    }
    case "resource": {
      const found = callersResource(ref.name, of) ?? (await resourceAt(ref.name, of));
      const run = (call: CallContext) => readResource(found, call, of);
      return { ref, subject: found.subject, servlet: found.servlet, run };
    }
    case "completion": {
      const { servlet, request } = await completerOf(ref.input, of);
      const run = async (call: CallContext): Promise<CompleteResult> => {
        const { completes, complete } = of.servlet(servlet);
        return completes ? complete(request, call) : { completion: { values: [] } };
      };
      return { ref, servlet, run };
    }
    case "roots":
      return { ref, run: (call) => rootsChanged(ref.name, call, of) };
    case "schedule":
    case "webhook": {
      const servlet = of.servlets.find(({ name }) => name === ref.name);
      if (servlet === undefined)
        throw new Fault("not_found", `The servlet ${ref.name} is not served any more.`);
      const run = async (call: CallContext) => {
        const { runOwn } = of.servlet(servlet);
        if (runOwn !== undefined) return runOwn(ref.kind, ref.input, call);
        throw new Fault("method_not_found", `The servlet ${ref.name} cannot run by itself.`);
      };
      return { ref, subject: ref.kind, servlet, run };
    }
  }
}

/** The entry of a call of this tool. */
function calledTool(
  tool: ToolEntry,
  ref: CallRef & { kind: "tool" },
  of: Offered,
): Entry | Promise<Entry> {
  const isCaller = tool.target !== undefined;
  // A resumed call keeps the arguments that its profile pinned when it began, even if there were none.
  const { pinned: own = of.access.isAtProfile ? (tool.pinned ?? {}) : undefined } = ref;
  // The pinned arguments belong to the tool that the call is redirected to.
  const pinned = isCaller ? undefined : own;
  const whole = pinned === undefined ? ref.input : { ...ref.input, ...pinned };
  const { value, issues: others } = checkWithoutNulls(tool.input, whole);
  const given = Object.keys(pinned ?? {}).filter((name) => Object.hasOwn(ref.input, name));
  const issues = given.length > 0 ? given.map(pinnedIssue) : others;
  if (isCaller && issues === undefined) return targetTool(tool, { ...ref, input: value }, of);
  const entry = toolEntry(tool, value, of, pinned);
  if (issues === undefined) return entry;
  const text = `Tool arguments do not match the input schema of ${ref.name}: ${describeIssues(issues)}.`;
  const run = async (call: CallContext) => {
    tellMisfit(tool.servlet.name, { call, error: text, deployment: of.deployment });
    return errorResult(text);
  };
  return { ...entry, misfit: text, run };
}

/** The entry of the tool that a call of `caller` is redirected to: from here on it is a call of that tool. */
async function targetTool(
  caller: ToolEntry,
  { input, pinned }: CallRef & { kind: "tool" },
  of: Offered,
): Promise<Entry> {
  const { name, arguments: given = {} } = caller.target!(input);
  try {
    const called = await toolNamed(name, of);
    if (called.target !== undefined && called.servlet === caller.servlet)
      throw new Fault("invalid_params", `${name} does not call itself. Name another tool.`);
    if (!isForModels(called.tool)) throw await unknown("tool", name, of);
    return await resolve({ kind: "tool", name, input: given, ...(pinned && { pinned }) }, of);
  } catch (error) {
    // A model can correct its call.
    const { code, message } = Fault.from(error);
    if (code !== "invalid_params") throw error;
    return { ...toolEntry(caller, input, of), run: async () => errorResult(message) };
  }
}

/** The tool with this name. Throws `invalid_params`, `insufficient_scope`. */
async function toolNamed(name: string, of: Offered): Promise<ToolEntry> {
  const entry = await of.find(
    (catalog) => toolNamedIn(catalog, name) ?? of.callersTool(name, catalog),
    // An alias may be the name of a tool that depends on the caller's state.
    (shared) => shared.tools.get(name),
  );
  if (entry !== undefined) return entry;
  throw await unknown("tool", name, of);
}

/** The prompt with this name. Throws `invalid_params`, `insufficient_scope`. */
async function promptNamed(name: string, of: Offered): Promise<PromptEntry> {
  const entry = await of.find(({ prompts }) => prompts.get(name));
  if (entry !== undefined) return entry;
  throw await unknown("prompt", name, of);
}

async function unknown(kind: "tool" | "prompt", name: string, of: Offered): Promise<Fault> {
  const { [`${kind}s` as const]: all, tools } = await of.catalog();
  // A model may not call every tool.
  const others = [...all.keys()].filter((one) => one !== name);
  const meant = nearest(name, others);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const { unlisted } = tools.values().find((one) => one.unlisted !== undefined) ?? {};
  const place = (kind === "tool" && unlisted) || `See ${kind}s/list.`;
  return new Fault("invalid_params", `Unknown ${kind}: ${name}.${hint} ${place}`);
}

/** The entry of a tool of any version, with checked arguments, of which the profile has set `pinned`. */
export function toolEntry(
  tool: ToolEntry,
  input: Json,
  of: Pick<Offered, "deployment" | "servlet">,
  pinned?: Json,
): Entry {
  const { name } = tool.tool;
  const { callTool } = of.servlet(tool.servlet);
  const demandFit = ({ isError, structuredContent }: CallToolResult) => {
    const unfit = isError === true ? undefined : tool.output?.(structuredContent);
    if (unfit === undefined) return;
    const message = `The servlet's structuredContent does not fit the outputSchema of ${name}: ${describeIssues(unfit)}`;
    throw new Fault("servlet_failed", message);
  };
  const isBounded = tool.servlet.manifest.files?.resultsOver !== undefined;
  const runFitted = async (call: CallContext) => {
    const outcome = await callTool(tool.own, input, call, demandFit);
    if (outcome instanceof Suspended) return outcome;
    return (await of.deployment.fitResult?.(outcome, { tool, call })) ?? outcome;
  };
  return {
    ref: { kind: "tool", name, ...callersPart(input, pinned) },
    subject: name,
    servlet: tool.servlet,
    tool,
    run: isBounded ? runFitted : (call) => callTool(tool.own, input, call, demandFit),
  };
}

/** The servlet that this URI belongs to, regardless of the caller's scopes. Throws `insufficient_scope`. */
export async function resourceAt(uri: string, of: Offered): Promise<FoundResource> {
  const found = await resourceOwner(uri, of);
  of.access.demand(found);
  return found ?? unlistedResource(uri);
}

/** A resource of the caller alone; undefined if the URI is not one. */
function callersResource(uri: string, { deployment }: Offered): FoundResource | undefined {
  const [read] = (deployment.contributors ?? []).flatMap((one) => one.callersResource?.(uri) ?? []);
  return read && { ...unlistedResource(uri), read };
}

/** The resource with this URI, even if the caller's scopes do not grant it; undefined if no servlet has it. */
export const resourceOwner = (uri: string, of: Offered): Promise<FoundResource | undefined> =>
  (of.access.isNarrow ? of.whole : of).find(
    (catalog) => findResource(catalog, uri),
    (shared) => (shared.resources.has(uri) ? findResource(shared, uri) : undefined),
  );

/**
 * Reads a resource from the servlet that it belongs to, else from each servlet that may know it, until one succeeds.
 */
async function readResource(
  { servlet: owner, own: uri, read }: FoundResource,
  call: CallContext,
  of: Offered,
): Promise<Outcome<ReadResourceResult>> {
  if (read !== undefined) return read(of.deployment.storedPart, call.principal);
  if (owner !== undefined) return of.servlet(owner).readResource(uri, call);
  for (const reader of readersOf(await of.whole.catalog(), uri)) {
    if (isSkipped(reader, uri) || !of.access.may(reader.name, uri)) continue;
    try {
      return await of.servlet(reader).readResource(uri, call);
    } catch (error) {
      if (!PASSING.has(Fault.from(error).code)) throw error;
    }
  }
  throw noResource(uri);
}

/** Codes of faults after which the next servlet is asked for a resource. */
const PASSING: ReadonlySet<string> = new Set([
  "servlet_failed",
  "not_configured",
  "servlet_error",
  "not_found",
  "unavailable",
]);

/**
 * The servlet of a completion's prompt or resource, and the request in its own names. Throws `invalid_params`,
 * `insufficient_scope`.
 */
async function completerOf(
  request: CompletionRequest,
  of: Offered,
): Promise<{ servlet: PreparedServlet; request: CompletionRequest }> {
  const { ref } = request;
  if (ref.type === "ref/prompt") {
    const { servlet, own } = await promptNamed(ref.name, of);
    return { servlet, request: { ...request, ref: { ...ref, name: own } } };
  }
  const found = await (of.access.isNarrow ? of.whole : of).find(
    (catalog) => findCompleted(catalog, ref.uri),
    () => undefined,
  );
  of.access.demand(found);
  if (found?.servlet !== undefined) return { servlet: found.servlet, request };
  throw new Fault(
    "invalid_params",
    `Unknown resource template: ${ref.uri}. See resources/templates/list.`,
  );
}

/** Notifies the servlet with this name that the client's roots have changed. */
async function rootsChanged(name: string, call: CallContext, of: Offered): Promise<Outcome<Json>> {
  const found = of.servlets.find((one) => one.name === name);
  return (await (found && of.servlet(found).rootsChanged?.(call))) ?? {};
}

const pinnedIssue = (name: string) => ({
  path: [name],
  message: "is set by the server at this endpoint: leave it out",
});

/** The arguments that the caller sent, separated from the pinned ones. */
function callersPart(input: Json, pinned: Json | undefined): { input: Json; pinned?: Json } {
  if (pinned === undefined) return { input };
  const own = Object.entries(input).filter(([name]) => !Object.hasOwn(pinned, name));
  return { input: Object.fromEntries(own), pinned };
}
