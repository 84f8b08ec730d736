import { Fault, type FaultCode } from "./errors.ts";

/** A call whose record lives no longer than its run. */
export interface Sender {
  /** True once it has sent an HTTP request that must not be repeated. */
  hasSent?: boolean;
}

export const SENT =
  "after its servlet had sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call.";

/** Faults of the server itself: the servlet can no longer say what it has done. */
const OURS: ReadonlySet<FaultCode> = new Set(["internal", "unavailable", "too_many"]);

/** The fault for a call's client, which says so if the servlet may have acted. */
export function afterSending({ hasSent = false }: Sender, error: unknown): Fault {
  const fault = Fault.from(error);
  if (!hasSent || !OURS.has(fault.code)) return fault;
  const { code, message, data, cause } = fault;
  return new Fault(code, `${message.replace(/\.$/, "")}, ${SENT}`, { data, cause });
}
