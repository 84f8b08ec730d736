import type { Fault } from "../errors.ts";
import type { CallContext, Client } from "../call-context.ts";
import type { Json, Lists } from "../model.ts";
import type { Outcome } from "../suspension.ts";
import type { ToolEntry } from "../servlets/catalog.ts";
import type { Registry } from "../servlets/registry.ts";
import type { SessionCall, SessionParts } from "./legacy/session-parts.ts";
import type { Exchange } from "./wire/exchange.ts";
import type { Message, Request, Unreadable } from "./wire/message.ts";

/** What a request names, looked up once. */
export interface Target {
  /** For the log: the name of what is called, or the URI as far as its caller has not made it up. */
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
  /** Looks up what the params name. Throws `insufficient_scope` for what its caller may not use. */
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
   * The param that names the subject; the `Mcp-Name` header repeats it. A servlet that is called by one may
   * ask its client for input.
   */
  namedBy?: "name" | "uri" | "taskId";
  /** The member of the result that holds the list. */
  list?: keyof Lists;
  /** How long a modern client may keep the result: as long as lists, or not at all. */
  cache?: "as lists" | "never";
}

/** May the servlet behind this method ask its client for input? */
export const canAsk = ({ find, namedBy }: Method): boolean =>
  find !== undefined && namedBy !== undefined;

/** A message of a client; a request with what it names. */
export type Incoming = Exclude<Message, Request> | Unreadable | FoundRequest;

/** A request whose method is looked up, and what its params name, or why that cannot be found. */
export interface FoundRequest extends Request {
  row: Method;
  target?: Target | Fault;
}
