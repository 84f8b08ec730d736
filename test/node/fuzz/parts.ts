import { inspect } from "node:util";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { play as playSteps } from "../files/failing-steps.ts";
import { loadDeployment } from "../simulate/deployment.ts";
import { flyBodies } from "./bodies.ts";
import { Chance } from "./chance.ts";
import { callFiles } from "./file-calls.ts";
import { askRegistries } from "./registries.ts";

/** Parts of the server that are played in this process: what they count and hold is seen from outside, to the byte. */
export interface Playing {
  seed: number;
  /** Steps of each part. */
  steps: number;
  /** The only part, and the only step of it. */
  part?: string | undefined;
  step?: number | undefined;
  log?: ((line: string) => void) | undefined;
}

const PARTS: Readonly<Record<string, (seed: number) => void | Promise<void>>> = {
  bodies: async (seed) => flyBodies(new Chance(seed), await loadDeployment()),
  registries: (seed) => askRegistries(new Chance(seed)),
  "file-calls": (seed) => callFiles(() => new Chance(seed)),
  "file-steps"(seed) {
    const { fileOverlayBytes } = limits;
    configureLimits({ fileOverlayBytes: new Chance(seed).pick([fileOverlayBytes, 20_000, 2000]) });
    try {
      const difference = playSteps(seed, { done: 0, failed: 0 });
      if (difference !== undefined) throw new Error(inspect(difference).slice(0, 5000));
    } finally {
      configureLimits({ fileOverlayBytes });
    }
  },
};

/** Plays each part; returns how many steps were played, and what failed. */
export async function fuzzParts({ seed, steps, part: only, step: one, log }: Playing) {
  const failures: string[] = [];
  const played: Record<string, number> = {};
  for (const [part, play] of Object.entries(PARTS)) {
    if (only !== undefined && part !== only) continue;
    for (let step = one ?? 0; step < (one === undefined ? steps : one + 1); step++) {
      played[part] = (played[part] ?? 0) + 1;
      try {
        await play((Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b)) >>> 0);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const failure = `npm run fuzz -- --seed ${seed} --part ${part} --step ${step}: ${why}`;
        failures.push(failure);
        log?.(failure);
      }
    }
  }
  return { played, failures };
}
