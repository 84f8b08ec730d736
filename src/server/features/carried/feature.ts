import { StateVault } from "./state-vault.ts";
import { States } from "./states.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { carriedBy } from "./input-required.ts";
import { objectClassWith } from "../../kernel/object-class.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Calls of clients of 2026-07-28 that wait for an answer, with `KEY_RING`. */
    STATES?: DurableObjectNamespace<States>;
  }
}

/** Calls of clients of 2026-07-28 that wait for an answer, whose state the client carries. */
export const carriedFeature: Feature = {
  name: "carried",
  start(kernel) {
    const { env, sealer } = kernel;
    return {
      parts: {
        ...(sealer && env.STATES && { carried: carriedBy(new StateVault(sealer, env.STATES)) }),
      },
      objects: { States: objectClassWith(() => kernel.sealing, States) },
    };
  },
};
