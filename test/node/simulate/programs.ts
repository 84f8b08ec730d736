import type { Chance } from "../fuzz/chance.ts";

/** One step of the plan that the test servlet `durable` follows; see test/guests/durable/plan.ts. */
export interface Step {
  do: string;
  message?: string;
  timeout?: number;
  keys?: string[];
  method?: string;
  url?: string;
  ms?: number;
  progress?: number;
  branches?: Step[][];
  /** The tools that follow the branches of a call. */
  tools?: string[];
  /** Of a file that is sent or made. */
  bytes?: number;
  /** Goes on where its client cannot be asked. */
  catches?: boolean;
}

const SECOND = 1000;
const HOUR = 3600 * SECOND;

type Maker = (chance: Chance) => Step;
const http = (method: string): Step => ({ do: "http", method });
const LONG: Step = { do: "sleep", ms: 10 * HOUR };
const DEADLINE: Step = { do: "elicit", timeout: HOUR };

/** Sequences that have failed before, or would be rare. */
const PATTERNS: Step[][] = [
  [LONG, DEADLINE],
  [http("POST"), { do: "elicit" }, http("POST")],
  [{ do: "chance" }, { do: "elicit" }, { do: "chance" }],
  [DEADLINE, http("POST"), { do: "sleep", ms: 900 }],
  [{ do: "sleep", ms: 900 }, http("POST"), LONG, http("POST")],
  // One that looks for something every few seconds.
  Array.from({ length: 90 }, () => ({ do: "sleep", ms: 4000 })),
];

/** A servlet may wait for this long in a call that is no task. */
const IN_PLACE = 20 * SECOND;

/** The steps of random programs, each as likely as it stands here. */
const MAKERS: Maker[] = [
  () => http("POST"),
  () => http("POST"),
  () => http("POST"),
  () => http("GET"),
  () => http("PUT"),
  () => ({ do: "elicit" }),
  () => ({ do: "elicit" }),
  (chance) => ({ do: "elicit", timeout: chance.pick([10 * SECOND + 0.5, 60 * SECOND, HOUR]) }),
  () => ({ do: "sample" }),
  () => ({ do: "roots" }),
  (chance) => ({ do: "inputs", keys: chance.of(0.5) ? ["a", "b"] : ["a", "b", "c"] }),
  (chance) => ({ do: "sleep", ms: chance.pick([1, 30, 900, 4000]) }),
  (chance) => ({ do: "sleep", ms: chance.pick([6 * SECOND, 90 * SECOND, 10 * HOUR]) }),
  () => ({ do: "progress" }),
  () => ({ do: "progress" }),
  () => ({ do: "config" }),
  () => ({ do: "secret" }),
  () => ({ do: "chance" }),
];

/** A random program: what a servlet asks of its host, in which order. */
export function program(chance: Chance, most = 7): Step[] {
  const steps = Array.from({ length: 1 + chance.below(most) }, () => {
    if (!chance.of(0.08)) return chance.pick(MAKERS)(chance);
    const branch = () =>
      Array.from({ length: 1 + chance.below(2) }, () => chance.pick(MAKERS)(chance));
    return { do: "all", branches: [branch(), branch()] };
  });
  if (chance.of(0.15)) steps.splice(chance.below(steps.length), 0, ...chance.pick(PATTERNS));
  if (chance.of(0.05)) steps.push({ do: "fail" });
  return steps;
}

/** The program of a servlet that returns what it asks, once or twice, and is called anew. */
export function returning(steps: Step[], chance: Chance): Step[] {
  const all = [...steps];
  for (let times = 1 + chance.below(2); times > 0; times--) {
    const keys = chance.of(0.5) ? ["a"] : ["a", "b"];
    all.splice(chance.below(Math.min(all.length, 6) + 1), 0, { do: "back", keys });
  }
  // A program that fails does so at the end.
  return all.toSorted((a, b) => Number(a.do === "fail") - Number(b.do === "fail"));
}

/** The program for a client that has to wait while its servlet sleeps. */
export function inPlace(steps: Step[]): Step[] {
  return steps.slice(0, 8).map((step) => ({
    ...step,
    ...(step.ms !== undefined && { ms: Math.min(step.ms, IN_PLACE) }),
    ...(step.branches && { branches: step.branches.map(inPlace) }),
  }));
}

export const ASKS = new Set(["elicit", "tally", "sample", "roots", "inputs", "back"]);

/** The program with steps that change what the servlet keeps, and that ask about it. */
export function keeping(steps: Step[], chance: Chance): Step[] {
  if (chance.of(0.1)) return [{ do: "keep" }, { do: "forever" }];
  const all = [...steps];
  for (let times = 1 + chance.below(3); times > 0; times--) {
    all.splice(chance.below(all.length + 1), 0, { do: chance.of(0.7) ? "keep" : "tally" });
  }
  // Asked of clients that can answer; what fails does so at the end.
  if (!all.some((step) => step.do === "keep")) all.unshift({ do: "keep" });
  return all.toSorted((a, b) => Number(a.do === "fail") - Number(b.do === "fail"));
}

/** The tools of servlets that keep state, by the prefix of their names. */
export const isKeeping = (tool: string): boolean => /^k[scv]-/.test(tool);

/** The tools that the calls of these steps name, those of branches too. */
export const toolsIn = (steps: Step[]): string[] =>
  steps.flatMap(({ tools = [], branches = [] }) => [...tools, ...branches.flatMap(toolsIn)]);

/** The tools that may be called, those of servlets that keep state by themselves; and how many calls within each other. */
interface Callable {
  keeping: readonly string[];
  others: readonly string[];
  levels?: number;
}

/**
 * The program with calls of other servlets, within each other too. `keeping` are tools of servlets that keep state, none of
 * which is called from within itself.
 */
export function calling(
  steps: Step[],
  chance: Chance,
  { keeping: tools, others, levels = 3 }: Callable,
): Step[] {
  const all = [...steps];
  for (let times = 1 + chance.below(2); times > 0; times--) {
    const made = Array.from({ length: 1 + chance.below(2) }, () => {
      const tool = chance.pick([...others, ...tools]);
      const own = program(chance, 3).filter((step) => step.do !== "all");
      const rest = tools.filter((one) => one.slice(0, 2) !== tool.slice(0, 2));
      const deeper = levels > 1 && chance.of(0.4);
      const inner = deeper
        ? calling(own, chance, { keeping: rest, others, levels: levels - 1 })
        : own;
      if (tool === "plan_back") return [tool, returning(inner, chance)] as const;
      return [tool, isKeeping(tool) ? keeping(inner, chance) : inner] as const;
    });
    const branches = made.map(([, branch]) =>
      branch.some((step) => step.do === "forever") ? [{ do: "keep" }] : branch,
    );
    all.splice(chance.below(all.length + 1), 0, {
      do: "call",
      branches,
      tools: made.map(([tool]) => tool),
    });
  }
  // A program that fails does so at the end.
  return all.toSorted((a, b) => Number(a.do === "fail") - Number(b.do === "fail"));
}

/** The steps of clients of schedules, of a webhook and of events, each as likely as it stands here. */
const UNATTENDED_STEPS: Record<"scheduler" | "sender" | "subscriber", Maker[]> = {
  scheduler: [
    (chance) => ({ do: "every", ms: chance.pick([10, 60, 360]) * 60 * SECOND }),
    (chance) => ({ do: "every", ms: chance.pick([10, 60, 360]) * 60 * SECOND }),
    (chance) => ({ do: "at", ms: chance.pick([SECOND, 600 * SECOND, 10 * HOUR]) }),
    (chance) => ({ do: "sleep", ms: chance.pick([100, 60 * SECOND, HOUR]) }),
    (chance) => ({ do: "sleep", ms: chance.pick([20 * 60 * SECOND, 3 * HOUR]) }),
    () => ({ do: "look" }),
    () => ({ do: "cancel" }),
  ],
  sender: [
    () => ({ do: "deliver" }),
    () => ({ do: "deliver" }),
    () => ({ do: "again" }),
    () => ({ do: "forge" }),
    (chance) => ({ do: "sleep", ms: chance.pick([10, 60 * SECOND]) }),
  ],
  subscriber: [
    (chance) => ({
      do: "subscribe",
      keys: [chance.pick(["told", "told_all"])],
      ...(chance.of(0.5) && { ms: 2 * 60 * SECOND }),
    }),
    () => ({ do: "emit", keys: ["told"] }),
    () => ({ do: "emit", keys: ["told"] }),
    () => ({ do: "emit", keys: ["told_all"] }),
    () => ({ do: "emit", keys: ["told_all"] }),
    () => ({ do: "poll" }),
    () => ({ do: "refresh" }),
    (chance) => ({ do: "sleep", ms: chance.pick([100, 10 * SECOND, 600 * SECOND]) }),
  ],
};

/** The program of such a client. */
export const unattended = (client: keyof typeof UNATTENDED_STEPS, chance: Chance): Step[] =>
  Array.from({ length: 2 + chance.below(7) }, () => chance.pick(UNATTENDED_STEPS[client])(chance));

const bytesOf = (chance: Chance) =>
  chance.pick([0, 1, 5000, 5000, 150_000, 150_000, 600_000, 1_300_000, 2_200_000]);

/** The steps of clients of files and of remote servers, each as likely as it stands here. */
const PASSED_STEPS: Record<"copier" | "passer", Maker[]> = {
  copier: [
    (chance) => ({ do: "send", bytes: bytesOf(chance), ms: chance.pick([0, 0, 1000]) }),
    (chance) => ({ do: "send", bytes: bytesOf(chance), ms: chance.pick([0, 0, 1000]) }),
    (chance) => ({ do: "make", bytes: bytesOf(chance), ms: chance.pick([0, 0, 1000]) }),
    (chance) => ({ do: "leave", bytes: bytesOf(chance) }),
    () => ({ do: "check" }),
    (chance) => ({ do: "sleep", ms: chance.pick([SECOND, 14 * 60 * SECOND, 3 * HOUR, 25 * HOUR]) }),
  ],
  passer: [
    (chance) => ({ do: "do", keys: [chance.pick(["modern", "modern", "older"])] }),
    (chance) => ({ do: "ask", keys: [chance.pick(["modern", "older"])] }),
    (chance) => ({ do: "sleep", ms: chance.pick([SECOND, 600 * SECOND, 10 * HOUR]) }),
  ],
};

/** The program of such a client. */
export const passing = (client: keyof typeof PASSED_STEPS, chance: Chance): Step[] =>
  Array.from({ length: 1 + chance.below(5) }, () => chance.pick(PASSED_STEPS[client])(chance));

/** Calls that each add a line to a file; some crash once they have. */
export const logging = (chance: Chance): Step[] =>
  Array.from({ length: 1 + chance.below(4) }, () => ({ do: chance.of(0.2) ? "crash" : "keep" }));

/** The program for a client that cannot be asked: the servlet goes on without its answers. */
export function unanswered(steps: Step[]): Step[] {
  return steps.map((step) => ({
    ...step,
    ...(ASKS.has(step.do) && { catches: true }),
    ...(step.branches && { branches: step.branches.map(unanswered) }),
  }));
}

/** The program for a client that hears nothing before its result. */
export function unheard(steps: Step[]): Step[] {
  return steps
    .filter((step) => step.do !== "progress")
    .map((step) => ({ ...step, ...(step.branches && { branches: step.branches.map(unheard) }) }));
}

/** The program for a test that takes real time: nothing in it takes long. */
export function inRealTime(steps: Step[]): Step[] {
  return steps.slice(0, 8).map(({ timeout: _timeout, ms, branches, ...step }) => ({
    ...step,
    ...(ms !== undefined && { ms: Math.min(ms, SECOND) }),
    ...(branches && { branches: branches.map(inRealTime) }),
  }));
}

/** The program with its steps told apart: each has a label that is in all that it asks. */
export function labelled(steps: Step[], prefix: string, host: string): Step[] {
  return steps.map((step, at) => {
    const label = `${prefix}.${at}`;
    if (step.branches) {
      const branches = step.branches.map((branch, number) =>
        labelled(branch, `${label}.${number}`, host),
      );
      return { ...step, branches };
    }
    return {
      ...step,
      message: label,
      ...(step.do === "http" && { url: `${host}/${label}` }),
      ...(step.do === "progress" && { progress: at + 1 }),
    };
  });
}

/** How long a program says that it waits, in ms. */
export const saidMs = (steps: Step[]): number =>
  steps.reduce(
    (sum, { ms = 0, timeout = 0, branches = [] }) =>
      sum + ms + timeout + branches.reduce((all, branch) => all + saidMs(branch), 0),
    0,
  );

export const described = (steps: Step[]): string =>
  steps
    .map((step) => {
      if (step.do === "all") return `all(${step.branches!.map(described).join(" | ")})`;
      if (step.do === "call") {
        const calls = step.branches!.map((one, nth) => `${step.tools![nth]}: ${described(one)}`);
        return `call(${calls.join(" | ")})`;
      }
      const about = step.method ?? step.bytes ?? step.ms ?? step.timeout ?? step.keys?.join("");
      return about === undefined ? step.do : `${step.do} ${about}`;
    })
    .join(", ");
