import { Fault, httpStatus, report } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  isObject,
  Suspended,
  type CallContext,
  type Client,
  type Json,
  type Notification,
  type Tool,
} from "../model.ts";
import { afterSending, type Sender } from "../unknown-outcome.ts";
import type { Registry } from "../servlets/registry.ts";
import type { ToolEntry } from "../servlets/catalog.ts";
import { changes } from "./changes.ts";
import { MODERN_VERSIONS, LEGACY_VERSIONS, PROTOCOL_VERSION_META } from "./classify.ts";
import { checkHeaders, checkParamHeaders, checkVersionHeader, traceIn } from "./headers.ts";
import { listen } from "./listen.ts";
import { decode, errorMessage, isNotification, resultMessage, type Request } from "./message.ts";
import { capabilities, methods } from "./methods.ts";
import { comesBack, inputRequired, resume, roundAsker, stateOf, type Brought } from "./rounds.ts";
import {
  createTaskResult,
  demandTasks,
  endOf,
  progressOf,
  takesTasks,
  taskBytes,
  taskGate,
  taskMethods,
  taskMode,
  type TaskCall,
  type TaskEnd,
} from "./tasks.ts";
import { isLoggingLevel, notices, progressTokenOf } from "./notices.ts";
import { respond } from "./reply.ts";
import type { Exchange, Resumption } from "./exchange.ts";

/** Protocol 2026-07-28: every request by itself. https://modelcontextprotocol.io/specification/2026-07-28 */

const META = "io.modelcontextprotocol/";

/** Methods whose results clients may keep. */
const CACHED: Readonly<Record<string, true>> = {
  "server/discover": true,
  "tools/list": true,
  "resources/list": true,
  "resources/templates/list": true,
  "prompts/list": true,
  "resources/read": true,
};

export async function handleModern(
  body: unknown,
  version: string,
  exchange: Exchange,
): Promise<Response> {
  // Notifications have no effect here, and some clients omit parts that requests must have.
  if (isNotification(body)) return new Response(null, { status: 202 });
  const message = decode(body);
  if (message.kind !== "request") {
    throw new Fault(
      "invalid_request",
      "The body is a JSON-RPC response. This protocol version takes requests and notifications only.",
    );
  }
  checkVersionHeader(exchange.headers, version);
  if (!MODERN_VERSIONS.includes(version)) {
    throw new Fault(
      "unsupported_version",
      `Unsupported protocol version ${version}. Use one of data.supported.`,
      {
        data: { supported: [...MODERN_VERSIONS, ...LEGACY_VERSIONS], requested: version },
      },
    );
  }
  const { client, meta } = clientOf(message, version);
  checkHeaders(exchange.headers, message.method, message.params);
  if (message.method === "subscriptions/listen" && exchange.hub !== undefined) {
    return listen(message, client, exchange, exchange.hub());
  }
  return respond(exchange.accepts, exchange.leaving, async ({ send, signal }) => {
    const sender: Sender = {};
    try {
      const logLevel = meta[`${META}logLevel`];
      if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
        throw new Fault(
          "invalid_params",
          `params._meta["${META}logLevel"] is not a log level. See the log levels of the specification.`,
        );
      }
      const result = await answer(message, exchange, {
        id: message.id,
        meta,
        principal: exchange.principal,
        client,
        trace: traceIn(exchange.headers),
        signal,
        sending() {
          sender.hasSent = true;
        },
        notify: changes(
          exchange,
          notices({ progressToken: progressTokenOf(meta), logLevel }, send),
        ),
        ask: roundAsker({ client }),
      });
      return { status: 200, body: resultMessage(message.id, result) };
    } catch (error) {
      // A request that goes on from a state can be sent again: it does nothing twice.
      const goesOn = message.params["requestState"] !== undefined;
      const fault = report(goesOn ? error : afterSending(sender, error));
      return { status: httpStatus(fault), body: errorMessage(message.id, fault) };
    }
  });
}

/** The result of a request, as JSON text. */
async function answer(request: Request, exchange: Exchange, call: CallContext): Promise<string> {
  const { method, params } = request;
  const { server, registry, headers, hub, tasks } = exchange;
  let result: Json;
  if (method === "server/discover") {
    result = {
      supportedVersions: [...MODERN_VERSIONS, ...LEGACY_VERSIONS],
      capabilities: await capabilities(registry, {
        listens: hub !== undefined,
        tasks: tasks !== undefined,
      }),
      ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    };
  } else if (tasks !== undefined && Object.hasOwn(taskMethods, method)) {
    demandTasks(call.client);
    result = await taskMethods[method]!(params, tasks);
  } else if (method === "tools/call") {
    const entry = await registry.toolNamed(params["name"]);
    if (entry !== undefined) checkParamHeaders(headers, entry.tool, params["arguments"]);
    result = await callTool(request, exchange, { call, entry });
  } else {
    result = await runMethod(request, exchange, call);
  }
  const list = result[LISTS[method] ?? ""];
  const known = Array.isArray(list) ? written.get(list) : undefined;
  if (known !== undefined) return known;
  const cache = CACHED[method] ? cacheOf(method, registry) : undefined;
  const text = JSON.stringify({
    ...(result["resultType"] === undefined ? cache : undefined),
    resultType: "complete",
    ...result,
    ...(method === "tools/list" ? { tools: toolsWithoutExecution(result) } : {}),
    _meta: {
      ...(isObject(result["_meta"]) ? result["_meta"] : {}),
      [`${META}serverInfo`]: server.info,
    },
  });
  if (Array.isArray(list)) written.set(list, text);
  return text;
}

/** The result member that holds the list, by method. */
const LISTS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** Results by the list in them: it is the same for everybody, so its text is written once. */
const written = new WeakMap<unknown[], string>();

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
function cacheOf(method: string, { isDynamic, isNarrow }: Registry): Json {
  if (method === "resources/read") return { ttlMs: 0, cacheScope: "private" };
  const ttlMs = isDynamic ? limits.dynamicListMs : limits.listTtlMs;
  return { ttlMs, cacheScope: isNarrow ? "private" : "public" };
}

/** `execution` is of the older revisions. */
function toolsWithoutExecution({ tools }: Json): unknown {
  return (tools as Tool[]).map((tool) => {
    if (tool.execution === undefined) return tool;
    const { execution: _, ...rest } = tool;
    return rest;
  });
}

/** The client as the request's `_meta` describes it. Throws `invalid_meta`. */
function clientOf({ params }: Request, version: string): { client: Client; meta: Json } {
  const meta = params["_meta"];
  const declared = isObject(meta) ? meta[`${META}clientCapabilities`] : undefined;
  if (!isObject(meta) || !isObject(declared)) {
    throw new Fault(
      "invalid_meta",
      `params._meta must have "${PROTOCOL_VERSION_META}" and "${META}clientCapabilities".`,
    );
  }
  const info = meta[`${META}clientInfo`];
  const text = (key: string) =>
    isObject(info) && typeof info[key] === "string" ? { [key]: info[key] } : {};
  const client = {
    protocolVersion: version,
    capabilities: declared,
    ...text("name"),
    ...text("version"),
  };
  return { client, meta };
}

/** What a call can become, and is answered with then; a retry of its request is answered with the same. */
interface Become {
  /** One that waits: a task that goes on with it. */
  task(so: Partial<TaskCall>, resumption?: Resumption): Promise<Json>;
  /** One that is over: a task that is so too. Absent where it is answered with its result. */
  end?(end: TaskEnd, resumption?: Resumption): Promise<Json>;
}

/** Runs a method that may need input of the client, or goes on with one that did. */
async function runMethod(
  request: Request,
  exchange: Exchange,
  call: CallContext,
  become?: Become,
): Promise<Json> {
  const { method, params } = request;
  const run = methods[method];
  if (run === undefined || !Object.hasOwn(methods, method)) {
    throw new Fault("method_not_found", `Method not found: ${method}`);
  }
  const goOn = async ({ rounds, resumption, isTask, ...going }: Brought): Promise<Json> => {
    if (isTask === true && become !== undefined) return become.task(going, resumption);
    const ask = roundAsker({ ...call, ...going });
    const keeper = resumption && { keeper: resumption };
    const running = run(params, { ...call, ...going, ask, ...keeper }, exchange.registry);
    const outcome = await (become?.end ? running.catch(ownFault) : running);
    if (outcome instanceof Fault) return become!.end!(endOf(outcome), resumption);
    if (!(outcome instanceof Suspended)) {
      return become?.end ? become.end({ result: outcome }, resumption) : outcome;
    }
    const { recorded, reason } = outcome;
    if (reason.kind === "earlier") {
      return goOn({
        rounds,
        ...going,
        recorded: reason.recorded,
        ...(resumption && { resumption }),
      });
    }
    // A task waits for room, too.
    const isPromoted = reason.kind === "task" || reason.kind === "retry";
    if (isPromoted && become !== undefined) {
      return become.task({ ...going, ...(recorded && { recorded }) }, resumption);
    }
    const state = stateOf(outcome, method, call.client);
    return inputRequired(request, exchange, { ...state, rounds: rounds + 1 });
  };
  return comesBack(params) ? resume(request, exchange, goOn) : goOn({ rounds: 0 });
}

/** The servlet's failure, which is an end of its call; others are thrown. */
function ownFault(error: unknown): Fault {
  const fault = report(error);
  if (fault.code !== "servlet_error" && fault.code !== "servlet_failed") throw fault;
  return fault;
}

/** A tool's call: in place, or as a task where its tool and its client are made for it. */
async function callTool(
  request: Request,
  exchange: Exchange,
  { call, entry }: { call: CallContext; entry: ToolEntry | undefined },
): Promise<Json> {
  const mode = entry === undefined ? "never" : taskMode(entry);
  if (mode === "required") demandTasks(call.client);
  const { tasks } = exchange;
  const gate = taskGate(mode);
  if (tasks === undefined || gate === undefined || !takesTasks(call.client)) {
    return runMethod(request, exchange, call);
  }
  let message: string | undefined;
  const notify = (notice: Notification) => {
    message = progressOf(notice) ?? message;
    call.notify(notice);
  };
  const create = async (so: Partial<TaskCall>, of: { end?: TaskEnd; id?: string } = {}) => {
    const made = { ...taskCall(request.params, call), ...so };
    await exchange.keep(taskBytes(made, of.end));
    return createTaskResult(await tasks.create(made, of.end, of.id));
  };
  const task: Become["task"] = async (so, resumption) => {
    const told = { ...so, ...(message !== undefined && { message }) };
    if (resumption === undefined) return create(told);
    const { id, recorded: known } = await resumption.task(tasks.newId());
    const own = so.recorded?.notices ?? 0;
    return create({ ...told, ...(known && { recorded: { ...known, notices: own } }) }, { id });
  };
  const end: Become["end"] = async (how, resumption) => {
    const made = await resumption?.task(tasks.newId());
    return create({}, { end: how, ...(made && { id: made.id }) });
  };
  return runMethod(
    request,
    exchange,
    { ...call, notify, gate },
    mode === "auto" ? { task } : { task, end },
  );
}

const taskCall = (params: Json, { id, meta, principal, client, trace }: CallContext): TaskCall => ({
  id,
  meta,
  principal,
  client,
  trace,
  method: "tools/call",
  params: { name: params["name"], arguments: params["arguments"] ?? {} },
});
