import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { SessionStreams } from "../../../src/server/features/sessions/session-streams.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Session, Task } from "../../worker/index.ts";
import { accept, clock, prepare, type Json } from "../../worker/calls/client.ts";
import {
  DEAD,
  newWorld,
  objectOf,
  pause,
  prepareFaults,
  type Instance,
} from "../../worker/calls/faults.ts";
import { ELICIT, http, TOLD } from "../../worker/calls/plans.ts";
import { Events, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { WITH_PROGRESS } from "../../worker/calls/patient-calls.ts";
import {
  dead,
  during,
  FAR,
  instead,
  SessionFaults,
  until,
  VICTIMS,
  watchSessions,
  type Victim,
} from "../../worker/mcp/legacy/session-faults.ts";
import { isGone, keptIn, messagesIn, NOTHING } from "./session-rows.ts";
import { sessionOf } from "../../worker/mcp/legacy/session-steps.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Calls of sessions whose client, session and task do things at once, in the wrong order, or go. */
prepare();
prepareFaults(watchSessions);

/** A call that waits for its client. */
async function waiting(steps: Json[]) {
  const world = newWorld();
  const client = await SessionClient.begin({ ticket: false });
  const faults = new SessionFaults(client.object);
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

describe("a call whose session fails", () => {
  const callPlan = async (...steps: Json[]) => {
    const client = await SessionClient.begin({ ticket: false });
    return new Events(await client.call("plan", { steps }, WITH_PROGRESS));
  };
  const fails = () => Promise.reject(new Error("the key ring cannot be reached"));

  test("after it has sent a POST ends with an unknown outcome", async () => {
    newWorld();
    const undo = instead(Task.prototype, "create", fails);
    try {
      const events = await callPlan(...TOLD, http("POST", "/a"), ELICIT);
      const { error } = (await events.rest()).at(-1)!.message!;
      expect(error.message).toMatch(/^Internal error\. .*outcome is unknown/);
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
    expect(await keptIn(sessionOf(client.object))).toEqual(NOTHING);
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
      const kept = await keptIn(sessionOf(client.object));
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
    const client = await SessionClient.begin({ ticket: false });
    const faults = new SessionFaults(client.object);
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

  test("is distinguished from a new one that wakes its session", async () => {
    const { client, faults, asked, last } = await waiting([ELICIT]);
    await dead(sessionOf(client.object));
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
