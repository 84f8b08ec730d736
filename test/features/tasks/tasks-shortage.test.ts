import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { Reservation } from "../../../src/server/kernel/wasm/budget.ts";
import type { Answer } from "../../worker/server.ts";
import { callOf, limited, newAddress, prepare, send, textIn } from "../../worker/calls/client.ts";
import { objectOf, updateTask, withTasks } from "../../worker/calls/faults.ts";
import { eventually } from "../../worker/waiting.ts";
import { http, saidIn, steps } from "../../worker/calls/plans.ts";
import { busyTurns, NAP, planned, ring, until } from "../../worker/calls/task-steps.ts";

/** Tasks whose isolate, caller or run has no room or time left to wait. */
prepare();

/** A call that waits, and while it does leaves no room for others. */
const occupied = (ms: number) => callOf("plan_never", steps({ do: "sleep", ms }));

const alarmAt = (id: string) =>
  runInDurableObject(objectOf(id), (_instance, { storage }) => storage.getAlarm());

describe("a task that finds its isolate full of calls that wait", () => {
  test.each([
    ["before an HTTP request, which is sent once", http("POST", "/"), [200, "there"]],
    ["before a sleep", NAP, "slept"],
  ])("runs again later: %s", async (_when, step, said) => {
    limited({ waitingBytes: 1, shortageMs: 20 });
    const sent = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async () => new Response("there"));
    const other = occupied(300);
    const id = await planned({ do: "config" }, step, { do: "config" });
    const task = await until(id, "completed");
    expect(saidIn(task)).toEqual(["hi", said, "hi"]);
    expect(sent).toHaveBeenCalledTimes(step === NAP ? 0 : 1);
    expect(textIn(await other)).toContain("slept");
  });

  test("runs again less and less often", async () => {
    limited({ waitingBytes: 1, shortageMs: 60_000, maxShortageMs: 200_000, waitMs: 1e9 });
    let letGo = () => {};
    const held = new Promise<Response>((resolve) => (letGo = () => resolve(new Response("there"))));
    const sent = vi
      .spyOn(globalThis, "fetch")
      .mockReturnValueOnce(held)
      .mockImplementation(async () => new Response("there"));
    const other = callOf("plan_never", steps(http("GET", "/")));
    await eventually(() => expect(sent).toHaveBeenCalledTimes(1));
    // A run that may not wait for long in its object is suspended.
    limited({ waitMs: 1 });
    const id = await planned(http("GET", "/"), http("GET", "/"));
    const pauses: number[] = [];
    for (let run = 0; run < 8; run++) {
      const pause = await eventually(async () => {
        const ms = (await alarmAt(id))! - Date.now();
        expect(ms).toBeLessThan(1e6);
        return ms;
      });
      pauses.push(pause);
      await ring(id, pause + 1000);
    }
    for (const [run, pause] of pauses.entries()) {
      expect(pause).toBeLessThanOrEqual(400_000);
      // The time that the test takes is not in it.
      expect(pause).toBeGreaterThan(Math.min(200_000, pauses[run - 1] ?? 60_000) - 5000);
    }
    letGo();
    await other;
    limited({ waitMs: 1e9 });
    await ring(id, 400_000);
    expect(saidIn(await until(id, "completed"))).toEqual([
      [200, "there"],
      [200, "there"],
    ]);
  });

  test("is not counted as a run that has died", async () => {
    limited({ waitingBytes: 1, shortageMs: 5, maxRuns: 2 });
    const other = occupied(500);
    const id = await planned(NAP);
    expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
    await other;
  });
});

test(
  "a task whose servlet's state is in use by too many is run again, with the answer that it has",
  { tags: ["state"] },
  async () => {
    limited({ shortageMs: 20, maxRuns: 2 });
    const call = { name: "growing-add_later", arguments: { name: "kept" } };
    // A caller of its own: the state of one whose address nobody knows is that of other tests, too.
    const sent = { ...withTasks, headers: { "cf-connecting-ip": newAddress() } };
    const { taskId } = (await send("tools/call", call, sent)).result!;
    const { inputRequests } = await until(taskId, "input_required");
    const asked = busyTurns(3);
    const [key] = Object.keys(inputRequests);
    await updateTask(taskId, { [key!]: { action: "accept", content: {} } });
    const { result } = await until(taskId, "completed");
    expect(result.content[0].text).toBe("added");
    expect(asked()).toBeGreaterThan(3);
  },
);

test("of tasks that are due at once few begin, and one that waits for something lets others begin", async () => {
  limited({ startsAtOnce: 1, startMs: 600_000 });
  vi.spyOn(globalThis, "fetch").mockImplementation(
    (_input, init) =>
      new Promise((_resolve, reject) => {
        const signal = init!.signal!;
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  const stuck = await planned(http("GET", "/"));
  const others = await Promise.all(
    Array.from({ length: 20 }, () => planned({ do: "config" }, NAP)),
  );
  for (const id of others) expect(saidIn(await until(id, "completed"))).toEqual(["hi", "slept"]);
  await until(stuck, "working");
  await send("tasks/cancel", { taskId: stuck }, withTasks);
  await until(stuck, "cancelled");
});

describe("a call that can become a task does so if its isolate stays full", () => {
  const crowded = async (call: () => Promise<Answer>) => {
    limited({ waitingBytes: 1, promoteAfterMs: 50 });
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("there"));
    const other = occupied(200);
    const { result } = await call();
    const task = await until(result!["taskId"], "completed");
    expect(saidIn(task).at(-1)).toEqual([200, "there"]);
    await other;
  };

  test("as it begins", async () => {
    expect.hasAssertions();
    await crowded(() => callOf("plan", steps(http("POST", "/")), withTasks));
  });
});

test("a call that cannot become a task waits for room, and is refused with a retry if there is none in time", async () => {
  limited({ waitingBytes: 1 });
  const [first, second] = [occupied(200), occupied(1)];
  for (const one of [first, second]) expect(textIn(await one)).toContain("slept");
  limited({ roomMs: 0 });
  const other = occupied(200);
  const { status, error } = await callOf("plan_never", steps(NAP));
  expect([status, error?.message]).toEqual([
    429,
    expect.stringMatching(/^Too many calls are wait/),
  ]);
  await other;
});

describe("a call whose guest has no room to wait", () => {
  const CALLS = 20;
  const fetching = () =>
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return new Response("there");
    });

  test("goes on from its journal, and sends each request once", async () => {
    // Room for few guests, and for all that is kept of the others.
    limited({ waitingBytesOfOne: 6 * 1024 * 1024 });
    const sent = fetching();
    const program = steps(http("GET", "/"), { do: "random" }, http("POST", "/pay"), NAP);
    const headers = { "cf-connecting-ip": newAddress() };
    const all = Array.from({ length: CALLS }, () => callOf("plan_never", program, { headers }));
    for (const answer of await Promise.all(all)) {
      const said = saidIn(answer);
      expect([said[0], ...said.slice(2)]).toEqual([[200, "there"], [200, "there"], "slept"]);
    }
    expect(sent).toHaveBeenCalledTimes(2 * CALLS);
  });

  test("and has sent a POST waits for it, and is never refused", async () => {
    limited({ waitingBytes: 1, roomMs: 0 });
    const sent = vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      const other = Reservation.force({ bytes: 1, caller: undefined, leftMs: 10_000 });
      setTimeout(() => other.release(), 50);
      return new Response("there");
    });
    const answer = await callOf("plan_never", steps(http("POST", "/"), NAP));
    expect(saidIn(answer)).toEqual([[200, "there"], "slept"]);
    expect(sent).toHaveBeenCalledTimes(1);
  });

  test("as a task waits for it in its turn, and is not run again", async () => {
    limited({ waitingBytes: 1, promoteAfterMs: 0 });
    fetching();
    const ids = await Promise.all(
      Array.from({ length: CALLS }, () => planned({ do: "config" }, http("GET", "/"))),
    );
    for (const id of ids) {
      expect(saidIn(await until(id, "completed"))).toEqual(["hi", [200, "there"]]);
      const runs = await runInDurableObject(objectOf(id), (_instance, { storage }) =>
        storage.sql.exec("SELECT 1 FROM history WHERE what = 'run'").toArray(),
      );
      expect(runs).toHaveLength(1);
    }
  });
});

describe("a task whose run has waited for nearly as long as it may", () => {
  test.each([
    ["polls on: short sleeps are those of many runs", NAP, "slept", { waitMs: 120, httpMs: 50 }],
    // Eight requests of 100 ms, of which each may take 700: only a machine that stands still fails one.
    [
      "is run again before it makes an HTTP request",
      http("GET", "/"),
      [200, "there"],
      { waitMs: 900, httpMs: 700 },
    ],
  ])("%s", async (_what, step, said, times) => {
    limited(times);
    vi.spyOn(globalThis, "fetch").mockImplementation(async (_input, init) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      init!.signal!.throwIfAborted();
      return new Response("there");
    });
    const id = await planned(...Array.from({ length: 8 }, () => step));
    expect(saidIn(await until(id, "completed"))).toEqual(Array.from({ length: 8 }, () => said));
  });
});
