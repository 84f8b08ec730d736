import type { Env as Bindings } from "../../src/server/kernel/bindings.ts";

/** The bindings of wrangler.toml, and those that vitest.config.ts adds for tests. */
declare global {
  namespace Cloudflare {
    interface Env extends Bindings {
      LIMITED: RateLimit;
      SCRATCH: DurableObjectNamespace;
      TEST_LOADER: WorkerLoader;
    }
  }
}
