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
     * Entries of all tables of one instance together, which `memory_limit` does not bound. V8 takes 30 bytes for an
     * entry, and twice that while a table grows: 3 to 6 MB in all. Compilers make an entry for each function whose
     * address is taken: some tens of thousands in large programs.
     */
    tableEntries: 100_000,
    /** Fixed cost of a table, counted in entries: about 450 bytes. */
    tableOverhead: 16,
    /** Bytes of a fetched servlet, both packed and unpacked: the platform's limit for a Worker. */
    sourceBytes: 64 * 1024 * 1024,
    /** Bytes of an OpenAPI description: the largest public ones have about 40 MB. */
    descriptionBytes: 64 * 1024 * 1024,
    /** Bytes of an image's manifest, signature or token: registries must accept manifests of 4 MiB. */
    sourceManifestBytes: 4 * 1024 * 1024,
    /** Timeouts for a slow connection: without any data, and for one request in all. */
    sourceIdleMs: 30_000,
    sourceMs: 300_000,
  },
});
