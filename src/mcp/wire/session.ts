import type { Client, Trace } from "../../call-context.ts";
import type { Accepts, Reply } from "./reply.ts";

/**
 * What a client and a server keep of each other between `initialize` and the end.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */

/** The body of a POST, each message as it came. */
export interface Post {
  messages: unknown[];
  isBatch: boolean;
  accepts: Accepts;
  /** Of its principal, today. */
  scopes?: readonly string[] | undefined;
  trace?: Trace | undefined;
}

/**
 * One session; to all but its own principal there is no such session, which is what `undefined` says.
 * A response of a stream goes on until the stream ends: its caller must read or cancel it.
 */
export interface Session {
  post(post: Post): Promise<Response | Reply | undefined>;
  /** The session's own stream; or the one on which the client has last seen this event. */
  listen(lastEventId?: string): Promise<Response | Reply | undefined>;
  end(): Promise<true | undefined>;
}

/** What the client has said of itself in `initialize`, and the revision that was agreed on. */
export type Introduced = Client & { protocolVersion: string };

/** The sessions of one principal. */
export interface Sessions {
  /** Gives the new session's id, when it is durable. */
  create(client: Introduced): Promise<string>;
  /** Undefined for what is no id of ours. */
  get(id: string): Session | undefined;
}

export const SESSION_HEADER = "mcp-session-id";
