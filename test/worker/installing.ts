/** The same Worker with a bucket of builds in its memory, for workerd itself, which has none. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { bundle } from "../bundle.gen.ts";
import { ServletState as Plain } from "./index.ts";

export * from "./index.ts";

/** What `BuildBucket` uses of R2 but for its sweep, which only the object of installs does. */
function bucketInMemory() {
  const kept = new Map<string, { bytes: ArrayBuffer; uploaded: Date }>();
  return {
    async put(key: string, value: BodyInit) {
      kept.set(key, { bytes: await new Response(value).arrayBuffer(), uploaded: new Date() });
    },
    head: async (key: string) => kept.get(key) ?? null,
    async get(key: string) {
      const found = kept.get(key);
      return found ? new Response(found.bytes) : null;
    },
  };
}

const BUILDS = bucketInMemory();

export class ServletState extends Plain {
  constructor(state: DurableObjectState, own: Cloudflare.Env) {
    super(state, Object.assign({ BUILDS }, own));
  }
}

export default createApp(bundle, { ...env, BUILDS });
