import { Chance } from "../fuzz/chance.ts";
import type { Faults } from "./platform.ts";
import { inPlace, program, returning, type Step } from "./programs.ts";

/** What one run does: it follows from its seed, and can be made smaller. */
export interface Scene {
  seed: number;
  /** Events while which there may be faults. */
  steps: number;
  calls: Call[];
  faults: Faults;
  /** How often the internet does something else than to answer. */
  unreliable: number;
}

export interface Call {
  client: "tasks" | "rounds" | "session";
  tool: string;
  program: Step[];
}

/** Nothing goes wrong. */
export const NO_FAULTS: Faults = {
  death: 0,
  deaths: {},
  outage: 0,
  eviction: 0,
  loss: 0,
  requestDeath: 0,
  lateAlarm: 0,
  repeatedAlarm: 0,
  jump: 0,
  skewMs: 0,
  budget: 0,
};

/** The scene of a seed: a few calls, and faults of some kinds. */
export function sceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 7919 + 17);
  const some = (most: number) => (chance.of(0.5) ? 0 : most * chance.next());
  const calls = Array.from({ length: 1 + chance.below(2) }, (): Call => {
    const client = chance.pick(["tasks", "tasks", "rounds", "session", "session"] as const);
    const prefix = chance.of(0.2) ? "r-" : "";
    const returns = chance.of(0.2);
    const tool = `plan${returns ? "_back" : ""}${chance.of(0.6) ? "_always" : ""}`;
    const steps = returns ? returning(program(chance), chance) : program(chance);
    return {
      client,
      tool: `${prefix}${tool}`,
      program: client === "rounds" ? inPlace(steps) : steps,
    };
  });
  return {
    seed,
    steps: faultySteps,
    calls,
    faults: {
      death: some(0.05),
      deaths: chance.of(0.15) ? { [chance.pick(["Task", "Session", "KeyRing"])]: 0.3 } : {},
      outage: some(0.01),
      eviction: some(0.05),
      loss: some(0.1),
      requestDeath: some(0.05),
      lateAlarm: some(0.2),
      repeatedAlarm: some(0.1),
      jump: some(0.01),
      skewMs: chance.of(0.5) ? 0 : chance.below(1000),
      budget: chance.pick([1, 2, 4, 12, 40]),
    },
    unreliable: some(0.4),
  };
}
