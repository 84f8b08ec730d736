import { Fault, type FaultCode } from "./errors.ts";
import type { Recorded } from "./record.ts";

/** A call whose record ends with its run. */
export interface UnrecordedCall {
  /** True once it may have sent an HTTP request that must not be repeated. */
  hasSent?: boolean;
}

export const UNKNOWN_OUTCOME =
  "The servlet may have sent an HTTP request that must not be sent twice, such as POST. Its outcome is unknown. Check it before you repeat the call.";

/** Faults of the server, and of a call that it stopped: the servlet can no longer report what it did. */
const OURS: ReadonlySet<FaultCode> = new Set([
  "internal",
  "unavailable",
  "storage_full",
  "too_many",
  "not_acceptable",
]);

/**
 * Labels of journal entries for HTTP requests that must not be sent twice, and for calls that may have sent such
 * requests.
 */
const SENDS = /^(http (?!(GET|HEAD|OPTIONS|PUT|DELETE) )|call )/;

/** True if the servlet of a call with this record may have sent a request that must not be sent twice. */
export const hasSentIn = (recorded: Partial<Recorded> | undefined): boolean => {
  const { intents = [], inner, entries = [] } = recorded ?? {};
  return intents.length > 0 || inner !== undefined || entries.some(({ what }) => SENDS.test(what));
};

/** Advice for a call that cannot be resumed from its record. */
export const adviceAfter = (
  recorded: Partial<Recorded> | undefined,
  again = "Call again.",
): string => (hasSentIn(recorded) ? UNKNOWN_OUTCOME : again);

/** Advice in fault messages that is wrong once the servlet has acted. */
const AGAIN =
  /( Nothing was changed\.)? ((Call|Try) again( in a moment)?|Retry in \d+ seconds?)\.$/;

/** The fault for a call's client, with a warning if the servlet may have acted. */
export function afterSending({ hasSent = false }: UnrecordedCall, error: unknown): Fault {
  const fault = Fault.from(error);
  const { code, message, data, cause } = fault;
  if (!hasSent || !OURS.has(code) || message.endsWith(UNKNOWN_OUTCOME)) return fault;
  const said = message.replace(AGAIN, "").replace(/\.$/, "");
  return new Fault(code, `${said}. ${UNKNOWN_OUTCOME}`, { data, cause });
}
