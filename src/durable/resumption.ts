import { Fault, logError } from "../errors.ts";
import type { Earlier, Promotion, Resumed, Resumption } from "../mcp/wire/exchange.ts";
import { limits } from "../limits.ts";
import type { Json } from "../model.ts";
import type { Entry, Head, Recorded } from "../record.ts";
import { Wait } from "../suspension.ts";
import type { Busy, Noted, States } from "./states.ts";

/**
 * A request that goes on from a state, and notes in a `States` object what must not be done twice. The
 * object is asked for nothing before the first such HTTP request; from then on it has the record, and a
 * retry goes on from that.
 */
export class StoredResumption implements Resumption {
  readonly #attempt = crypto.randomUUID();
  readonly #by: Resumed;
  readonly #find: () => Promise<DurableObjectStub<States>>;
  #object: Promise<DurableObjectStub<States>> | undefined;
  #head: Head | undefined;
  /** Entries that the object does not have yet. */
  #unkept: Entry[];
  /** Does the object have the record of this request? */
  #isNoted = false;
  /** While it sends a request that must not be sent twice, it says now and then that it lives. */
  #signs: ReturnType<typeof setInterval> | undefined;

  constructor(by: Resumed, find: () => Promise<DurableObjectStub<States>>) {
    this.#by = by;
    this.#find = find;
    this.#head = by.recorded?.head;
    this.#unkept = by.recorded?.entries.slice(-1) ?? [];
  }

  async claim(): Promise<{ outcome?: Json } | undefined> {
    return (await this.#states()).claim(await this.#by.name());
  }

  async settle(outcome: Json): Promise<Json> {
    return (await this.#states()).once("outcome", outcome, this.#by.until);
  }

  async earlier(): Promise<Earlier | undefined> {
    const states = await this.#states();
    const noted = await whenFree<Noted>(async () => states.takeOver(this.#attempt));
    if (noted.kind === "none") return undefined;
    if (noted.kind === "task") return noted;
    this.#isNoted = true;
    this.#unkept = [];
    return { kind: "earlier", recorded: this.#whole(noted.recorded) };
  }

  async task(id: string): Promise<Promotion> {
    const states = await this.#states();
    const made = await whenFree<Promotion>(async () =>
      states.promote(this.#attempt, id, this.#by.until),
    );
    const { recorded } = made;
    return { id: made.id, ...(recorded && { recorded: this.#whole(recorded) }) };
  }

  async release(): Promise<void> {
    if (!this.#stopSigns()) return;
    await this.#states()
      .then((states) => states.release(this.#attempt))
      .catch(logError);
  }

  async begin(head: Head): Promise<void> {
    this.#head = head;
  }

  async intend(position: number, key: string, isRepeatable: boolean): Promise<boolean> {
    if (isRepeatable) return false;
    const states = await this.#states();
    if (!this.#isNoted) {
      const earlier = await this.earlier();
      if (earlier !== undefined) throw new Wait(earlier);
      await this.#by.keep();
    }
    const isRepeated = await states.intend(this.#attempt, {
      ...{ position, key, until: this.#by.until },
      ...{ head: this.#head!, entries: this.#unkept },
    });
    if (isRepeated === undefined) return this.#overtaken();
    this.#isNoted = true;
    this.#unkept = [];
    const lasts = Date.now() + limits.httpMs;
    this.#signs = setInterval(() => {
      // Whatever has become of the run: no request is sent for longer.
      if (Date.now() > lasts) this.#stopSigns();
      else states.renew(this.#attempt).catch(logError);
    }, limits.sendingMs / 3);
    return isRepeated;
  }

  async keep(position: number, entry: Entry): Promise<void> {
    if (!this.#isNoted) {
      this.#unkept.push(entry);
      return;
    }
    const states = await this.#states();
    if (!(await states.keep(this.#attempt, position, entry))) this.#overtaken();
    this.#stopSigns();
  }

  /**
   * What the client carries, and behind that what was recorded since. Notices of before are the client's alone: it
   * asks again since it has not got the response in which it was told others.
   */
  #whole(since: Recorded): Recorded {
    const { entries = [], notices = 0 } = this.#by.recorded ?? {};
    return { ...since, notices, entries: [...entries.slice(0, -1), ...since.entries] };
  }

  /** Gives whether it was sending something. */
  #stopSigns(): boolean {
    if (this.#signs === undefined) return false;
    clearInterval(this.#signs);
    this.#signs = undefined;
    return true;
  }

  #overtaken(): never {
    throw inProgress(1000);
  }

  #states(): Promise<DurableObjectStub<States>> {
    return (this.#object ??= this.#find());
  }
}

/** Asks until no other request is sending something; throws where that takes too long. */
async function whenFree<T extends object>(ask: () => Promise<T | Busy>): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += limits.resumePollMs) {
    const given = await ask();
    if (!("busyMs" in given)) return given;
    if (waitedMs >= limits.resumeWaitMs) throw inProgress(given.busyMs);
    await scheduler.wait(limits.resumePollMs);
  }
}

function inProgress(ms: number): Fault {
  const retryAfter = Math.ceil(ms / 1000);
  const message = `Another request with the same requestState and answers is in progress. Retry in ${retryAfter} s.`;
  return new Fault("conflict", message, { data: { retryAfter } });
}
