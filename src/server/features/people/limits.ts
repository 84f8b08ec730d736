/** Limits of pages for people, and of what is stored for them. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** How long a person stays signed in on pages of this server that answer questions. */
    personMs: 15 * 60_000,
  },
  internal: {
    /** Secrets that are kept for one principal, and as many connected accounts: a person has a few dozen of each. */
    keptSecrets: 100,
    /** How long a page waits after an answer for the next question. */
    nextAskMs: 2000,
    /** Time for a person to connect an account at a provider, and the number of attempts in that time. */
    connectingMs: 10 * 60_000,
    connecting: 20,
    /** A token younger than this is not renewed when a host refuses it: the refusal has another reason. */
    accountFreshMs: 60_000,
    /** How long a failure to reach an issuer or to register there is cached: many callers may ask at once. */
    issuerFailureMs: 10_000,
    /** A registration younger than this is kept even if the issuer refuses it: a new one would be refused, too. */
    newRegistrationMs: 10 * 60_000,
    /** Calls that a person sees on the page of the account: each costs a request to its task. */
    shownCalls: 50,
  },
});
