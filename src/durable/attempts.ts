import { DurableObject } from "cloudflare:workers";

/** How often something was tried of late; one object for each thing that is counted. */
export class Attempts extends DurableObject {
  /** Counts one more. False, and not counted, where there were `most` of them in `ms`. */
  async take(most: number, ms: number): Promise<boolean> {
    const { kv } = this.ctx.storage;
    const count = kv.get<number>("count") ?? 0;
    if (count >= most) return false;
    kv.put("count", count + 1);
    if (count === 0) await this.ctx.storage.setAlarm(Date.now() + ms);
    return true;
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
