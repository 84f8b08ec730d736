import { Fault, logError } from "../errors.ts";
import type { Resumed, Resumption } from "../mcp/exchange.ts";
import { Wait, type Entry, type Head, type Json, type Recorded } from "../model.ts";
import type { Noted, States } from "./states.ts";

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
  #begun: Omit<Recorded, "entries"> | undefined;
  /** Entries that the object does not have yet. */
  #unkept: Entry[];
  /** Does the object have the record of this request? */
  #isNoted = false;

  constructor(by: Resumed, find: () => Promise<DurableObjectStub<States>>) {
    this.#by = by;
    this.#find = find;
    const { entries = [], ...begun } = by.recorded ?? {};
    this.#begun = "head" in begun ? begun : undefined;
    this.#unkept = entries.slice(-1);
  }

  async claim(): Promise<{ outcome?: Json } | undefined> {
    return (await this.#states()).claim(await this.#by.name());
  }

  async settle(outcome: Json): Promise<Json> {
    return (await this.#states()).once("outcome", outcome, this.#by.until);
  }

  async earlier(): Promise<Recorded | undefined> {
    return this.#goOn(await (await this.#states()).takeOver(this.#attempt));
  }

  async task(id: string): Promise<string> {
    const made = await (await this.#states()).promote(this.#attempt, id, this.#by.until);
    return made ?? this.#overtaken();
  }

  async release(): Promise<void> {
    if (!this.#isNoted) return;
    await this.#states()
      .then((states) => states.release(this.#attempt))
      .catch(logError);
  }

  async begin(head: Head): Promise<void> {
    this.#begun = { head, notices: 0 };
  }

  async intend(position: number, key: string, isRepeatable: boolean): Promise<boolean> {
    if (isRepeatable) return false;
    const states = await this.#states();
    if (!this.#isNoted) {
      const recorded = this.#goOn(await states.takeOver(this.#attempt));
      if (recorded !== undefined) throw new Wait({ kind: "earlier", recorded });
      await this.#by.keep();
    }
    const isRepeated = await states.intend(this.#attempt, {
      ...{ position, key, until: this.#by.until },
      ...{ begun: this.#begun!, entries: this.#unkept },
    });
    if (isRepeated === undefined) return this.#overtaken();
    this.#isNoted = true;
    this.#unkept = [];
    return isRepeated;
  }

  async keep(position: number, entry: Entry, notices: number): Promise<void> {
    if (!this.#isNoted) {
      this.#begun = { ...this.#begun!, notices };
      this.#unkept.push(entry);
    } else if (!(await (await this.#states()).keep(this.#attempt, { position, entry, notices }))) {
      this.#overtaken();
    }
  }

  /** The record to go on from, if there is one. Throws where the call has become a task, or is in progress. */
  #goOn(noted: Noted): Recorded | undefined {
    if (noted.kind === "task") throw new Wait({ kind: "task" });
    if (noted.kind === "none") return undefined;
    if (noted.kind === "busy") throw inProgress(noted.ms);
    this.#isNoted = true;
    this.#unkept = [];
    const before = this.#by.recorded?.entries.slice(0, -1) ?? [];
    return { ...noted.recorded, entries: [...before, ...noted.recorded.entries] };
  }

  #overtaken(): never {
    throw inProgress(1000);
  }

  #states(): Promise<DurableObjectStub<States>> {
    return (this.#object ??= this.#find());
  }
}

function inProgress(ms: number): Fault {
  const retryAfter = Math.ceil(ms / 1000);
  const message = `Another request with the same requestState and answers is in progress. Retry in ${retryAfter} s.`;
  return new Fault("conflict", message, { data: { retryAfter } });
}
