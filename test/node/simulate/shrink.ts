import type { Step } from "./programs.ts";
import type { Scene } from "./scene.ts";
import { play, type Outcome } from "./simulate.ts";

/** Runs that may be tried while one is made smaller. */
const MOST_TRIES = 400;

/**
 * The smallest scene found that breaks the same rule: without calls, steps and faults that it can do
 * without. What is left out changes all that follows, so each candidate is tried with a few seeds.
 */
export async function shrunken(
  failing: Outcome,
  isSame: (outcome: Outcome) => boolean,
): Promise<Outcome> {
  let best = failing;
  let left = MOST_TRIES;
  const improves = async (scene: Scene): Promise<boolean> => {
    for (const seed of [best.scene.seed, 1, 2, 3, 4, 5, 6, 7]) {
      if (left-- <= 0) return false;
      const outcome = await play({ ...scene, seed });
      if (!isSame(outcome)) continue;
      best = outcome;
      return true;
    }
    return false;
  };
  const improved = async (): Promise<boolean> => {
    for (const scene of smaller(best.scene)) if (await improves(scene)) return true;
    return false;
  };
  while (await improved());
  return best;
}

/** The scene with one thing less, in each way. */
function* smaller(scene: Scene): Generator<Scene> {
  const { calls, faults } = scene;
  for (const at of calls.keys()) {
    if (calls.length > 1) yield { ...scene, calls: calls.toSpliced(at, 1) };
  }
  for (const [at, call] of calls.entries()) {
    for (const program of shorter(call.program)) {
      if (program.length > 0) yield { ...scene, calls: calls.with(at, { ...call, program }) };
    }
  }
  for (const [name, value] of Object.entries(faults)) {
    if (typeof value === "number" && value > 0 && name !== "budget") {
      yield { ...scene, faults: { ...faults, [name]: 0 } };
    }
  }
  if (faults.budget > 1)
    yield { ...scene, faults: { ...faults, budget: Math.floor(faults.budget / 2) } };
  if (scene.unreliable > 0) yield { ...scene, unreliable: 0 };
}

function* shorter(program: Step[]): Generator<Step[]> {
  const { length } = program;
  if (length > 3) yield program.slice(0, length / 2);
  if (length > 3) yield program.slice(length / 2);
  for (const at of program.keys()) yield program.toSpliced(at, 1);
  for (const [at, { branches }] of program.entries()) {
    for (const branch of branches ?? []) yield program.toSpliced(at, 1, ...branch);
  }
}
