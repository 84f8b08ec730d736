import { Fault, type FaultCode, isForLog, logError } from "./errors.ts";
import { Wait, type WaitReason } from "./suspension.ts";

/** The outcome of some work, as a value: exceptions lose their class between Durable Objects. */
export type Settled<T> =
  | { value: T }
  | { wait: WaitReason }
  | { code: FaultCode; message: string; data?: unknown; ownCode?: number };

export async function settled<T>(work: () => Promise<T> | T): Promise<Settled<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Wait) return { wait: error.reason };
    const fault = Fault.from(error);
    const { code, message, data, ownCode, cause } = fault;
    if (isForLog(fault)) logError(cause);
    return { code, message, data, ...(ownCode !== undefined && { ownCode }) };
  }
}

/** The value of the outcome. Throws the error of the work. */
export function unsettled<T>(settlement: Settled<T>): T {
  if ("value" in settlement) return settlement.value;
  if ("wait" in settlement) throw new Wait(settlement.wait);
  const { code, message, ...details } = settlement;
  throw new Fault(code, message, details);
}
