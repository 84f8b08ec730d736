/** Refused requests: a summary line in the log, and counts for the page Usage. */
import { waitUntil } from "cloudflare:workers";
import { httpStatus, report, type Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { printable } from "../core/text.ts";
import type { CountedRefusals } from "./counted.ts";
import { usageName } from "./usage-name.ts";

/** Statuses with which the server refuses a request because of its caller, host or rate. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 421, 429]);
/** Maximum number of entries in a log line: callers may have any number of names. */
const KINDS = 20;

/**
 * Collects the refusals of an isolate for `limits.usageMs`, then writes one log line and sends the counts. A caller
 * that is refused a thousand times a second floods neither the log nor the counters.
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

  /** Counts a fault that refuses a request; the same fault counts once. `caller` is the caller's name, if known. */
  add(fault: Fault, caller?: string): void {
    const status = httpStatus(fault);
    if (!REFUSED.has(status) || this.#seen.has(fault)) return;
    this.#seen.add(fault);
    const name = `${status} ${fault.code}`;
    const kind = caller === undefined ? name : `${name} of ${printable(usageName(caller))}`;
    const known = this.#kinds.has(kind) || this.#kinds.size < KINDS ? kind : `${name} of others`;
    this.#kinds.set(known, (this.#kinds.get(known) ?? 0) + 1);
    this.#numbers.set(name, (this.#numbers.get(name) ?? 0) + 1);
    // If this request is cancelled before it reports, a later request reports. The clock may be set back.
    const now = Date.now();
    const mostMs = 2 * limits.usageMs;
    if (now < this.#dueAt && this.#dueAt <= now + mostMs) return;
    this.#dueAt = now + mostMs;
    waitUntil(this.#flush().catch(report));
  }

  async #flush(): Promise<void> {
    await scheduler.wait(limits.usageMs);
    const kinds = this.#kinds;
    const numbers = this.#numbers;
    this.#kinds = new Map();
    this.#numbers = new Map();
    this.#dueAt = 0;
    const all = [...kinds].map(([kind, count]) => `${kind} (${count})`).join(", ");
    console.warn(`Refused in the last ${limits.usageMs / 1000} s: ${all}`);
    this.#send?.([...numbers].map(([name, count]) => ({ name, count })));
  }
}
