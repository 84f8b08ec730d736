/** Requests that were refused: a line in the log, and a number for the counters. */
import { waitUntil } from "cloudflare:workers";
import { httpStatus, report, type Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { printable } from "../core/text.ts";
import type { CountedRefusals } from "./counts.ts";

/** Statuses of requests that are refused whatever they ask for. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 421, 429]);
/** Different refusals that a line has: any number of callers may be refused. */
const KINDS = 20;

/**
 * Collects the refusals of an isolate for `limits.usageMs`, and then writes one line and sends their numbers: who is refused
 * a thousand times a second fills neither the log nor the counters.
 */
export class RefusedRequests {
  readonly #send: ((refused: readonly CountedRefusals[]) => void) | undefined;
  readonly #seen = new WeakSet<Fault>();
  #kinds = new Map<string, number>();
  #numbers = new Map<string, number>();
  #dueAt = 0;

  constructor(send?: (refused: readonly CountedRefusals[]) => void) {
    this.#send = send;
  }

  /** Counts a fault once, if a request is refused by it. `caller` is the caller's name, if it is known. */
  add(fault: Fault, caller?: string): void {
    const status = httpStatus(fault);
    if (!REFUSED.has(status) || this.#seen.has(fault)) return;
    this.#seen.add(fault);
    const name = `${status} ${fault.code}`;
    const kind = caller === undefined ? name : `${name} of ${printable(caller)}`;
    const known = this.#kinds.has(kind) || this.#kinds.size < KINDS ? kind : `${name} of others`;
    this.#kinds.set(known, (this.#kinds.get(known) ?? 0) + 1);
    this.#numbers.set(name, (this.#numbers.get(name) ?? 0) + 1);
    // If the request is cancelled before it tells, a later one does. The clock may be set back.
    const now = Date.now();
    const mostMs = 2 * limits.usageMs;
    if (now < this.#dueAt && this.#dueAt <= now + mostMs) return;
    this.#dueAt = now + mostMs;
    waitUntil(this.#tell().catch(report));
  }

  async #tell(): Promise<void> {
    await scheduler.wait(limits.usageMs);
    const [kinds, numbers] = [this.#kinds, this.#numbers];
    [this.#kinds, this.#numbers, this.#dueAt] = [new Map(), new Map(), 0];
    const all = [...kinds].map(([kind, count]) => `${kind} (${count})`).join(", ");
    console.warn(`Refused in the last ${limits.usageMs / 1000} s: ${all}`);
    this.#send?.([...numbers].map(([name, count]) => ({ name, count })));
  }
}
