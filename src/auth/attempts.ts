import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../storage/alarm.ts";

interface Counted {
  count: number;
  /** End of the window, in Unix ms. */
  ends: number;
}

/** A counter over a fixed window of time; each object is one counter. */
export class Attempts extends DurableObject {
  readonly #alarm = new Alarm(this.ctx.storage);

  /** Counts one more within a window of `ms`. Above `most` it counts nothing and returns the wait in ms, else 0. */
  take(most: number, ms: number): number {
    const now = Date.now();
    const begun = this.#counted();
    const { count, ends } = begun.ends > now ? begun : { count: 0, ends: now + ms };
    if (count >= most) return ends - now;
    this.ctx.storage.kv.put<Counted>("counted", { count: count + 1, ends });
    if (count === 0) void this.#alarm.set(ends);
    return 0;
  }

  /** Undoes one count. */
  giveBack(): void {
    const { count, ends } = this.#counted();
    if (count > 0) this.ctx.storage.kv.put<Counted>("counted", { count: count - 1, ends });
  }

  #counted(): Counted {
    return this.ctx.storage.kv.get<Counted>("counted") ?? { count: 0, ends: 0 };
  }

  override alarm(): Promise<void> {
    return this.ctx.storage.deleteAll();
  }
}
