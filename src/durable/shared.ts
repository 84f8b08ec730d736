import { deploymentOf, readSettings } from "../env.ts";
import type { Bundle } from "../servlets/bundle.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { Registry } from "../servlets/registry.ts";
import { stateful } from "./servlet-states.ts";
import { sealerOf, type Sealer } from "./vault.ts";

/** The parts that all Durable Objects of an isolate share. */
interface Shared {
  registry: Registry;
  deployment: Deployment;
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
    const deployment = { ...deploymentOf(settings, env), ...stateful(env) };
    return (shared = { registry: new Registry(bundle, deployment), deployment, sealer });
  };
}
