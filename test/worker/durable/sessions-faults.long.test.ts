import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { SealedRows } from "../../../src/durable/sealed-rows.ts";
import { Session } from "../index.ts";
import { limited, prepare, type Json } from "./client.ts";
import { newWorld, objectOf, pause, prepareFaults, type Server } from "./faults.ts";
import { ELICIT, http, NIGHT, TOLD } from "./plans.ts";
import { SessionClient } from "./session-client.ts";
import { callThrough, WITH_PROGRESS, type Between, type Called } from "./patient-calls.ts";
import {
  dead,
  during,
  instead,
  SessionFaults,
  until,
  VICTIMS,
  watchSessions,
  type Victim,
} from "./session-faults.ts";
import { sessionOf } from "./session-steps.ts";

vi.setConfig({ testTimeout: 180_000 });

/** Sessions and their tasks that die wherever something is awaited. */
prepare();
prepareFaults(watchSessions);

const SAMPLE = { do: "sample", message: "Say it" };

type Call = Parameters<typeof callThrough>[1];

const plan = (...steps: Json[]): Call => ["plan", { steps }, WITH_PROGRESS];

const CALLS: [name: string, call: Call][] = [
  ["an elicitation", plan(ELICIT)],
  ["sampling and roots", plan(SAMPLE, { do: "roots" })],
  ["several at once", plan({ do: "inputs", keys: ["a", "b"] })],
  ["a night", plan(NIGHT, http("GET", "/b"))],
  [
    "several in turn",
    plan(...TOLD, http("PUT", "/a"), ELICIT, ...TOLD, http("GET", "/b"), SAMPLE, ...TOLD),
  ],
  ["input_required", ["rounds", { rounds: 2 }]],
];

interface Trial {
  called: Called;
  faults: SessionFaults;
  world: Server;
}

async function tried(
  call: Call,
  options: { fatal?: number; victim?: Victim } = {},
  between?: (client: SessionClient, faults: SessionFaults) => Between,
): Promise<Trial> {
  const world = newWorld();
  const client = await SessionClient.begin();
  const faults = new SessionFaults(client.id, options);
  faults.isOn = true;
  const called = await during(faults, callThrough(client, call, between?.(client, faults)));
  faults.isOn = false;
  return { called, faults, world };
}

/** The part of an outcome that no fault may change. */
function essence({ called: { answer, events, answeredAgain } }: Trial) {
  const { id: _id, result, ...rest } = answer;
  const messages = events.map(({ message }) => message!);
  return {
    ...rest,
    said: result?.structuredContent?.said ?? result?.content,
    stream: messages
      .filter(({ method, params }) => {
        const isWithdrawn = method === "notifications/cancelled";
        return !isWithdrawn || !answeredAgain.includes(params.requestId);
      })
      .map(({ method = "the answer", params }) => ({ method, params })),
  };
}

/** Each event has come once, and in its order; what was done in the world was done once. */
function expectOnce({ called, world }: Trial, undisturbed: Trial): void {
  const places = called.events.map(({ id }) => id!.split("-").slice(1).map(Number));
  for (const [at, [stream, seq]] of places.entries()) {
    if (at === 0) continue;
    expect(stream).toBe(places[0]![0]);
    expect(seq).toBeGreaterThan(places[at - 1]![1]!);
  }
  const { ids } = called.answer["result"].structuredContent ?? { ids: [] };
  const own = world.seen.filter(({ id }) => ids.includes(id));
  const lines = undisturbed.world.seen.map(({ line }) => line);
  expect([...new Map(own.map(({ id, line }) => [id, line])).values()]).toEqual(lines);
  // One that was on its way when the object died may have been sent again, and no other.
  const repeated = own.filter(({ id }, at) => id === own[at - 1]?.id);
  expect(own.length - lines.length).toBe(repeated.length);
  expect(repeated.length).toBeLessThanOrEqual(1);
  // A call that was lost may have done what it has done.
  const others = world.seen.length - own.length;
  expect(others).toBeLessThanOrEqual((called.times - 1) * lines.length);
}

describe("an object that dies wherever something is awaited", () => {
  test.each(CALLS)("%s", async (_name, call) => {
    const undisturbed = await tried(call);
    expect(undisturbed.called.times).toBe(1);
    const { passed, tasks } = undisturbed.faults;
    expect(tasks).toHaveLength(1);
    let deaths = 0;
    for (const fatal of passed.keys()) {
      const victim = VICTIMS[fatal % 3]!;
      const where = `${passed[fatal]}, place ${fatal}, ${victim}`;
      const trial = await tried(call, { fatal, victim });
      expect({ where, ...essence(trial) }).toEqual({ where, ...essence(undisturbed) });
      expectOnce(trial, undisturbed);
      if (trial.faults.died !== undefined) deaths++;
    }
    expect(deaths).toBeGreaterThan(passed.length * 0.8);
  });
});

describe("objects that are evicted while the client is away, before each message is taken", () => {
  test.each(CALLS.slice(2))("%s", async (_name, call) => {
    const undisturbed = await tried(call);
    const messages = undisturbed.called.events.length;
    // While it has a stream open, an object is not evicted.
    limited({ callStreamMs: 20 });
    const kinds = ["session", "task", "both"];
    for (let at = 0; at <= messages; at++) {
      // One of them before each message in turn; in the last trial, both before every message.
      const whose = at === messages ? "both" : kinds[at % kinds.length];
      let seen = 0;
      const trial = await tried(call, {}, (client, { tasks }) => async (_message, drop) => {
        if (seen++ !== at && at !== messages) return;
        await drop();
        const task = tasks.at(-1);
        if (whose !== "task") await evicted(sessionOf(client.id));
        if (whose !== "session" && task !== undefined) await evicted(objectOf(task));
      });
      const where = `${whose}, message ${at}`;
      expect({ where, ...essence(trial) }).toEqual({ where, ...essence(undisturbed) });
      expectOnce(trial, undisturbed);
      expect(trial.called.times).toBe(1);
    }
  });
});

async function evicted(object: DurableObjectStub): Promise<void> {
  // One that does not run cannot be evicted.
  await runInDurableObject(object, () => {});
  await evictDurableObject(object);
}

test.each([["one after the other"], ["at once"]])(
  "what a task tells its session twice, %s, comes once",
  async (how) => {
    const call = plan(...TOLD, ELICIT, ...TOLD, SAMPLE);
    const undisturbed = await tried(call);
    let count = 0;
    const doubled = ["notified", "progressed"].map((name) =>
      instead(Session.prototype, name, async ({ plain, args }) => {
        count++;
        if (how === "at once") return (await Promise.all([plain(...args), plain(...args)]))[0];
        await plain(...args);
        // It may have ended with the first.
        return (await plain(...args)) || true;
      }),
    );
    const trial = await tried(call).finally(() => doubled.forEach((restore) => restore()));
    expect(count).toBeGreaterThan(4);
    expect(essence(trial)).toEqual(essence(undisturbed));
    expectOnce(trial, undisturbed);
  },
);

describe("a call's notifications are not lost if an object dies before they are stored", () => {
  const trial = async (
    steps: Json[],
    cut: (held: () => boolean, client: SessionClient, faults: SessionFaults) => Promise<unknown>,
    [of, name, isIt]: [of: object, name: string, isIt: (args: any[]) => boolean],
  ) => {
    const undisturbed = await tried(plan(...steps));
    const world = newWorld();
    const client = await SessionClient.begin();
    const faults = new SessionFaults(client.id);
    faults.isOn = true;
    let isHeld = false;
    const restore = instead(of, name, async ({ plain, args }) => {
      if (isHeld || !isIt(args)) return plain(...args);
      isHeld = true;
      return new Promise(() => {});
    });
    const calling = callThrough(client, plan(...steps));
    await during(
      faults,
      cut(() => isHeld, client, faults),
    );
    restore();
    const called = await during(faults, calling);
    expect(essence({ called, faults, world })).toEqual(essence(undisturbed));
    return called;
  };
  const aWhile = async () => {
    for (let times = 0; times < 50; times++) await pause();
  };

  test("the session's, while the call goes on as a task", async () => {
    const cut = async (held: () => boolean, { id }: SessionClient) => {
      await until(held);
      await aWhile();
      await dead(sessionOf(id));
    };
    const isFirstEvent = ([{ texts }]: any[]) => texts !== undefined && "event 1" in texts;
    const called = await trial([...TOLD, ELICIT], cut, [
      SealedRows.prototype,
      "prepare",
      isFirstEvent,
    ]);
    // As long as it is not known that it has been said, the call stays where it is, and dies there.
    expect(called.times).toBe(2);
  });

  test.each([
    ["keeps what it was told", [ELICIT, ...TOLD, http("PUT", "/a"), SAMPLE]],
    ["waits", [ELICIT, ...TOLD, SAMPLE]],
    ["ends", [ELICIT, ...TOLD]],
  ])("the task's, which %s", async (_what, steps) => {
    const cut = async (held: () => boolean, _client: unknown, { tasks }: SessionFaults) => {
      await until(held);
      await aWhile();
      await dead(objectOf(tasks[0]!));
    };
    const called = await trial(steps, cut, [Session.prototype, "notified", () => true]);
    expect(called.times).toBe(1);
  });
});
