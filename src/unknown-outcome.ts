import { Fault, type FaultCode } from "./errors.ts";

/** A call whose record lives no longer than its run. */
export interface Sender {
  /** Has it sent an HTTP request that must not be sent twice? */
  hasSent?: boolean;
}

export const SENT =
  "after its servlet had sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call.";

/** Faults of the server's own: no servlet is left that could say what it has done. */
const OURS: ReadonlySet<FaultCode> = new Set(["internal", "unavailable", "too_many"]);

/** The fault of a call for its client, with a note on requests that may have been sent. */
export function afterSending({ hasSent = false }: Sender, error: unknown): Fault {
  const fault = Fault.from(error);
  if (!hasSent || !OURS.has(fault.code)) return fault;
  const { code, message, data, cause } = fault;
  return new Fault(code, `${message.replace(/\.$/, "")}, ${SENT}`, { data, cause });
}
