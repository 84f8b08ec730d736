import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { StoredTasks } from "../../../src/server/features/tasks/tasks.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import { eventually } from "../../worker/waiting.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { SessionStore } from "../../../src/server/features/sessions/session-store.ts";
import { ABLE, clock, prepare } from "../../worker/calls/client.ts";
import { pause } from "../../worker/calls/faults.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { Events } from "../../worker/mcp/legacy/session-client.ts";
import { dead } from "../../worker/mcp/legacy/session-faults.ts";
import { begin, listened, objectOf, planned, tell } from "../../worker/mcp/legacy/session-steps.ts";

prepare();
afterEach(() => void vi.restoreAllMocks());

/** Has a method of these objects wait before it does anything, until `open` is called. */
function held<T extends object>(
  of: T,
  name: keyof T & string,
  isHeld: (argument: unknown) => boolean,
) {
  const methods = of as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const own = methods[name]!;
  const gate = { isOpen: false, waiting: 0, open: () => void (gate.isOpen = true) };
  vi.spyOn(methods, name).mockImplementation(async function (this: T, ...args) {
    if (isHeld(args[0])) {
      gate.waiting++;
      while (!gate.isOpen) await pause();
    }
    return own.apply(this, args);
  });
  return gate;
}

test.each([{}, { task: {} }])(
  "a session that ends before its call has begun is no fault of the server: %j",
  async (more) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const gate = { isOpen: false, waiting: 0, passed: 0 };
    const { resolve } = Registry.prototype;
    vi.spyOn(Registry.prototype, "resolve").mockImplementation(async function (
      this: Registry,
      ...args
    ) {
      gate.waiting++;
      while (!gate.isOpen) await pause();
      gate.passed++;
      return resolve.apply(this, args);
    });
    const client = await begin({ ticket: false, capabilities: { ...ABLE, tasks: {} } });
    const call = client.call("plan_always", steps(), more);
    await eventually(() => expect(gate.waiting).toBe(1));
    await client.end();
    await (await call).text();
    gate.isOpen = true;
    await eventually(() => expect(gate.passed).toBe(1));
    for (let nth = 0; nth < 20; nth++) await pause();
    expect(error.mock.calls).toEqual([]);
  },
);

describe("while a session ends", () => {
  test("a stream ends whose client is still sent what it has missed", async () => {
    const client = await begin({ ticket: false });
    await tell(client, "missed");
    const reading = held(SealedRows.prototype, "text", (name) => name === "event 1");
    const events = await listened(client);
    await eventually(() => expect(reading.waiting).toBe(1));
    expect((await client.end()).status).toBe(204);
    reading.open();
    expect((await events.rest()).length).toBe(1);
  });

  test("a stream ends that waits for messages to be stored", async () => {
    const client = await begin({ ticket: false });
    const storing = held(SealedRows.prototype, "prepare", (data) =>
      JSON.stringify(data).includes("slow"),
    );
    const told = tell(client, "slow");
    await eventually(() => expect(storing.waiting).toBe(1));
    const events = await listened(client);
    expect((await client.end()).status).toBe(204);
    storing.open();
    await told;
    expect((await events.rest()).length).toBe(1);
  });

  test("a call ends that begins meanwhile", async () => {
    const client = await begin({ ticket: false });
    const events = await planned(client, ELICIT);
    while ((await events.next())?.message?.["method"] !== "elicitation/create");
    const ending = held(StoredTasks.prototype, "cancel", () => true);
    const end = client.end();
    await eventually(() => expect(ending.waiting).toBe(1));
    const call = client.call("plan", steps(ELICIT));
    const asked = held(Registry.prototype, "resolve", () => true);
    await eventually(() => expect(asked.waiting).toBe(1));
    ending.open();
    expect((await end).status).toBe(204);
    asked.open();
    await (await call).text();
  });

  test("it is no fault that a call of its dead object cannot be ended", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const client = await begin({ ticket: false });
    const events = await planned(client, ELICIT);
    while ((await events.next())?.message?.["method"] !== "elicitation/create");
    const looking = Promise.withResolvers<never>();
    const looked = vi.spyOn(StoredTasks.prototype, "get").mockReturnValue(looking.promise);
    await dead(objectOf(client));
    const end = client.end();
    await eventually(() => expect(looked).toBeCalled());
    expect((await end).status).toBe(204);
    looking.reject(new Error("not now"));
    for (let nth = 0; nth < 20; nth++) await pause();
    expect(error.mock.calls).toEqual([]);
  });
});

test("a call that its client has cancelled is cancelled, and its question withdrawn, though its task fails at first", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const client = await begin({ ticket: false });
  const events = new Events(await client.call("plan", steps(ELICIT), {}, "cancelled"));
  let asked: unknown;
  while (asked === undefined) {
    const message = await events.message();
    if (message["method"] === "elicitation/create") asked = message["id"];
  }
  vi.spyOn(StoredTasks.prototype, "cancel").mockRejectedValueOnce(new Error("not now"));
  const cancelled = await client.notify("notifications/cancelled", { requestId: "cancelled" });
  expect(cancelled.status).toBe(202);
  const [withdrawn] = (await events.rest()).flatMap(({ message }) => message ?? []);
  expect(withdrawn).toMatchObject({
    method: "notifications/cancelled",
    params: { requestId: asked },
  });
});

test("an idle session that cannot end when its time is over ends later", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const client = await begin({ ticket: false });
  vi.spyOn(SessionStore.prototype, "forget").mockRejectedValueOnce(new Error("down"));
  const ring = () => {
    clock.aheadMs += limits.sessionIdleMs + limits.sessionPingMs + 1000;
    return runDurableObjectAlarm(objectOf(client));
  };
  expect(await ring()).toBe(true);
  expect(error.mock.calls.flat().join()).toContain("down");
  expect(await ring()).toBe(true);
  const left = await runInDurableObject(objectOf(client), (_object, { storage }) =>
    storage.getAlarm(),
  );
  expect(left).toBeNull();
  expect((await client.call("greet", { name: "Ada" })).status).toBe(404);
});
