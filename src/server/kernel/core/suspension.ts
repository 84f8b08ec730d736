/** A call that is interrupted, and why. */
import type { Answers, Asks } from "./asks.ts";
import type { Fault } from "./errors.ts";
import { limits } from "./limits.ts";
import { isObject } from "./model.ts";
import type { Recorded } from "./record.ts";

/** Thrown to a guest whose call cannot continue now: the guest is unwound, and run again later. */
export class Wait {
  readonly reason: WaitReason;
  /** The state that is passed back to one of the server's own tools. */
  readonly state: string | undefined;

  constructor(reason: WaitReason, state?: string) {
    this.reason = reason;
    this.state = state;
  }
}

export type WaitReason =
  /** For answers of the client; `given` are the answers that it has already sent. */
  | { kind: "input"; asks: Asks; given: Answers }
  /** Until a Unix time in ms, which is `ms` later by the servlet's clock. */
  | { kind: "sleep"; until: number; ms: number }
  /** Until a Unix time in ms, for room in an isolate; then the pending question is repeated. */
  | { kind: "retry"; until: number; ms: number }
  /** The call continues at once, as a task. */
  | { kind: "task" }
  /** The call continues at once from its record: an earlier run of the same request has sent something. */
  | { kind: "earlier"; recorded: Recorded };

/** The longest `retryAfter` that a call waits for, in seconds. */
const SHORTAGE_S = 60;

/** True for a shortage that ends soon, such as a full queue for a servlet's state. */
export const isShortage = ({ code, data }: Fault): boolean =>
  code === "too_many" && isObject(data) && Number(data["retryAfter"]) <= SHORTAGE_S;

/**
 * The wait of a call for room, longer than the one `before` if that was for room too. The `spread`, from 1 to 2, keeps
 * calls from returning all at once.
 */
export function shortage(
  before?: WaitReason,
  spread = 1 + Math.random(),
): WaitReason & { kind: "retry" } {
  const { shortageMs, maxShortageMs } = limits;
  const lastMs = before?.kind === "retry" ? before.ms : 0;
  const ms = Math.ceil(Math.max(shortageMs, Math.min(lastMs, maxShortageMs)) * spread);
  return { kind: "retry", until: Date.now() + ms, ms };
}

/** An interrupted call: its guest is gone, and it can be run again. */
export class Suspended {
  readonly reason: WaitReason;
  /** The `requestState` of a servlet that *returned* a request for input and will be called again. */
  readonly state: string | undefined;
  /** Absent if the servlet has returned. */
  readonly recorded: Recorded | undefined;
  /** Fuel that the runs of the call have used so far. */
  readonly fuelUsed: number;
  /** True if the call may be resumed only once (`single_use_state`). */
  isSingleUse: boolean;

  constructor(
    reason: WaitReason,
    fuelUsed: number,
    rest: {
      recorded?: Recorded | undefined;
      state?: string | undefined;
      isSingleUse?: boolean;
    } = {},
  ) {
    this.reason = reason;
    this.fuelUsed = fuelUsed;
    this.recorded = rest.recorded;
    this.state = rest.state;
    this.isSingleUse = rest.isSingleUse === true;
  }
}

/** The result of a call, or its suspension. */
export type Outcome<T> = T | Suspended;
