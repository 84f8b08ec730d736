import type { Accepts } from "../wire/reply.ts";
import type { ClientDescription } from "../../core/call-context.ts";
import type { Principal } from "../../core/model.ts";
import type { Trace } from "../../observe/trace-context.ts";

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
}

/** Whose a session is, and at which endpoint it began. */
export type SessionOwner = Pick<Principal, "name" | "profile">;

/** A client as `initialize` describes it, with the negotiated revision. */
export type Introduced = ClientDescription & { protocolVersion: string };
