import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Attempts } from "./gatekeeper.ts";
import { isLocal, networkOf } from "./origin.ts";

/** Counts attempts, strictly. KV would lose those that come at once. */
export interface Counter extends Attempts {
  giveBack(): void;
}

/**
 * How often strangers may try to sign in, to register and to have documents fetched, in `limits.attemptsMs`.
 * Each is counted by itself. Methods throw `too_many`.
 */
export class Allowances {
  readonly #attempts: DurableObjectNamespace<Counter>;

  constructor(attempts: DurableObjectNamespace<Counter>) {
    this.#attempts = attempts;
  }

  /** Counts a sign-in page that is shown, unless the owner lets the app in: to deny, nobody proves anything. */
  async page(request: Request): Promise<void> {
    if (!isLocal(request)) await take(this.#ofAddress("sign-in", request), limits.signIns);
  }

  async pageAllowed(request: Request): Promise<void> {
    if (!isLocal(request)) await this.#ofAddress("sign-in", request).giveBack();
  }

  async registration(request: Request): Promise<void> {
    if (!isLocal(request)) await take(this.#ofAddress("register", request), limits.registrations);
  }

  /** Counts the fetch of a client's metadata document. */
  async document(request: Request): Promise<void> {
    await take(this.#ofAddress("document", request), limits.documentFetches);
    await take(this.#attempts.getByName("document"), limits.documentFetchesOfAll);
  }

  /** Counts wrong passphrases: each before it is tried, for many can come at once. */
  async passphrase(request: Request, isRight: () => Promise<boolean>): Promise<boolean> {
    if (isLocal(request)) return isRight();
    const ofAddress = this.#ofAddress("passphrase", request);
    const ofAll = this.#attempts.getByName("passphrase");
    await take(ofAddress, limits.wrongPassphrases);
    try {
      await take(ofAll, limits.wrongPassphrasesOfAll);
    } catch (error) {
      await ofAddress.giveBack(); // It was not tried.
      throw error;
    }
    if (!(await isRight())) return false;
    await Promise.all([ofAddress.giveBack(), ofAll.giveBack()]);
    return true;
  }

  #ofAddress(what: string, { headers }: Request): DurableObjectStub<Counter> {
    const address = networkOf(headers.get("cf-connecting-ip") ?? "unknown");
    return this.#attempts.getByName(`${what} ${address}`);
  }
}

async function take(counter: DurableObjectStub<Counter>, most: number): Promise<void> {
  const waitMs = await counter.take(most, limits.attemptsMs);
  if (waitMs === 0) return;
  const minutes = Math.ceil(waitMs / 60_000);
  const when = minutes === 1 ? "a minute" : `${minutes} minutes`;
  const data = { retryAfter: Math.ceil(waitMs / 1000) };
  throw new Fault("too_many", `Too many attempts. Retry in ${when}.`, { data });
}
