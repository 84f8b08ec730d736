import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SealedRows } from "../../../src/durable/sealed-rows.ts";
import { limits } from "../../../src/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { Session, Task } from "../index.ts";
import { accept, clock, limited, prepare, type Json } from "./client.ts";
import { DEAD, newWorld, objectOf, pause, type Instance, type Server } from "./faults.ts";
import { Events, SessionClient } from "./session-client.ts";
import {
  callThrough,
  dead,
  during,
  isLost,
  SessionFaults,
  sessionOf,
  watchSessions,
  type Between,
  type Called,
  type Victim,
} from "./session-faults.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Sessions and their tasks that die wherever something is awaited. */
prepare();

const { manifest } = bundle.servlets.find(({ name }) => name === "durable")!;
const undo: (() => void)[] = [];
beforeAll(async () => {
  const { fetch } = globalThis;
  // To look at each instance that is put back would take as long as all the rest.
  manifest.isolation = "fresh";
  undo.push(await watchSessions(), () => (globalThis.fetch = fetch));
});
afterAll(() => undo.forEach((one) => one()));

const http = (method: string, path: string) => ({
  do: "http",
  method,
  url: `https://world.example${path}`,
});
const ELICIT = { do: "elicit", message: "Who?" };
const SAMPLE = { do: "sample", message: "Say it" };
const NAP = { do: "sleep", ms: 100 };
const NIGHT = { do: "sleep", ms: 10 * 3_600_000 };
const TOLD = [
  { do: "log", message: "logged" },
  { do: "progress", message: "half" },
];

type Call = Parameters<typeof callThrough>[1];
const WITH_PROGRESS = { _meta: { progressToken: "p" } };
const plan = (...steps: Json[]): Call => ["plan", { steps }, WITH_PROGRESS];

/** Each with what its places are taken with: whose death it is there. */
const CALLS: [name: string, call: Call, victims: "each" | "in turn"][] = [
  ["an elicitation", plan(ELICIT), "each"],
  ["sampling and roots", plan(SAMPLE, { do: "roots" }), "in turn"],
  ["several at once", plan({ do: "inputs", keys: ["a", "b"] }), "in turn"],
  ["a night", plan(NIGHT, http("GET", "/b")), "in turn"],
  [
    "several in turn",
    plan(...TOLD, http("PUT", "/a"), ELICIT, ...TOLD, http("GET", "/b"), SAMPLE, ...TOLD),
    "in turn",
  ],
  ["input_required", ["rounds", { rounds: 2 }], "in turn"],
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

/** What must be the same, whatever happens on the way. */
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

const ALL = ["it", "other", "all"] as const;

describe("an object that dies wherever something is awaited", () => {
  test.each(CALLS)("%s", async (_name, call, victims) => {
    const undisturbed = await tried(call);
    expect(undisturbed.called.times).toBe(1);
    const { passed, tasks } = undisturbed.faults;
    expect(tasks).toHaveLength(1);
    let deaths = 0;
    for (const fatal of passed.keys()) {
      for (const victim of victims === "each" ? ALL : [ALL[fatal % 3]!]) {
        const where = `${passed[fatal]}, place ${fatal}, ${victim}`;
        const trial = await tried(call, { fatal, victim });
        expect({ where, ...essence(trial) }).toEqual({ where, ...essence(undisturbed) });
        expectOnce(trial, undisturbed);
        if (trial.faults.died !== undefined) deaths++;
      }
    }
    const trials = passed.length * (victims === "each" ? 3 : 1);
    expect(deaths).toBeGreaterThan(trials * 0.8);
  });
});

describe("objects that are evicted while the client is away, before each message is taken", () => {
  test.each(CALLS.slice(2).map(([name, call]) => [name, call] as const))("%s", async (_n, call) => {
    const undisturbed = await tried(call);
    const messages = undisturbed.called.events.length;
    // While it has a stream open, an object is not evicted.
    limited({ callStreamMs: 20 });
    for (let at = 0; at <= messages; at++) {
      for (const whose of ["session", "task", "both"]) {
        let seen = 0;
        const trial = await tried(call, {}, (client, { tasks }) => async (_message, drop) => {
          // At the last it is before each of them.
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
    }
  });
});

async function evicted(object: DurableObjectStub): Promise<void> {
  // One that does not run cannot be evicted.
  await runInDurableObject(object, () => {});
  await evictDurableObject(object);
}

/** A call that waits for its client. */
async function waiting(steps: Json[]) {
  const world = newWorld();
  const client = await SessionClient.begin();
  const faults = new SessionFaults(client.id);
  faults.isOn = true;
  const events = new Events(await client.call("plan", { steps }, WITH_PROGRESS, "the call"));
  let asked = await events.next();
  while (asked?.message?.["id"] === undefined) asked = await events.next();
  const [task] = faults.tasks;
  // It has looked whether its session knows what it asks, and does not so again.
  clock.aheadMs += limits.ownerMs;
  await runInDurableObject(objectOf(task!), (instance) =>
    (instance as unknown as Instance).alarm(),
  );
  return { world, client, faults, events, last: asked.id!, asked: asked.message, task: task! };
}

/** What is kept in an object, but for what belongs to nobody. */
const keptIn = (object: DurableObjectStub) =>
  runInDurableObject(object, async (_instance, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'",
      )
      .toArray();
    return { tables: tables.map(({ name }) => name), alarm: await storage.getAlarm() };
  });
const NOTHING = { tables: [], alarm: null };

const until = async (done: () => boolean | Promise<boolean>) => {
  for (let times = 0; !(await done()); times++) {
    if (times > 3000) throw new Error("it does not come");
    await pause();
  }
};
const isGone = async (task: string) => (await keptIn(objectOf(task))).tables.length === 0;

type Anything = (...args: any[]) => any;

interface Invocation {
  plain: Anything;
  args: any[];
  /** Of the object. */
  state: DurableObjectState;
}

/** Has a method of an object done otherwise until `restore`. */
function instead(of: object, name: string, work: (invocation: Invocation) => unknown) {
  const methods = of as Record<string, Anything>;
  const own = methods[name]!;
  methods[name] = function (this: { ctx: DurableObjectState }, ...args) {
    return work({ plain: (...given) => own.apply(this, given), args, state: this.ctx });
  };
  return { restore: () => void (methods[name] = own) };
}

test.each([["one after the other"], ["at once"]])(
  "what a task tells its session twice, %s, comes once",
  async (how) => {
    const call = plan(...TOLD, ELICIT, ...TOLD, SAMPLE);
    const undisturbed = await tried(call);
    let count = 0;
    const doubled = ["told", "progressed"].map((name) =>
      instead(Session.prototype, name, async ({ plain, args }) => {
        count++;
        if (how === "at once") return (await Promise.all([plain(...args), plain(...args)]))[0];
        await plain(...args);
        // It may have ended with the first.
        return (await plain(...args)) || true;
      }),
    );
    const trial = await tried(call).finally(() => doubled.forEach(({ restore }) => restore()));
    expect(count).toBeGreaterThan(4);
    expect(essence(trial)).toEqual(essence(undisturbed));
    expectOnce(trial, undisturbed);
  },
);

describe("what a call says is not lost where an object dies before it is there", () => {
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
    const { restore } = instead(of, name, async ({ plain, args }) => {
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
    const called = await trial(steps, cut, [Session.prototype, "told", () => true]);
    expect(called.times).toBe(1);
  });
});

describe("a call that waits", () => {
  const steps = [ELICIT, http("PUT", "/a")];
  const ANSWER = accept("Ada");

  test.each([["first"], ["last"]])(
    "is cancelled and answered at once: the cancel %s",
    async (when) => {
      const errors = vi.spyOn(console, "error").mockImplementation(() => {});
      const { world, client, faults, events, asked, task } = await waiting(steps);
      const cancel = () => client.notify("notifications/cancelled", { requestId: "the call" });
      const answer = () => client.answer(asked!["id"], ANSWER);
      const [one, other] = await Promise.all(
        when === "first" ? [cancel(), answer()] : [answer(), cancel()],
      );
      expect([202, 400]).toContain((when === "first" ? other : one).status);
      const rest = await during(faults, events.rest());
      for (const { message } of rest) {
        expect(message).toMatchObject({
          method: "notifications/cancelled",
          params: { requestId: asked!["id"] },
        });
      }
      await during(
        faults,
        until(() => isGone(task)),
      );
      expect(await keptIn(objectOf(task))).toEqual(NOTHING);
      expect(world.seen).toEqual([]);
      expect(errors).not.toHaveBeenCalled();
      expect(await (await client.request("ping")).json()).toMatchObject({ result: {} });
    },
  );

  test("goes with its session, and so does its task", async () => {
    const { world, client, faults, events, task } = await waiting(steps);
    expect((await client.end()).status).toBe(204);
    await events.rest();
    await during(
      faults,
      until(() => isGone(task)),
    );
    expect(await keptIn(objectOf(task))).toEqual(NOTHING);
    expect(await keptIn(sessionOf(client.id))).toEqual(NOTHING);
    expect((await client.request("ping")).status).toBe(404);
    expect((await client.end()).status).toBe(404);
    expect(world.seen).toEqual([]);
  });

  test("goes with its session wherever that, or the task, dies as the session ends", async () => {
    const trial = async (fatal: number, victim: Victim) => {
      const { world, client, faults, events, task } = await waiting(steps);
      faults.aim({ fatal, victim });
      const ending = async () => {
        for (;;) {
          const { status } = await client.end();
          if (status < 500) return status;
        }
      };
      expect([204, 404]).toContain(await during(faults, ending()));
      await events.rest().catch(() => {});
      const where = `${faults.died}`;
      await during(
        faults,
        until(() => isGone(task)),
      ).catch(() => {});
      expect({ where, kept: await keptIn(objectOf(task)) }).toEqual({ where, kept: NOTHING });
      const kept = await keptIn(sessionOf(client.id));
      expect({ where, kept }).toEqual({ where, kept: NOTHING });
      expect(world.seen).toEqual([]);
      return faults;
    };
    const { passed } = await trial(-1, "it");
    expect(passed.length).toBeGreaterThan(3);
    for (const fatal of passed.keys()) for (const victim of ALL) await trial(fatal, victim);
  });

  test("ends while its session cannot be told", async () => {
    const { world, client, faults, events, asked, last, task } = await waiting(steps);
    let deaths = 0;
    const { restore } = instead(Session.prototype, "progressed", async ({ plain, args, state }) => {
      // For more than one alarm of the task.
      if (world.seen.length === 0 || deaths === 6) return plain(...args);
      deaths++;
      state.abort(DEAD);
      return new Promise(() => {});
    });
    try {
      const rest = events.rest().catch((error: unknown) => error);
      expect((await client.answer(asked!["id"], ANSWER)).status).toBe(202);
      await during(
        faults,
        until(() => deaths === 6),
      );
      expect(await rest).toBeInstanceOf(Error);
      await during(
        faults,
        until(() => isGone(task)),
      );
      const [end, ...more] = messagesIn(await new Events(await client.listen(last)).rest());
      const said = ["Ada", [200, "answer to PUT /a"]];
      expect(end).toMatchObject({ id: "the call", result: { structuredContent: { said } } });
      expect(more).toEqual([]);
      expect(world.seen).toHaveLength(1);
    } finally {
      restore();
    }
  });

  test("is told apart from a new one that wakes its session", async () => {
    const { client, faults, asked, last } = await waiting([ELICIT]);
    await dead(sessionOf(client.id));
    // The new one is there while the session still asks what has become of the other.
    const { restore } = instead(Task.prototype, "get", async ({ plain, args }) => {
      for (let times = 0; times < 20; times++) await pause();
      return plain(...args);
    });
    const other = new Events(await client.call("plan", { steps: [NAP, ELICIT] }, {}, "another"));
    const fresh = await during(faults, other.message());
    restore();
    expect(fresh).toMatchObject({ method: "elicitation/create" });
    const stream = new Events(await client.listen(last));
    for (const [events, id] of [
      [other, fresh["id"]],
      [stream, asked!["id"]],
    ] as const) {
      expect((await client.answer(id, ANSWER)).status).toBe(202);
      const messages = await during(faults, events.rest().then(messagesIn));
      expect(messages).toMatchObject([
        { result: { structuredContent: { said: expect.arrayContaining(["Ada"]) } } },
      ]);
    }
  });
});

const messagesIn = (events: { message?: Json }[]) => events.flatMap(({ message }) => message ?? []);

describe("a call whose session dies before its task is", () => {
  /** Calls, and lets the session die when the task is about to be made; `late` is when that goes on. */
  async function cut(late: (client: SessionClient, last: string) => Promise<unknown>) {
    const world = newWorld();
    const client = await SessionClient.begin();
    const faults = new SessionFaults(client.id);
    faults.isOn = true;
    const gate = { isOpen: false };
    let isMaking = false;
    const { restore } = instead(Task.prototype, "create", async ({ plain, args }) => {
      isMaking = true;
      while (!gate.isOpen) await pause();
      return plain(...args);
    });
    try {
      const steps = [http("PUT", "/a"), ELICIT, http("PUT", "/b")];
      const events = new Events(await client.call("plan", { steps }, {}, "the call"));
      const { id: last } = (await events.next())!;
      await until(() => isMaking);
      await dead(sessionOf(client.id));
      await expect(events.next()).rejects.toThrow();
      await during(faults, late(client, last!));
      gate.isOpen = true;
      const [task] = faults.tasks;
      return { world, client, faults, last: last!, task };
    } finally {
      gate.isOpen = true;
      restore();
    }
  }

  test("is lost, which its client is told; the task that is made after that goes", async () => {
    const { world, client, faults } = await cut(async (same, last) => {
      const messages = messagesIn(await new Events(await same.listen(last)).rest());
      expect(messages).toHaveLength(1);
      expect(messages[0]).toMatchObject({ id: "the call", error: { code: -32603 } });
      expect(isLost(messages[0]!)).toBe(true);
    });
    await during(
      faults,
      until(() => faults.tasks.length > 0),
    );
    await during(
      faults,
      until(() => isGone(faults.tasks[0]!)),
    );
    expect(await keptIn(objectOf(faults.tasks[0]!))).toEqual(NOTHING);
    expect(world.seen.map(({ line }) => line)).toEqual(["PUT /a"]);
    expect(await rowsOf(client, "calls")).toEqual([]);
    expect(await rowsOf(client, "asks")).toEqual([]);
  });

  test("goes on where the task is made before the session is there again", async () => {
    const { world, client, faults, last } = await cut(async () => {});
    await during(
      faults,
      until(() => faults.tasks.length > 0),
    );
    const stream = new Events(await during(faults, client.listen(last)));
    const asked = await during(faults, stream.message());
    expect(asked).toMatchObject({ method: "elicitation/create" });
    expect((await client.answer(asked["id"], accept("Ada"))).status).toBe(202);
    const [end] = messagesIn(await during(faults, stream.rest()));
    expect(end).toMatchObject({
      id: "the call",
      result: { structuredContent: { said: [{}, "Ada", {}] } },
    });
    expect(world.seen.map(({ line }) => line)).toEqual(["PUT /a", "PUT /b"]);
  });
});

const rowsOf = (client: SessionClient, table: string) =>
  runInDurableObject(sessionOf(client.id), (_instance, { storage }) =>
    storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
  );
