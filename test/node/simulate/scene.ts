import { Chance } from "../fuzz/chance.ts";
import type { Faults } from "./object.ts";
import {
  calling,
  inPlace,
  isKeeping,
  keeping,
  logging,
  passing,
  program,
  returning,
  unanswered,
  unheard,
  unattended,
  type Step,
} from "./programs.ts";

/** The plan of one run: it follows from its seed, and can be made smaller. */
export interface Scene {
  seed: number;
  /** Events while which there may be faults. */
  steps: number;
  calls: Call[];
  faults: Faults;
  /** How often the internet does something else than to answer. */
  unreliable: number;
  /** True if callers have room for few bytes of files, and if these are in a bucket. */
  isNarrow?: boolean;
  hasBucket?: boolean;
  /** In which the servlet that follows plans is written, if not in TypeScript. */
  language?: "python";
}

export interface Call {
  client: "tasks" | "rounds" | "session" | "files" | Other | Unattended | "copier" | "passer";
  /**
   * "" for clients of what is unattended, whose programs have no tool; for those of files and of remote servers, the
   * prefix of their servlet.
   */
  tool: string;
  program: Step[];
  /** Who calls, by number; calls without one have the same caller. */
  caller?: number;
}

/**
 * Clients of every fourth seed: a task of 2025-11-25, a session whose client cannot be asked, a call without a
 * session, and one of Open Tool Calling.
 */
const OTHERS = ["session-tasks", "mute", "sessionless", "otc"] as const;
type Other = (typeof OTHERS)[number];
/** Clients of the servlet `unattended`: of its schedules, its webhook and its events. */
const UNATTENDED = ["scheduler", "sender", "subscriber"] as const;
type Unattended = (typeof UNATTENDED)[number];

/** What a client is a client of that has a servlet of its own; undefined for one of servlets that follow plans. */
export function ownWorldOf({
  client,
}: Pick<Call, "client">): "unattended" | "transfers" | "remote" | undefined {
  if (client === "copier") return "transfers";
  if (client === "passer") return "remote";
  return UNATTENDED.some((one) => one === client) ? "unattended" : undefined;
}

/** A call of one of the other clients. */
function otherCall(chance: Chance): Call {
  const client = chance.pick(OTHERS);
  const steps = program(chance);
  if (client === "session-tasks") return { client, tool: "plan_always", program: steps };
  const tool = chance.pick(["plan", "plan_always"]);
  const alone = unanswered(client === "mute" ? steps : inPlace(steps));
  return { client, tool, program: client === "otc" ? unheard(alone) : alone };
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
  earlyAlarm: 0,
  lostAlarm: 0,
  repeatedAlarm: 0,
  jump: 0,
  jumpBack: 0,
  full: 0,
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
  // From random numbers of its own, so that the other seeds stay what they were.
  const others = new Chance(seed * 104_729 + 5);
  if (seed % 4 === 1) calls.push(otherCall(others));
  const isOtc = calls.some(({ client }) => client === "otc");
  const records: Faults["deaths"] = isOtc && others.of(0.3) ? { CallRecord: 0.3 } : {};
  return {
    seed,
    steps: faultySteps,
    calls,
    faults: {
      death: some(0.05),
      deaths: {
        ...(chance.of(0.15) && { [chance.pick(["Task", "Session", "KeyRing"])]: 0.3 }),
        ...records,
      },
      outage: some(0.01),
      eviction: some(0.05),
      loss: some(0.1),
      requestDeath: some(0.05),
      lateAlarm: some(0.2),
      repeatedAlarm: some(0.1),
      // A call_id is forgotten after an hour.
      jump: some(0.01) * (isOtc ? 0 : 1),
      skewMs: chance.of(0.5) ? 0 : chance.below(1000),
      budget: chance.pick([1, 2, 4, 12, 40]),
      ...wrongTimes(seed, calls),
    },
    unreliable: some(0.4),
  };
}

/** Faults of alarms and clocks, from random numbers of their own. */
function wrongTimes(seed: number, calls: readonly Call[]) {
  const chance = new Chance(seed * 65_537 + 11);
  const sometimes = (most: number) => (chance.of(0.6) ? 0 : most * chance.next());
  return {
    earlyAlarm: sometimes(0.3),
    lostAlarm: sometimes(0.2),
    // A call_id is forgotten after an hour.
    jumpBack: calls.some(({ client }) => client === "otc") ? 0 : sometimes(0.003),
    full: sometimes(0.02),
  };
}

/** Clients that call servlets which keep state. */
const KEEPERS = [
  "tasks",
  "tasks",
  "rounds",
  "session",
  "session-tasks",
  "sessionless",
  "files",
] as const;

/** The scene of a seed in which servlets keep state and files, and callers share their scopes. */
export function statefulSceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 6007 + 3);
  const some = (most: number) => (chance.of(0.5) ? 0 : most * chance.next());
  const calls = Array.from({ length: 2 + chance.below(3) }, (): Call => {
    const client = chance.pick(KEEPERS);
    const caller = chance.below(2);
    if (client === "files") return { client, caller, tool: "filing-do", program: logging(chance) };
    const steps = keeping(program(chance, 4), chance);
    const prefix = chance.pick(["ks", "kc", "kc", "kv"]);
    const tool = `${prefix}-plan${chance.of(0.6) || client === "session-tasks" ? "_always" : ""}`;
    if (client === "sessionless")
      return { client, caller, tool, program: unanswered(inPlace(steps)) };
    return { client, caller, tool, program: client === "rounds" ? inPlace(steps) : steps };
  });
  return {
    seed,
    steps: faultySteps,
    calls,
    faults: {
      ...NO_FAULTS,
      death: some(0.05),
      deaths: chance.of(0.5) ? { [chance.pick(["ServletState", "Task", "Session"])]: 0.2 } : {},
      outage: some(0.01),
      eviction: some(0.05),
      loss: some(0.1),
      requestDeath: some(0.05),
      lateAlarm: some(0.1),
      repeatedAlarm: some(0.1),
      skewMs: chance.of(0.5) ? 0 : chance.below(1000),
      budget: chance.pick([1, 2, 4, 12, 40]),
      ...wrongTimes(seed, calls),
    },
    unreliable: some(0.2),
  };
}

/** The tools of servlets that keep state. */
const KEEPING = ["kc-plan", "kv-plan", "ks-plan"];

/** The scene of a seed in which servlets call others, some of which keep state. */
export function callingSceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 4099 + 29);
  const scene = statefulSceneOf(seed, faultySteps);
  const calls = Array.from({ length: 1 + chance.below(2) }, (): Call => {
    const client = chance.pick(["tasks", "tasks", "rounds", "session", "sessionless"] as const);
    const caller = chance.below(2);
    // A call that does not last cannot wait for state that another one has, which may wait for its own.
    const lasts = client === "tasks" || client === "session";
    const tool = chance.pick(["plan", "r-plan", ...(lasts ? KEEPING : [])]);
    const kept = KEEPING.filter((one) => lasts && one.slice(0, 2) !== tool.slice(0, 2));
    const plain = ["plan", "plan", "r-plan", ...(client === "sessionless" ? [] : ["plan_back"])];
    const own = program(chance, 3);
    const steps = calling(own, chance, { keeping: kept, others: plain });
    const whole = isKeeping(tool) ? keeping(steps, chance) : steps;
    const said = client === "sessionless" ? unanswered(inPlace(whole)) : whole;
    return {
      client,
      caller,
      tool: `${tool}${lasts && chance.of(0.6) ? "_always" : ""}`,
      program: client === "rounds" ? inPlace(said) : said,
    };
  });
  const faults = { ...scene.faults, ...wrongTimes(seed, calls) };
  // From random numbers of its own.
  const room = new Chance(seed * 31_337 + 7);
  if (room.of(0.4)) faults.full = 0.1 * room.next();
  return { ...scene, calls, faults };
}

/** The scene of a seed with schedules, a webhook and events, and runs for which no client waits. */
export function unattendedSceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 5653 + 41);
  const calls = Array.from({ length: 1 + chance.below(3) }, (): Call => {
    const client = chance.pick(UNATTENDED);
    return { client, caller: chance.below(2), tool: "", program: unattended(client, chance) };
  });
  const faults = faultsOf(seed, chance, ["Schedules", "Hooks", "Events", "Task"]);
  return {
    seed,
    steps: faultySteps,
    calls,
    faults,
    unreliable: chance.of(0.5) ? 0 : 0.4 * chance.next(),
  };
}

/** Faults of scenes in which clients send requests that are not calls. */
function faultsOf(seed: number, chance: Chance, dying: readonly string[]): Faults {
  const some = (most: number) => (chance.of(0.5) ? 0 : most * chance.next());
  return {
    ...NO_FAULTS,
    death: some(0.05),
    deaths: chance.of(0.5) ? { [chance.pick(dying)]: 0.2 } : {},
    outage: some(0.01),
    eviction: some(0.05),
    loss: some(0.1),
    requestDeath: some(0.05),
    lateAlarm: some(0.2),
    repeatedAlarm: some(0.1),
    jump: some(0.01),
    skewMs: chance.of(0.5) ? 0 : chance.below(1000),
    budget: chance.pick([1, 2, 4, 12, 40]),
    ...wrongTimes(seed, []),
  };
}

/** The scene of a seed in which clients send files, and servlets read and make them. */
export function transfersSceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 3571 + 19);
  const calls = Array.from({ length: 1 + chance.below(2) }, (_, caller): Call => {
    const tool = chance.pick(["copying", "always"]);
    return { client: "copier", caller, tool, program: passing("copier", chance) };
  });
  const faults = faultsOf(seed, chance, ["Transfers", "Task", "Worker"]);
  const [isNarrow, hasBucket] = [chance.of(0.3), chance.of(0.4)];
  return { seed, steps: faultySteps, calls, faults, unreliable: 0, isNarrow, hasBucket };
}

/** The scene of a seed in which servlets pass calls on to MCP servers of others. */
export function remoteSceneOf(seed: number, faultySteps: number): Scene {
  const chance = new Chance(seed * 2633 + 7);
  const calls = Array.from({ length: 1 + chance.below(2) }, (_, caller): Call => {
    const tool = chance.pick(["remoting", "always", "kept"]);
    return { client: "passer", caller, tool, program: passing("passer", chance) };
  });
  const faults = faultsOf(seed, chance, ["States", "Task", "ServletState"]);
  const unreliable = chance.of(0.5) ? 0 : 0.3 * chance.next();
  return { seed, steps: faultySteps, calls, faults, unreliable };
}
