import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { countingIn } from "./counting.ts";
import { metricsFrom } from "./metrics.ts";
import { actRecorder, nearestUsage, usageOf } from "./usage.ts";
import { Usage } from "./usage-object.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** The counters and errors that operators see. */
    USAGE?: DurableObjectNamespace<Usage>;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** The object with the counters. */
    usage?: NonNullable<ReturnType<typeof usageOf>>;
  }
}

/** Counters and errors that operators see, what operators did, and metrics. */
export const usageFeature: Feature = {
  name: "usage",
  start(kernel) {
    const { env } = kernel;
    const object = usageOf(env);
    const counting = countingIn(nearestUsage(env), metricsFrom(env) !== undefined);
    return {
      parts: {
        ...(object && { usage: object }),
        ...(counting && { counting }),
        recordAct: actRecorder(env),
      },
      forget: async (caller) => object?.().forget(caller),
      objects: { Usage: objectClassWith(() => kernel, Usage) },
    };
  },
};
