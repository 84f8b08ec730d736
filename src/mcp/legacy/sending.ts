import { Fault } from "../../core/errors.ts";
import type { Keeper } from "../../core/record.ts";
import { UNKNOWN_OUTCOME, type Sender } from "../../core/unknown-outcome.ts";

/** The keeper of a call in a session's object; calls `note` before a request that must not be repeated is sent. */
export const sendingKeeper = (call: Sender, note: () => void): Keeper => ({
  isVolatile: true,
  begin: async () => {},
  async intend(_position, _key, method) {
    if (method !== "once") return false;
    call.hasSent = true;
    note();
    return false;
  },
  keep: async () => {},
});

/** The error for the client of a call that died with its object. */
export const stopped = ({ hasSent = false }: Sender): Fault =>
  new Fault(
    "servlet_failed",
    hasSent
      ? `The server stopped during this call. ${UNKNOWN_OUTCOME}`
      : "The server stopped before this call ended. Call again.",
  );
