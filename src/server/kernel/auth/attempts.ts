import { DurableObject } from "cloudflare:workers";
import { limits } from "../core/limits.ts";
import { Alarm } from "../storage/alarm.ts";

interface AttemptCount {
  count: number;
  /** End of the window, in Unix ms. */
  ends: number;
}

/** The binding of the class below. */
export interface AttemptsEnv {
  ATTEMPTS?: DurableObjectNamespace<Attempts>;
}

/** Counts attempts of one kind in a fixed time window, exactly: KV would lose concurrent increments. */
export class Attempts extends DurableObject {
  readonly #alarm = new Alarm(this.ctx.storage);

  /** Counts attempts within a window of `ms`. Above `most` it counts nothing and returns the wait in ms, else 0. */
  take(most: number, ms: number, attempts = 1): number {
    const now = Date.now();
    const begun = this.#counted();
    // A window that ends later than a new one would began before the clock was set back.
    const isOpen = begun.ends > now && begun.ends <= now + ms + limits.clockSlackMs;
    const { count, ends } = isOpen ? begun : { count: 0, ends: now + ms };
    if (count + attempts > most) return ends - now;
    this.ctx.storage.kv.put<AttemptCount>("counted", { count: count + attempts, ends });
    if (count === 0) void this.#alarm.set(ends);
    return 0;
  }

  /** Undoes counts. */
  giveBack(attempts = 1): void {
    const { count, ends } = this.#counted();
    if (count > 0)
      this.ctx.storage.kv.put<AttemptCount>("counted", {
        count: Math.max(0, count - attempts),
        ends,
      });
  }

  #counted(): AttemptCount {
    return this.ctx.storage.kv.get<AttemptCount>("counted") ?? { count: 0, ends: 0 };
  }

  override alarm(): Promise<void> {
    return this.ctx.storage.deleteAll();
  }
}
