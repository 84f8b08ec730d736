/** Limits of what the bundle step fetches and checks. */
import { addLimits } from "../../server/kernel/core/limits.ts";
export { limits } from "../../server/kernel/core/limits.ts";

declare module "../../server/kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Entries of all tables of one instance together: `memory_limit` does not bound them. V8 keeps 30 bytes
     * for a function's, twice that while a table grows, so this is 3 to 6 MB; compilers make an entry for
     * each function whose address is taken, of which large programs have some ten thousands.
     */
    tableEntries: 100_000,
    /** Fixed cost of a table, counted in entries: some 450 bytes. */
    tableOverhead: 16,
    /** A servlet that is fetched when the bundle is made, packed and unpacked: as much as a Worker may have. */
    sourceBytes: 64 * 1024 * 1024,
    /** A description of an API: the largest public ones have some 40 MB. */
    descriptionBytes: 64 * 1024 * 1024,
    /** An image's manifest, signature or token: registries must take manifests of 4 MiB. */
    sourceManifestBytes: 4 * 1024 * 1024,
    /** Silence of a registry, and the time of one request to it, on a slow line. */
    sourceIdleMs: 30_000,
    sourceMs: 300_000,
  },
});
