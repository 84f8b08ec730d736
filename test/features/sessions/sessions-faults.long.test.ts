import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import { Session } from "../../worker/index.ts";
import { limited, prepare, type Json } from "../../worker/calls/client.ts";
import { newWorld, objectOf, pause, prepareFaults } from "../../worker/calls/faults.ts";
import { callThrough } from "../../worker/calls/patient-calls.ts";
import { ELICIT, http, TOLD } from "../../worker/calls/plans.ts";
import { SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  dead,
  during,
  instead,
  SessionFaults,
  until,
  watchSessions,
} from "../../worker/mcp/legacy/session-faults.ts";
import { sessionOf } from "../../worker/mcp/legacy/session-steps.ts";
import {
  CALLS,
  essence,
  expectOnce,
  plan,
  SAMPLE,
  testSessionDeaths,
  tried,
} from "./sessions-faults-walk.ts";

/** Sessions and their tasks that die at every third place where something is awaited, are evicted, or hear things twice. */
prepare();
prepareFaults(watchSessions);
testSessionDeaths(3);

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
        if (whose !== "task") await evicted(sessionOf(client.object));
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
    const client = await SessionClient.begin({ ticket: false });
    const faults = new SessionFaults(client.object);
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
