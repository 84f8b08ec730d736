import { LOST } from "./messages.ts";
import type { Platform } from "./platform.ts";

const LISTED_AT_ONCE = 3;

/** A bucket as R2 has them, as far as the code under test needs it: what is stored is there whole, or not at all. */
export class Bucket {
  readonly stored = new Map<string, Uint8Array>();
  /** Set once there is a platform, which is made with the bucket. */
  platform: Platform | undefined;

  async put(key: string, value: ReadableStream<Uint8Array> | Uint8Array): Promise<void> {
    const bytes = value instanceof Uint8Array ? value.slice() : await new Response(value).bytes();
    await this.#operation(`put ${bytes.length} bytes`, () => void this.stored.set(key, bytes));
  }

  async get(key: string, { range }: { range: { offset: number; length: number } }) {
    const { offset, length } = range;
    const found = await this.#operation("get", () => this.stored.get(key));
    const body = found && new Response(found.slice(offset, offset + length)).body;
    return body ? { body } : null;
  }

  async delete(keys: string | string[]): Promise<void> {
    await this.#operation("delete", () => {
      for (const key of [keys].flat()) this.stored.delete(key);
    });
  }

  async list({ prefix }: { prefix: string }): Promise<{ objects: { key: string }[] }> {
    const keys = await this.#operation("list", () =>
      [...this.stored.keys()].filter((key) => key.startsWith(prefix)),
    );
    return { objects: keys.slice(0, LISTED_AT_ONCE).map((key) => ({ key })) };
  }

  /** A request and its answer, either of which may be lost. It goes on where its sender dies. */
  #operation<T>(what: string, run: () => T): Promise<T> {
    const platform = this.platform!;
    const { scheduler, faults } = platform;
    const actor = scheduler.current!;
    return scheduler.eventually<T>(actor, (settle) => {
      const fail = () =>
        settle(() => {
          throw new Error(LOST);
        });
      platform.leave(actor, () => {
        if (platform.injects(faults.loss, `a request to ${what} is lost`)) return fail();
        const nobody = () => undefined;
        scheduler.after(scheduler.latency(), what, nobody, () => {
          const found = run();
          if (platform.injects(faults.loss, `the answer to ${what} is lost`)) return fail();
          settle(() => found);
        });
      });
    });
  }
}
