import type { Accepts, Reply } from "../../kernel/mcp/wire/reply.ts";
import type { ClientDescription } from "../../kernel/core/call-context.ts";
import type { CallerQuota, Notification, Principal } from "../../kernel/core/model.ts";
import type { Suspended } from "../../kernel/core/suspension.ts";
import type { Trace } from "../../kernel/observe/trace-context.ts";
import type { ListDigests } from "../../kernel/mcp/legacy/list-digests.ts";

/** A POST to a session, its messages unchecked. */
export interface Post {
  messages: unknown[];
  isBatch: boolean;
  accepts: Accepts;
  /** The scopes of its principal at this time. */
  scopes?: readonly string[] | undefined;
  trace?: Trace | undefined;
  /** As in `Exchange`. */
  pages?: string | undefined;
  /** The state of its only message, a request, if the Worker has begun the call. */
  begun?: BegunCall | undefined;
}

/** A call that began in the Worker and continues in the session's object. */
export type BegunCall = {
  /** As in `UnrecordedCall`. */
  hasSent: boolean;
  /** Its notifications, none of which has been sent; empty if its run is repeated, which sends them. */
  notices: readonly Notification[];
} & (
  | { waiting: Suspended }
  /** The call has ended: its response as JSON text. */
  | { reply: string }
);

/** The owner of a session, and the endpoint where it began. */
export type SessionOwner = Pick<Principal, "name" | "profile">;

/** A client as described by `initialize`, with the negotiated revision. */
export type IntroducedClient = ClientDescription & { protocolVersion: string };

/** A new session. */
export interface NewSession {
  principal: SessionOwner & Pick<Principal, "address">;
  client: IntroducedClient;
  /** Digests of the lists that the client is about to see. */
  lists: ListDigests;
}

/** A session that a request names. Its methods resolve to undefined once it has ended. */
export interface NamedSession {
  /** Contents of its id if that is a ticket. */
  readonly ticket?: SessionTicket;
  /** Answers a POST in the session's object. */
  post(post: Post): Promise<Response | Reply | undefined>;
  listen(lastEventId?: string, scopes?: readonly string[]): Promise<Response | Reply | undefined>;
  /** Ends the session. `countStored` counts the record of ended sessions against the caller's quota. */
  end(countStored: CallerQuota["countStored"]): Promise<true | undefined>;
}

/** Contents of a session id, which is this ticket sealed. */
export interface SessionTicket extends NewSession {
  /** Id of the session's Durable Object, which is created once something must be stored. */
  object: string;
  /** When the session began, in Unix ms. */
  created: number;
}

/** The sessions of a Worker. */
export interface SessionDirectory {
  /** Returns the id of a new session. */
  begin(
    principal: Principal,
    client: IntroducedClient,
    countStored: CallerQuota["countStored"],
  ): Promise<string>;
  /** The owner's session with this id. Calls `waits` before it asks a Durable Object. */
  find(id: string, owner: SessionOwner, waits: () => void): Promise<NamedSession | undefined>;
}
