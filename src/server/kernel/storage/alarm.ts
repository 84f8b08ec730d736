import { limits } from "../core/limits.ts";

/** The alarm of one Durable Object. Only this class sets alarms. */
export class Alarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** While its handler runs, the time for which it was set, in Unix ms. */
  #ringing: number | undefined;

  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">) {
    this.#storage = storage;
  }

  /** True while its handler runs. */
  get isRinging(): boolean {
    return this.#ringing !== undefined;
  }

  /**
   * Sets it to this Unix time in ms, rounded up: the platform keeps whole milliseconds, and an alarm that fires before
   * its time finds nothing to do. While its handler runs, it is set later than the time for which the handler runs: the
   * platform drops an alarm that its handler sets to the same time, and moves a past alarm to the present. If the clock
   * was set back meanwhile, that time is far away, and the present differs from it.
   */
  set(at: number): Promise<void> {
    const now = Date.now();
    const ringing = this.#ringing ?? -Infinity;
    const earliest = ringing - now > limits.clockSlackMs ? now : Math.max(ringing, now);
    return this.#storage.setAlarm(Math.max(Math.ceil(at), this.isRinging ? earliest + 1 : 0));
  }

  /**
   * True if it is set, to this Unix time in ms at the latest, and can still fire: one that is `limits.lateAlarmMs` overdue
   * is lost.
   */
  async isPlanned(latest = Infinity): Promise<boolean> {
    const at = await this.#storage.getAlarm();
    return at !== null && at > Date.now() - limits.lateAlarmMs && at <= latest;
  }

  /**
   * Runs its handler. `handle` gets the time in Unix ms: at least the time that the alarm was set to, even if this
   * machine's clock is behind.
   */
  async ring(
    info: Pick<AlarmInvocationInfo, "scheduledTime"> | undefined,
    handle: (now: number) => Promise<void> | void,
  ): Promise<void> {
    const now = Math.max(Date.now(), info?.scheduledTime ?? 0);
    this.#ringing = now;
    try {
      await handle(now);
    } finally {
      this.#ringing = undefined;
    }
  }
}
