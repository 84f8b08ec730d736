import type { Step } from "./programs.ts";
import { NO_FAULTS, type Call, type Scene } from "./scene.ts";
import { play, type Outcome } from "./simulate.ts";

const keep: Step = { do: "keep" };
const tally: Step = { do: "tally" };
const post: Step = { do: "http", method: "POST" };
const call = (client: Call["client"], tool: string, program: Step[], caller = 0): Call => ({
  client,
  tool,
  program,
  caller,
});

const send: Step = { do: "send", bytes: 5000 };
const make: Step = { do: "make", bytes: 600_000 };

/** Small scenes, each of which is played with a death at each of its events: first those of servlets that keep state. */
const SCENES: (Call[] | Pick<Scene, "calls" | "hasBucket">)[] = [
  [call("rounds", "kc-plan", [keep, tally, post, keep])],
  [call("tasks", "kc-plan_always", [post, keep, tally])],
  [call("session", "ks-plan", [keep, post, tally])],
  [call("session-tasks", "ks-plan_always", [keep, tally])],
  [
    call("sessionless", "kv-plan", [keep, { do: "sleep", ms: 30 }, keep], 0),
    call("sessionless", "kv-plan", [keep, post], 1),
  ],
  [
    call("tasks", "kc-plan_always", [
      keep,
      {
        do: "call",
        branches: [[post, keep, { do: "elicit" }], [post]],
        tools: ["kv-plan", "plan"],
      },
      keep,
    ]),
  ],
  // Each holds the state that the other waits for.
  [
    call("tasks", "kc-plan_always", [keep, { do: "call", branches: [[keep]], tools: ["kv-plan"] }]),
    call("tasks", "kv-plan_always", [keep, { do: "call", branches: [[keep]], tools: ["kc-plan"] }]),
  ],
  [call("files", "filing-do", [keep, { do: "crash" }, keep]), call("files", "filing-do", [keep])],
  [call("copier", "copying", [send])],
  [call("copier", "always", [make])],
  { calls: [call("copier", "copying", [send])], hasBucket: true },
  { calls: [call("copier", "always", [make])], hasBucket: true },
  [call("passer", "remoting", [{ do: "ask", keys: ["modern"] }])],
  [call("passer", "always", [{ do: "ask", keys: ["older"] }])],
  [call("passer", "kept", [{ do: "do", keys: ["modern"] }])],
  [call("passer", "kept", [{ do: "ask", keys: ["older"] }])],
];

const KINDS = ["ServletState", "Task", "Session", "States", "Transfers", "Worker"];
/** Later ones are those of a client that looks at a task which is over. */
const MOST_EVENTS = 250;

/**
 * Plays each scene once without faults, and then with the death of all of one kind before each of its events: of each
 * kind, or before each `every`th event of one kind in turn.
 */
export async function* killed(every?: number): AsyncGenerator<Outcome> {
  for (const [at, given] of SCENES.entries()) {
    const own = Array.isArray(given) ? { calls: given } : given;
    const scene: Scene = { ...own, seed: at + 1, steps: 10_000, faults: NO_FAULTS, unreliable: 0 };
    const whole = await play(scene);
    yield whole;
    const events = Math.min(whole.events, MOST_EVENTS);
    const kinds = KINDS.filter((kind) =>
      whole.trace.some((line) => line.includes(kind === "Worker" ? "" : ` ${kind}`)),
    );
    // Scenes begin at different events, so that not all leave out the same ones.
    for (let event = 1 + (at % (every ?? 1)), turn = 0; event <= events; event += every ?? 1) {
      const some = every === undefined ? kinds : [kinds[turn++ % kinds.length]!];
      for (const kind of some) {
        yield await play({ ...scene, faults: { ...NO_FAULTS, killAt: { event, kind } } });
      }
    }
  }
}
