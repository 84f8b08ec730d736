import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { SessionStreams } from "../../../src/mcp/legacy/session-streams.ts";
import { limits } from "../../../src/limits.ts";
import { Session, Task } from "../index.ts";
import { accept, clock, prepare, type Json } from "./client.ts";
import { DEAD, newWorld, objectOf, pause, prepareFaults, type Instance } from "./faults.ts";
import { ELICIT, http, TOLD } from "./plans.ts";
import { Events, SessionClient } from "./session-client.ts";
import {
  dead,
  during,
  FAR,
  instead,
  isLost,
  SessionFaults,
  until,
  VICTIMS,
  watchSessions,
  WITH_PROGRESS,
  type Victim,
} from "./session-faults.ts";
import { sessionOf } from "./session-steps.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Calls of sessions whose client, session and task do things at once, in the wrong order, or go. */
prepare();
prepareFaults(watchSessions);

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
const isGone = async (task: string) => (await keptIn(objectOf(task))).tables.length === 0;

const messagesIn = (events: { message?: Json }[]) => events.flatMap(({ message }) => message ?? []);

const rowsOf = (client: SessionClient, table: string) =>
  runInDurableObject(sessionOf(client.id), (_instance, { storage }) =>
    storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
  );

describe("a call whose session fails", () => {
  const callPlan = async (...steps: Json[]) => {
    const client = await SessionClient.begin();
    return new Events(await client.call("plan", { steps }, WITH_PROGRESS));
  };
  const fails = () => Promise.reject(new Error("the key ring cannot be reached"));

  test("after it has sent a POST is told that the outcome of that is unknown", async () => {
    newWorld();
    const undo = instead(Task.prototype, "create", fails);
    try {
      const events = await callPlan(...TOLD, http("POST", "/a"), ELICIT);
      const { error } = (await events.rest()).at(-1)!.message!;
      expect(error.message).toMatch(/^Internal error, .*outcome is unknown/);
    } finally {
      undo();
    }
  });

  test("as it is answered gets its answer all the same", async () => {
    newWorld();
    let failures = 0;
    const undo = instead(SessionStreams.prototype, "send", ({ plain, args }) => {
      if (!String(args[1]).includes('"result"') || ++failures > 2) return plain(...args);
      return fails();
    });
    try {
      const events = await callPlan(...TOLD, http("PUT", "/a"));
      const { result } = (await events.rest()).at(-1)!.message!;
      expect(result.structuredContent.said.at(-1)).toEqual([200, "answer to PUT /a"]);
    } finally {
      undo();
    }
  });
});

test("a task whose session does not know of an answer tells it soon, not when it expires", async () => {
  const { task } = await waiting([{ do: "inputs", keys: ["a", "b"] }]);
  const undo = instead(Session.prototype, "progressed", () => Promise.reject(new Error(DEAD)));
  try {
    await runInDurableObject(objectOf(task), async (instance, { storage }) => {
      const update = instance as unknown as Instance;
      await update.update({ name: "anonymous" }, { a: { result: accept("Ada") } });
      const due = await storage.getAlarm();
      // Alarms are set that far off here, where tests let them go off.
      expect(due! - FAR - Date.now()).toBeLessThanOrEqual(limits.ownerMs);
    });
  } finally {
    undo();
  }
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
    for (const fatal of passed.keys()) for (const victim of VICTIMS) await trial(fatal, victim);
  });

  test("ends while its session cannot be told", async () => {
    const { world, client, faults, events, asked, last, task } = await waiting(steps);
    let deaths = 0;
    const restore = instead(Session.prototype, "progressed", async ({ plain, args, state }) => {
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

  test("asks when its session can be told, and gives its client all of the time", async () => {
    newWorld();
    const client = await SessionClient.begin();
    const faults = new SessionFaults(client.id);
    faults.isOn = true;
    let attempts = 0;
    const restore = instead(Session.prototype, "progressed", async () => {
      attempts++;
      throw new Error("the session cannot be told");
    });
    const timed = { ...ELICIT, timeout: 60_000 };
    const events = new Events(await client.call("plan", { steps: [timed] }, {}, "it"));
    await until(() => attempts > 0);
    clock.aheadMs += 9e6;
    restore();
    const asked = await during(faults, events.message());
    expect(asked).toMatchObject({ method: "elicitation/create" });
    await runInDurableObject(objectOf(faults.tasks[0]!), (instance) =>
      (instance as unknown as Instance).alarm(),
    );
    expect((await client.answer(asked["id"], ANSWER)).status).toBe(202);
    const end = messagesIn(await during(faults, events.rest()));
    expect(end).toMatchObject([{ id: "it", result: { structuredContent: { said: ["Ada"] } } }]);
  });

  test("is told apart from a new one that wakes its session", async () => {
    const { client, faults, asked, last } = await waiting([ELICIT]);
    await dead(sessionOf(client.id));
    // The new one is there while the session still asks what has become of the other.
    const restore = instead(Task.prototype, "get", async ({ plain, args }) => {
      for (let times = 0; times < 20; times++) await pause();
      return plain(...args);
    });
    const other = new Events(
      await client.call("plan", { steps: [{ do: "sleep", ms: 100 }, ELICIT] }, {}, "another"),
    );
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

describe("a call whose session dies before its task is", () => {
  /** Calls, and lets the session die when the task is about to be made; `late` is when that goes on. */
  async function cut(
    late: (client: SessionClient, last: string) => Promise<unknown>,
    first = http("PUT", "/a"),
  ) {
    const world = newWorld();
    const client = await SessionClient.begin();
    const faults = new SessionFaults(client.id);
    faults.isOn = true;
    const gate = { isOpen: false };
    let isMaking = false;
    const restore = instead(Task.prototype, "create", async ({ plain, args }) => {
      isMaking = true;
      while (!gate.isOpen) await pause();
      return plain(...args);
    });
    try {
      const steps = [first, ELICIT, http("PUT", "/b")];
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

  test("is lost, and its client is told that the outcome is unknown where a POST was sent", async () => {
    const { world, client } = await cut(
      async (same, last) => {
        const [answer] = messagesIn(await new Events(await same.listen(last)).rest());
        expect(answer).toMatchObject({ id: "the call", error: { code: -32603 } });
        expect(answer!["error"].message).toMatch(/outcome is unknown/);
        expect(isLost(answer!)).toBe(false);
      },
      http("POST", "/a"),
    );
    expect(world.seen.map(({ line }) => line)).toEqual(["POST /a"]);
    expect(world.seen[0]!.key).toMatch(/^[0-9a-f]{32}$/);
    expect(await rowsOf(client, "calls")).toEqual([]);
    expect(await rowsOf(client, "sent")).toEqual([]);
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

describe("a call whose session dies while the world answers it", () => {
  test.each([
    ["PUT", /: call again\.$/],
    ["POST", /outcome is unknown/],
  ])("%s", async (method, message) => {
    newWorld();
    let isSent = false;
    globalThis.fetch = () => {
      isSent = true;
      return new Promise(() => {});
    };
    const client = await SessionClient.begin();
    const events = new Events(
      await client.call("plan", { steps: [...TOLD, http(method, "/a")] }, WITH_PROGRESS, "it"),
    );
    const { id: last } = (await events.next())!;
    await until(() => isSent);
    await dead(sessionOf(client.id));
    const messages = messagesIn(await new Events(await client.listen(last)).rest());
    expect(messages.at(-1)).toMatchObject({
      id: "it",
      error: { code: -32603, message: expect.stringMatching(message) },
    });
  });
});
