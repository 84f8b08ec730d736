import type { Accepts } from "../wire/reply.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import type { Notification, Principal } from "../../core/model.ts";
import type { Suspended } from "../../core/suspension.ts";
import type { Trace } from "../../observe/trace-context.ts";
import type { ListDigests } from "./list-digests.ts";

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

/** Whose a session is, and at which endpoint it began. */
export type SessionOwner = Pick<Principal, "name" | "profile">;

/** A client as `initialize` describes it, with the negotiated revision. */
export type Introduced = ClientDescription & { protocolVersion: string };

/** A new session. */
export interface NewSession {
  principal: SessionOwner & Pick<Principal, "address">;
  client: Introduced;
  /** Digests of the lists that the client is about to see. */
  lists: ListDigests;
}
