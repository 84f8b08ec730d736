import type { SessionCall, SessionParts } from "./legacy/session-store.ts";
import type { Fault } from "../core/errors.ts";
import type { CallRef } from "../calls/call-ref.ts";
import type { ClientDescription } from "../core/call-context.ts";
import type { Json, Lists } from "../core/model.ts";
import type { Entry, Registry } from "../servlets/registry.ts";
import type { Exchange } from "./wire/exchange.ts";
import type { Message, RpcRequest, UnreadableMessage } from "./wire/message.ts";

/**
 * Everything about one MCP method: a row of the table in `methods.ts`. Its handlers tell where it exists:
 * `ref`, `list` and `look` in both eras, `modern` and `stream` in 2026-07-28, `stateless` and `session` before.
 * Handlers throw `invalid_params` for params that do not fit.
 */
export interface Method {
  /** The reference that the params name. */
  ref?(params: Json): CallRef;
  /** Answers with a page of this list, which is the member of the result with that name. */
  list?: keyof Lists;
  /** Answers from what is served, without a run of a servlet. */
  look?(params: Json, registry: Registry): Promise<Json>;
  modern?(request: RpcRequest, exchange: Exchange, client: ClientDescription): Promise<Json>;
  /** Answers with a stream of its own. */
  stream?(request: RpcRequest, exchange: Exchange, client: ClientDescription): Promise<Response>;
  /** Answers an older client without a session; with `sessionFirst` only where the server has no sessions. */
  stateless?(params: Json, exchange: Exchange): Promise<Json> | Json;
  /** Answers in a session; undefined if the answer comes later. */
  session?(
    params: Json,
    session: SessionParts,
    call: SessionCall,
  ): Promise<Json | undefined> | Json;
  sessionFirst?: true;
  /**
   * The param that names the subject; the `Mcp-Name` header repeats it. The servlet may ask for input if there is
   * one.
   */
  namedBy?: "name" | "uri" | "taskId";
  /** The cache hint for modern clients. */
  cache?: "as lists" | "never";
}

/** The methods of all revisions that clients call. https://modelcontextprotocol.io/specification/2026-07-28/schema */
export type MethodName =
  | "completion/complete"
  | "initialize"
  | "logging/setLevel"
  | "ping"
  | "prompts/get"
  | "prompts/list"
  | "resources/directory/read"
  | "resources/list"
  | "resources/read"
  | "resources/subscribe"
  | "resources/templates/list"
  | "resources/unsubscribe"
  | "server/discover"
  | "skills/get"
  | "skills/list"
  | "subscriptions/listen"
  | "tasks/cancel"
  | "tasks/get"
  | "tasks/list"
  | "tasks/result"
  | "tasks/update"
  | "tools/call"
  | "tools/list";

type Handler = "ref" | "list" | "look" | "modern" | "stream" | "stateless" | "session";

/** A method with at least one handler. */
export type MethodRow = { [K in Handler]: Method & Required<Pick<Method, K>> }[Handler];

/** True for methods whose servlet may ask its client for input. */
export const canAsk = ({ ref, namedBy }: Method): boolean =>
  ref !== undefined && namedBy !== undefined;

/** A message of a client; a request comes with its entry. */
export type Incoming = Exclude<Message, RpcRequest> | UnreadableMessage | FoundRequest;

/** A request with the row of its method, and with the entry that it names or the fault of looking it up. */
export interface FoundRequest extends RpcRequest {
  row: Method;
  entry?: Entry | Fault;
}
