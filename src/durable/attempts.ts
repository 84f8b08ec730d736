import { DurableObject } from "cloudflare:workers";

/** How often something was done of late; one object for each thing that is counted. */
export class Attempts extends DurableObject {
  /** Counts one more, or, where there were `most` of them in `ms`, none; gives how long to wait then, in ms. */
  async take(most: number, ms: number): Promise<number> {
    const { storage } = this.ctx;
    const count = storage.kv.get<number>("count") ?? 0;
    const ends = await storage.getAlarm();
    if (count >= most) return Math.max(1, (ends ?? 0) - Date.now());
    storage.kv.put("count", count + 1);
    if (ends === null) await storage.setAlarm(Date.now() + ms);
    return 0;
  }

  /** Takes one back. */
  giveBack(): void {
    const { kv } = this.ctx.storage;
    kv.put("count", Math.max(0, (kv.get<number>("count") ?? 0) - 1));
  }

  override alarm(): Promise<void> {
    return this.ctx.storage.deleteAll();
  }
}
