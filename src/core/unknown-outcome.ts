import { Fault, type FaultCode } from "./errors.ts";

/** A call whose record lives no longer than its run. */
export interface UnrecordedCall {
  /** True once it may have sent an HTTP request that must not be repeated. */
  hasSent?: boolean;
}

export const UNKNOWN_OUTCOME =
  "The servlet may have sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call.";

/** Faults of the server itself, and of a call that it has stopped: the servlet can no longer say what it has done. */
const OURS: ReadonlySet<FaultCode> = new Set([
  "internal",
  "unavailable",
  "too_many",
  "not_acceptable",
]);

/** The fault for a call's client, which says so if the servlet may have acted. */
export function afterSending({ hasSent = false }: UnrecordedCall, error: unknown): Fault {
  const fault = Fault.from(error);
  const { code, message, data, cause } = fault;
  if (!hasSent || !OURS.has(code) || message.endsWith(UNKNOWN_OUTCOME)) return fault;
  return new Fault(code, `${message.replace(/\.$/, "")}. ${UNKNOWN_OUTCOME}`, { data, cause });
}
