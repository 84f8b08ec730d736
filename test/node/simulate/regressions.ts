import type { Faults } from "./object.ts";
import type { Step } from "./programs.ts";
import { NO_FAULTS, type Call, type Scene } from "./scene.ts";

const elicit: Step = { do: "elicit" };
const roll: Step = { do: "chance" };
const http = (method: string): Step => ({ do: "http", method });
const sleep = (ms: number): Step => ({ do: "sleep", ms });
const HOUR = 3_600_000;

/** Scenes that failed once: the smallest call found, and the faults that it takes. */
const FAILED: [
  what: string,
  client: Call["client"],
  program: Step[],
  faults: Partial<Faults>,
  tool?: string,
  more?: Pick<Scene, "hasBucket">,
][] = [
  [
    "a retry of a carried call repeats its requests without their key",
    "rounds",
    [elicit, http("PUT"), http("POST")],
    { loss: 0.3, budget: 4 },
  ],
  [
    "a session's call that dies does not say that the outcome of its request is unknown",
    "session",
    [{ do: "progress" }, http("POST"), sleep(1500)],
    { deaths: { Session: 0.1 }, budget: 3 },
  ],
  ["short sleeps of one run add up", "tasks", Array.from({ length: 80 }, () => sleep(4000)), {}],
  [
    "runs are counted although each has made progress",
    "tasks",
    // So seldom that six deaths in a row without an answer in between are a matter of bad luck alone.
    Array.from({ length: 60 }, () => http("PUT")),
    { deaths: { Task: 0.04 }, budget: 40 },
  ],
  [
    "a question's time is over before it is asked, when its task wakes late",
    "tasks",
    [sleep(10 * HOUR), { ...elicit, timeout: HOUR }],
    { lateAlarm: 0.5, budget: 4 },
  ],
  [
    "a sleep is shorter by the servlet's clock, when its call goes on on another machine",
    "session",
    [sleep(900), sleep(10 * HOUR)],
    { deaths: { Session: 0.3 }, skewMs: 600, budget: 1 },
  ],
  [
    "a servlet that is called anew takes an answer of before for one to what it asks now",
    "rounds",
    [
      { do: "back", keys: ["a"] },
      { do: "inputs", keys: ["a", "b"] },
    ],
    {},
  ],
  [
    "a servlet that is called anew does not tell what it says then, as if that had been told before",
    "session",
    [
      { do: "progress" },
      sleep(10 * HOUR),
      { do: "back", keys: ["a"] },
      elicit,
      { do: "progress" },
      elicit,
    ],
    {},
  ],
  [
    "a retry of a servlet that is called anew sends its PUT with another key",
    "rounds",
    [{ do: "back", keys: ["a"] }, http("PUT"), http("POST")],
    { death: 0.05, loss: 0.1, budget: 3 },
  ],
  [
    "a retry that comes after a question's time repeats its PUT with another key",
    "rounds",
    [{ ...elicit, timeout: 60_000 }, http("PUT"), http("PUT")],
    { requestDeath: 0.1, jump: 0.03, budget: 4 },
  ],
  [
    "a call whose task nobody has heard of does not say that its outcome is unknown",
    "session-tasks",
    [http("POST")],
    { deaths: { Task: 0.3 }, budget: 5 },
  ],
  [
    "a call whose session dies is answered as if it had never begun",
    "session",
    [http("POST")],
    { deaths: { Session: 0.1 }, budget: 3 },
  ],
  [
    "a recorded call whose object dies is answered as if it had never begun",
    "otc",
    [http("POST")],
    { deaths: { CallRecord: 0.1 }, budget: 3 },
  ],
  [
    "a client receives a message that its session has not stored yet, and reconnects with its id",
    "session",
    [...Array.from({ length: 30 }, (): Step => ({ do: "progress" })), elicit],
    { deaths: { Session: 0.04 }, budget: 6 },
  ],
  [
    "a task that waits for room sets its alarm for the time that goes off",
    "tasks",
    Array.from({ length: 12 }, () => http("GET")),
    { full: 0.05, earlyAlarm: 0.5, budget: 40 },
  ],
  [
    "a question whose time ends between two milliseconds sets its alarm for the time that goes off",
    "tasks",
    Array.from({ length: 12 }, () => ({ ...elicit, timeout: 2000.5 })),
    { earlyAlarm: 0.5, budget: 40 },
  ],
  [
    "a question's time is over at the time that goes off, for which its task is run again",
    "tasks",
    Array.from({ length: 12 }, () => ({ ...elicit, timeout: 2000 })),
    { earlyAlarm: 0.5, budget: 40 },
  ],
  [
    "a task whose alarm is lost waits for ever",
    "tasks",
    [sleep(10 * HOUR), { ...elicit, timeout: HOUR }, sleep(10 * HOUR)],
    { lostAlarm: 0.3, budget: 3 },
  ],
  [
    "a session's call whose task has lost its alarm waits for ever",
    "session",
    [sleep(10 * HOUR), { ...elicit, timeout: HOUR }],
    { lostAlarm: 0.3, budget: 3 },
  ],
  [
    "a task waits for as long as the clock was set back",
    "tasks",
    [sleep(HOUR), { ...elicit, timeout: HOUR }, sleep(6000), http("GET"), sleep(HOUR)],
    { jumpBack: 0.05, budget: 1 },
  ],
  [
    "a servlet that keeps state gives its result without what it has said, as a message was lost",
    "sessionless",
    [...Array.from({ length: 12 }, (): Step => ({ do: "progress" })), { do: "keep" }],
    { loss: 0.1, budget: 2 },
  ],
  [
    "a call inside sends its POST again, as a repeated request finds no room and becomes a task",
    "tasks",
    [elicit, { do: "call", branches: [[http("POST")]], tools: ["plan"] }],
    { killAt: { event: 29, kind: "Worker" }, full: 0.1, budget: 6 },
    "plan",
  ],
  [
    "bytes in the bucket are deleted, although the object has recorded them before it died",
    "copier",
    [
      { do: "send", bytes: 5000 },
      { do: "send", bytes: 5000 },
    ],
    { killAt: { event: 56, kind: "Transfers" } },
    "copying",
    { hasBucket: true },
  ],
  ["two ways to go on share Math.random", "rounds", [roll, elicit, roll], {}],
];

function toolFor(client: Call["client"], program: Step[]): string {
  if (program.some((step) => step.do === "back")) return "plan_back";
  if (program.some((step) => step.do === "keep")) return "kc-plan";
  return client === "rounds" ? "plan" : "plan_always";
}

/** Each with some seeds: a change of the simulation changes what one seed does. */
export const regressions = (seeds: number): [what: string, scenes: Scene[]][] =>
  FAILED.map(([what, client, program, faults, tool = toolFor(client, program), more]) => [
    what,
    Array.from({ length: seeds }, (_, at) => ({
      ...more,
      seed: at + 1,
      steps: 600,
      calls: [{ client, tool, program }],
      faults: { ...NO_FAULTS, ...faults },
      unreliable: 0,
    })),
  ]);
