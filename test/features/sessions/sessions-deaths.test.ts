import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { Task } from "../../worker/index.ts";
import { accept, prepare } from "../../worker/calls/client.ts";
import { newWorld, objectOf, pause, prepareFaults } from "../../worker/calls/faults.ts";
import { ELICIT, http, TOLD } from "../../worker/calls/plans.ts";
import { Events, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { isLost, WITH_PROGRESS } from "../../worker/calls/patient-calls.ts";
import {
  dead,
  during,
  instead,
  SessionFaults,
  until,
  watchSessions,
} from "../../worker/mcp/legacy/session-faults.ts";
import { isGone, keptIn, messagesIn, NOTHING } from "./session-rows.ts";
import { sessionOf } from "../../worker/mcp/legacy/session-steps.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Calls whose session dies at a bad moment. */
prepare();
prepareFaults(watchSessions);

const rowsOf = (client: SessionClient, table: string) =>
  runInDurableObject(sessionOf(client.object), (_instance, { storage }) =>
    storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
  );

describe("a call whose session dies before its task is", () => {
  /** Calls, and lets the session die when the task is about to be made; `late` is when that goes on. */
  async function cut(
    late: (client: SessionClient, last: string) => Promise<unknown>,
    first = http("PUT", "/a"),
  ) {
    const world = newWorld();
    const client = await SessionClient.begin({ ticket: false });
    const faults = new SessionFaults(client.object);
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
      await dead(sessionOf(client.object));
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

  test("is lost, and its client learns it; the task that is made after that works", async () => {
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

  test("is lost, and its client learns that the outcome is unknown if a POST was sent", async () => {
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
    ["PUT", /ended\. Call again\.$/],
    ["POST", /outcome is unknown/],
  ])("%s", async (method, message) => {
    newWorld();
    let isSent = false;
    globalThis.fetch = () => {
      isSent = true;
      return new Promise(() => {});
    };
    const client = await SessionClient.begin({ ticket: false });
    const events = new Events(
      await client.call("plan", { steps: [...TOLD, http(method, "/a")] }, WITH_PROGRESS, "it"),
    );
    const { id: last } = (await events.next())!;
    await until(() => isSent);
    await dead(sessionOf(client.object));
    const messages = messagesIn(await new Events(await client.listen(last)).rest());
    expect(messages.at(-1)).toMatchObject({
      id: "it",
      error: { code: -32603, message: expect.stringMatching(message) },
    });
  });
});
