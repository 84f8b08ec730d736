import type { Fault } from "../errors.ts";
import type { CallContext, Client } from "../call-context.ts";
import type { Json, Lists } from "../model.ts";
import type { Outcome } from "../suspension.ts";
import type { ToolEntry } from "../servlets/catalog.ts";
import type { Registry } from "../servlets/registry.ts";
import type { SessionCall, SessionParts } from "./legacy/session-parts.ts";
import type { Exchange } from "./wire/exchange.ts";
import type { Message, Request, Unreadable } from "./wire/message.ts";

/** The target of a request: the tool, resource, prompt or list that it names. */
export interface Target {
  /** For the log: the target's name, or the part of its URI that the caller did not choose. */
  subject?: string;
  /** The tool that is called. */
  tool?: ToolEntry;
  /** Runs it, or reads it from the catalog. The result has the newest shape. */
  run(call: CallContext): Promise<Outcome<Json>>;
}

/**
 * Everything about one MCP method: a row of the table in `methods.ts`. Its handlers tell where it exists:
 * `find` in both eras, `modern` and `stream` in 2026-07-28, `stateless` and `session` before.
 * Handlers throw `invalid_params` for params that do not fit.
 */
export interface Method {
  /** Looks up the target that the params name. Throws `insufficient_scope` if its caller may not use it. */
  find?(params: Json, registry: Registry): Promise<Target>;
  modern?(request: Request, exchange: Exchange, client: Client): Promise<Json>;
  /** Answers with a stream of its own. */
  stream?(request: Request, exchange: Exchange, client: Client): Promise<Response>;
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
  /** The member of the result that holds the list. */
  list?: keyof Lists;
  /** The cache hint for modern clients. */
  cache?: "as lists" | "never";
}

/** True for methods whose servlet may ask its client for input. */
export const canAsk = ({ find, namedBy }: Method): boolean =>
  find !== undefined && namedBy !== undefined;

/** A message of a client; a request comes with its target. */
export type Incoming = Exclude<Message, Request> | Unreadable | FoundRequest;

/** A request with the row of its method, and with its target or the fault of looking it up. */
export interface FoundRequest extends Request {
  row: Method;
  target?: Target | Fault;
}
