import { readSettings } from "./settings/env.ts";
import { Serving } from "./serving.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { sealerOf, type Sealer } from "./storage/vault.ts";

/** The parts that all Durable Objects of an isolate share. */
interface Shared {
  serving: Serving;
  sealer: Sealer;
}

/** Returns the shared parts, made for the first object. Throws where the binding KEY_RING is missing. */
export type Share = (env: object) => Shared;

export function shareOf(bundle: Bundle): Share {
  let shared: Shared | undefined;
  return (env) => {
    if (shared !== undefined) return shared;
    const settings = readSettings(env);
    const sealer = sealerOf(settings, env);
    if (sealer === undefined) {
      throw new Error(
        "The binding KEY_RING is missing. Add the Durable Object KEY_RING to wrangler.toml.",
      );
    }
    return (shared = { serving: new Serving(bundle, settings, env), sealer });
  };
}
