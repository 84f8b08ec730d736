import { Fault } from "../errors.ts";
import type { Keeper } from "../model.ts";

/** A call whose record lives no longer than its run, which is in a session's object. */
interface Sender {
  /** Has it sent an HTTP request that must not be sent twice? */
  hasSent?: boolean;
}

/** The keeper of such a call; `note` is called when it is about to send such a request. */
export const sendingKeeper = (call: Sender, note: () => void): Keeper => ({
  begin: async () => {},
  async intend(_position, _key, isRepeatable) {
    if (isRepeatable) return false;
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
      ? "The server stopped during this call, after its servlet had sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call."
      : "The server stopped before this call was done: call again.",
  );
