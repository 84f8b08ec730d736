/** Limits of the server's own sign-in. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Lifetime of refresh tokens, renewed with each use: an app that is not used for longer must sign in again. */
    refreshTokenMs: 90 * 86_400_000,
  },
  internal: {
    /** How long a client's metadata document is cached, and how long a refused one is not fetched again. */
    documentMs: 10 * 60_000,
    documentRetryMs: 60_000,
    /** Clients' metadata documents that an isolate caches. */
    documents: 100,
    /** A key of Workers KV: the platform's limit. Parts of some keys come from callers. */
    storeKeyBytes: 512,
    /** Size of the form of the sign-in page. */
    formBytes: 16 * 1024,
    /** How long a repeated refresh gets the same answer: two windows may refresh at once, and answers can be lost. */
    keptRefreshMs: 60_000,
    /** Used refresh tokens remembered for one grant: six weeks of hourly refreshes, 150 KB. */
    usedRefreshTokens: 1000,
  },
});
