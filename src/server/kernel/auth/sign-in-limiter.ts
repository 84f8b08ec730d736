import { callerKey } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "./limits.ts";
import { ANONYMOUS } from "../core/model.ts";
import { countsOf, giveBackAll, takeAll, type Count } from "./quotas.ts";
import type { Attempts } from "./attempts.ts";
import { isLocal, networkOf } from "./origin.ts";

/** Wrong enterprise identity assertions in `limits.attemptsMs` from one address. */
const WRONG_ASSERTIONS = 30;

/**
 * Limits sign-in pages, wrong passphrases, client registrations and fetches of client documents, each counted
 * separately within `limits.attemptsMs`. Methods throw `too_many`. Loopback hosts are not limited.
 */
export class SignInLimiter {
  readonly #attempts: DurableObjectNamespace<Attempts>;

  constructor(attempts: DurableObjectNamespace<Attempts>) {
    this.#attempts = attempts;
  }

  /**
   * Counts a sign-in page of this principal, or of the request's address if nobody has signed in. Only an approval
   * undoes the count: a denial needs no passphrase.
   */
  async page(request: Request, principal?: string): Promise<void> {
    if (!isLocal(request)) await take(this.#pages(request, principal));
  }

  async pageAllowed(request: Request, principal?: string): Promise<void> {
    if (!isLocal(request)) await giveBackAll(this.#pages(request, principal));
  }

  async registration(request: Request): Promise<void> {
    if (isLocal(request)) return;
    await take(this.#ofAddress("register", request, limits.registrations));
  }

  /** Counts the fetch of a client's metadata document. */
  async document(request: Request): Promise<void> {
    const ofAddress = this.#ofAddress("document", request, limits.documentFetches);
    await take([...ofAddress, this.#ofAll("document", limits.documentFetchesOfAll)]);
  }

  /** Checks a passphrase and counts a wrong one. Counts before the check, as attempts can be concurrent. */
  async passphrase(request: Request, isRight: () => Promise<boolean>): Promise<boolean> {
    if (isLocal(request)) return isRight();
    const ofAddress = this.#ofAddress("passphrase", request, limits.wrongPassphrases);
    const counts = [...ofAddress, this.#ofAll("passphrase", limits.wrongPassphrasesOfAll)];
    await take(counts);
    if (!(await isRight())) return false;
    await giveBackAll(counts);
    return true;
  }

  /** Runs the request of an identity assertion, and counts a wrong assertion: one whose response is not a success. */
  async assertion(request: Request, work: () => Promise<Response>): Promise<Response> {
    if (isLocal(request)) return work();
    const counts = this.#ofAddress("assertion", request, WRONG_ASSERTIONS);
    await take(counts);
    const response = await work();
    if (response.ok) await giveBackAll(counts);
    return response;
  }

  #pages(request: Request, principal: string | undefined): Count[] {
    if (principal === undefined) return this.#ofAddress("sign-in", request, limits.signIns);
    const caller = callerKey({ name: principal })!;
    return countsOf(this.#attempts, { action: "sign-in", caller, most: limits.signIns });
  }

  #ofAddress(action: string, { headers }: Request, most: number): Count[] {
    const address = networkOf(headers.get("cf-connecting-ip") ?? "unknown");
    const caller = callerKey({ ...ANONYMOUS, address })!;
    return countsOf(this.#attempts, { action, caller, most });
  }

  #ofAll(action: string, most: number): Count {
    return { counter: this.#attempts.getByName(action), most };
  }
}

async function take(counts: readonly Count[]): Promise<void> {
  const waitMs = await takeAll(counts, limits.attemptsMs);
  if (waitMs === 0) return;
  const minutes = Math.ceil(waitMs / 60_000);
  const when = minutes === 1 ? "a minute" : `${minutes} minutes`;
  const data = { retryAfter: Math.ceil(waitMs / 1000) };
  throw new Fault("too_many", `Too many attempts. Retry in ${when}.`, { data });
}
