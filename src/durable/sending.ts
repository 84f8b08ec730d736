import { Fault, type FaultCode } from "../errors.ts";
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

const SENT =
  "after its servlet had sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call.";

/** The error for the client of a call that died with its object. */
export const stopped = ({ hasSent = false }: Sender): Fault =>
  new Fault(
    "servlet_failed",
    hasSent
      ? `The server stopped during this call, ${SENT}`
      : "The server stopped before this call was done: call again.",
  );

/** Faults of the server's own: no servlet is left that could say what it has done. */
const OURS: ReadonlySet<FaultCode> = new Set(["internal", "unavailable", "too_many"]);

/** The error for the client of a call that has failed. */
export function failed({ hasSent = false }: Sender, error: unknown): Fault {
  const { code, message, data, cause } = Fault.from(error);
  if (!hasSent || !OURS.has(code)) return Fault.from(error);
  return new Fault(code, `${message.replace(/\.$/, "")}, ${SENT}`, { data, cause });
}
