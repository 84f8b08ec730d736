import type { Waiting } from "../calls/engine.ts";
import type { Tasks } from "../calls/task-object.ts";
import type { CallRef } from "../calls/call-ref.ts";
import type { Answers } from "../core/asks.ts";
import type { CallContext, ClientDescription } from "../core/call-context.ts";
import type { Fault } from "../core/errors.ts";
import type { CallerQuota, Json, Lists, Principal } from "../core/model.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import type { Publisher } from "../calls/changes.ts";
import type { Keeper, Recorded } from "../core/record.ts";
import type { WaitReason } from "../core/suspension.ts";
import type { Message, RpcRequest, UnreadableMessage } from "./wire/message.ts";
import type { Accepts } from "./wire/reply.ts";

/**
 * One MCP method: a row of the table in `methods.ts`. Its handlers determine where it exists: `ref`, `list` and `look`
 * in both eras, `modern` and `stream` in 2026-07-28, `stateless` and `session` before. Handlers throw `invalid_params`
 * for params that do not fit.
 */
export interface Method {
  /** The reference that the params name. */
  ref?(params: Json): CallRef;
  /** Answers with a page of this list, under the list's name. */
  list?: keyof Lists;
  /** Answers from the registry, without running a servlet. */
  look?(params: Json, registry: Registry): Promise<Json>;
  modern?(request: RpcRequest, exchange: Exchange, client: ClientDescription): Promise<Json>;
  /** Answers with its own stream. */
  stream?(request: RpcRequest, exchange: Exchange, client: ClientDescription): Promise<Response>;
  /** Answers an older client without a session; with `sessionFirst` only where the server has no sessions. */
  stateless?(params: Json, exchange: Exchange): Promise<Json> | Json;
  /**
   * Answers in a session; undefined if the answer comes later. The sessions feature knows the types of its arguments.
   */
  session?: (params: Json, session: never, call: never) => Promise<Json | undefined> | Json;
  sessionFirst?: true;
  /**
   * The param that names the subject, which the `Mcp-Name` header repeats. If present, the servlet may ask for input.
   */
  namedBy?: "name" | "uri" | "taskId";
  /** The cache hint for modern clients. */
  cache?: "as lists" | "never";
}

type Handler = "ref" | "list" | "look" | "modern" | "stream" | "stateless" | "session";

/** A method with at least one handler. */
export type MethodRow = { [K in Handler]: Method & Required<Pick<Method, K>> }[Handler];

/** The rows of the methods that a server knows, by their names. */
export type Methods = Readonly<Record<string, MethodRow>>;

/** The row of a method; an empty one for an unknown name. */
export const rowIn = (methods: Methods, name: string): Method =>
  Object.hasOwn(methods, name) ? methods[name]! : {};

/** True for methods whose servlet may ask its client for input. */
export const canAsk = ({ ref, namedBy }: Method): boolean =>
  ref !== undefined && namedBy !== undefined;

/** A client's message; a request comes with its entry. */
export type Incoming = Exclude<Message, RpcRequest> | UnreadableMessage | FoundRequest;

/** A request with its method's row, and with the entry that it names or the fault of the look-up. */
export interface FoundRequest extends RpcRequest {
  row: Method;
  entry?: Entry | Fault;
}

/** How the server introduces itself. */
export interface Introduction {
  /** https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
  info: Json;
  instructions?: string;
}

/** One POST, with the dependencies for answering it. */
export interface Exchange extends Pick<CallerQuota, "countStored"> {
  /** The methods that this server supports. */
  methods: Methods;
  introduction: Introduction;
  registry: Registry;
  principal: Principal;
  /** Identifies the caller again. Throws if its credentials are no longer valid. */
  identify?(): Promise<Principal>;
  headers: Headers;
  /** The value of the `MCP-Protocol-Version` header. */
  versionHeader: string | undefined;
  accepts: Accepts;
  /** The principal's hub; absent if clients cannot subscribe. */
  hub?: (() => Publisher) | undefined;
  /** Absent if no call can wait for its client. */
  carried?: Carried | undefined;
  /** The principal's tasks; absent if calls cannot become tasks. */
  tasks?: Tasks | undefined;
  /** Origin of the pages on which this caller's user answers; absent if nobody could open them. */
  pages?: string | undefined;
  /** `Kernel.prefersLinks`; absent without pages. */
  prefersLinks?: ((client: string | undefined, headers: Headers) => boolean) | undefined;
  /** Absent if the server has no sessions. */
  sessions?: SessionRequests | undefined;
  /** Aborts when the client disconnects before the response. Must be called when a servlet's call begins to wait. */
  leaving(): AbortSignal;
}

/** A POST of a client of the revisions up to 2025-11-25. */
export interface LegacyPost<Session = SessionName> {
  body: unknown;
  incoming: readonly Incoming[];
  /** The session that the request names. */
  session: Session | undefined;
}

/** A session that a request names. */
export interface SessionName {
  /** What its id reveals; absent if only the session's object knows. `object` is the id of that object. */
  readonly ticket?: { readonly object: string };
}

/** Requests that belong to sessions. They throw `no_session`. */
export interface SessionRequests<Session extends SessionName = SessionName> {
  /** The session that a request names; undefined if it names none, or if the body begins a new session. */
  named(exchange: Exchange, body?: unknown): Promise<Session | undefined>;
  /** Makes a session. */
  begin(request: RpcRequest, exchange: Exchange): Promise<Response>;
  /**
   * Answers a POST to a session: in the Worker if that needs nothing from the session's object, otherwise in the
   * object.
   */
  post(post: LegacyPost<Session> & { session: Session }, exchange: Exchange): Promise<Response>;
  /** GET opens a stream of a session, DELETE ends it. */
  handle(method: string, exchange: Exchange): Promise<Response>;
}

/** How an earlier request has continued the call: its record, or that it has become a task. */
export type Earlier = Extract<WaitReason, { kind: "earlier" | "task" }>;

/** A request that resumes a call, and its retries: all have the same state and answers. */
export interface Resumption {
  /** The keeper of one run. */
  keeper(): Keeper;
  /** The call as an earlier request left it, if that request has sent something; this request takes it over. */
  earlier(): Promise<Earlier | undefined>;
  /** The task that the call has become, or is becoming under this id. */
  task(id: string): Promise<{ id: string; recorded?: Recorded }>;
}

/** The state that a run continues from. */
export interface RunInput extends Pick<CallContext, "input" | "recorded" | "fuelUsed"> {
  /** How often the client has been asked. */
  rounds: number;
  /** Absent if the request has no state. */
  resumption?: Resumption;
  /** True if the call has become a task. */
  isTask?: boolean;
  /** The `traceparent` of the request that asked, if it was recorded. */
  link?: string;
  /** Absent if the call begins now. */
  pinned?: Json;
}

/** Waiting calls of clients of 2026-07-28, which carry the state. */
export interface Carried {
  /** Goes on from the `requestState` of a request with these answers. Throws `invalid_params`. */
  resume(
    request: FoundRequest & { sealed: string; responses: Answers },
    exchange: Exchange,
    run: (runInput: RunInput) => Promise<Json>,
  ): Promise<Json>;
  /** The result that asks the client for input. Throws `missing_capability`, `servlet_failed`. */
  ask(waiting: Waiting<"input">, of: WaitingRequest, exchange: Exchange): Promise<Json>;
}

/** The request of a call that waits for its client. */
export interface WaitingRequest extends Pick<RunInput, "pinned" | "rounds"> {
  request: FoundRequest;
  call: Pick<CallContext, "client" | "trace">;
}
