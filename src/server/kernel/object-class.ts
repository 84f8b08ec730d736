import type { DurableObject } from "cloudflare:workers";
import type { Env } from "./bindings.ts";

/** A class of Durable Objects, as the platform constructs it. */
export type ObjectClass = new (state: DurableObjectState, env: Env) => DurableObject<unknown>;

/** A class that the platform can construct: it passes the result of `given` to `Class` as the third argument. */
export function objectClassWith<Given>(
  given: () => Given,
  Class: new (state: DurableObjectState, env: Env, given: Given) => object,
): ObjectClass {
  const Base = Class as new (
    state: DurableObjectState,
    env: Env,
    given: Given,
  ) => DurableObject<unknown>;
  return class extends Base {
    constructor(state: DurableObjectState, env: Env) {
      super(state, env, given());
    }
  };
}
