import { afterEach, describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  accept,
  beginTool,
  clock,
  goOn,
  goOnAsked,
  limited,
  prepare,
  textIn,
  type Json,
  type Round,
} from "../../worker/calls/client.ts";
import { newWorld, withTasks } from "../../worker/calls/faults.ts";
import type { Answer } from "../../worker/server.ts";
import { ELICIT, HOUR, http, planned, saidIn, steps } from "../../worker/calls/plans.ts";
import { ADA, cutAt, linesOf, PAID, PAY, withManifest } from "../../worker/calls/retry-steps.ts";
import { until } from "../../worker/calls/task-steps.ts";

/** A client sends a request again whose response it has not got. */
prepare();
const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

const UNKNOWN = /outcome of the HTTP request to world\.example is unknown/;

const RESENDS = withManifest({ resend_requests: true });

/** Goes on with a call, whose server stops after it has sent a request and before that is answered. */
async function stopped(round: Round, answers: Json): Promise<void> {
  await cutAt("keep", async () => {
    expect((await goOn(round, answers)).status).toBe(500);
  });
}

describe("a retry of a request that has sent a POST", () => {
  test("gives the same answer, and sends nothing", async () => {
    const world = newWorld();
    const round = await planned(ELICIT, PAY, { do: "random" });
    const first = await goOn(round, ADA);
    clock.aheadMs += HOUR;
    const second = await goOn(round, ADA);
    expect(saidIn(first)).toEqual(["Ada", PAID, true]);
    expect(second.result).toEqual(first.result);
    expect(linesOf(world)).toEqual(["POST /pay"]);
    expect(world.seen[0]!.key).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each(["PUT", "DELETE"])("or a %s, sends the same again, if it must", async (method) => {
    const world = newWorld();
    const answer = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const answered = await answer(input, init);
      // Each time another answer, after which the call would go on in another way.
      return init?.method === "GET" ? new Response(`${Math.random()}`) : answered;
    };
    const round = await planned(ELICIT, http("GET", "/now"), http(method, "/a"));
    await stopped(round, ADA);
    clock.aheadMs += HOUR;
    const second = await goOn(round, ADA);
    expect((await goOn(round, ADA)).result).toEqual(second.result);
    const sent = world.seen.filter(({ line }) => line === `${method} /a`);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[0]!.key).toMatch(/^[0-9a-f]{32}$/);
  });

  test("goes on to the next question, and from there as one call", async () => {
    const world = newWorld();
    const round = await planned(ELICIT, http("GET", "/a"), PAY, ELICIT, http("PATCH", "/b"));
    const rounds = [await goOnAsked(round, ADA), await goOnAsked(round, ADA)];
    expect(linesOf(world)).toEqual(["GET /a", "POST /pay", "GET /a"]);
    for (const { requests } of rounds) expect(Object.keys(requests)).toEqual(["ask_4"]);
    const ends = [];
    for (const next of rounds) ends.push(await goOn(next, { ask_4: accept("Bob") }));
    expect(ends[1]!.result).toEqual(ends[0]!.result);
    expect(linesOf(world).filter((line) => line !== "GET /a")).toEqual(["POST /pay", "PATCH /b"]);
  });

  test("of which nobody knows what came of it tells the servlet so", async () => {
    const world = newWorld();
    const round = await planned(ELICIT, PAY, http("PUT", "/a"));
    await stopped(round, ADA);
    const [said, unknown, put] = saidIn(await goOn(round, ADA)) as string[];
    expect([said, put]).toEqual(["Ada", [200, "answer to PUT /a"]]);
    expect(unknown).toMatch(UNKNOWN);
    expect(linesOf(world)).toEqual(["POST /pay", "PUT /a"]);
  });

  test("sends it again with its key where the manifest allows that", async () => {
    const world = newWorld();
    const round = await beginTool("plan", steps(ELICIT, PAY), RESENDS);
    await stopped(round, ADA);
    clock.aheadMs += HOUR;
    expect(saidIn(await goOn(round, ADA))).toEqual(["Ada", PAID]);
    expect(linesOf(world)).toEqual(["POST /pay", "POST /pay"]);
    expect(new Set(world.seen.map(({ key }) => key)).size).toBe(1);
    expect(new Set(world.seen.map(({ body }) => body)).size).toBe(1);
  });

  test("while that is being sent waits for what comes of it, and after a while is asked to come later", async () => {
    const world = newWorld();
    limited({ resumeWaitMs: 0, resumePollMs: 1 });
    const answerNow = globalThis.fetch;
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    globalThis.fetch = async (...request) => {
      arrived();
      await held;
      return answerNow(...request);
    };
    const round = await planned(ELICIT, PAY);
    const first = goOn(round, ADA);
    await arrival;
    const early = await goOn(round, ADA);
    expect(early).toMatchObject({
      status: 409,
      error: { data: { retryAfter: expect.any(Number) } },
    });
    expect(early.error!.data.retryAfter).toBeLessThanOrEqual(limits.httpMs / 1000);
    limited({ resumeWaitMs: 60_000 });
    const second = goOn(round, ADA);
    release();
    expect(saidIn(await first)).toEqual(["Ada", PAID]);
    expect(saidIn(await second)).toEqual(["Ada", PAID]);
    expect(linesOf(world)).toEqual(["POST /pay"]);
  });

  test("whose server has died while it sent it goes on as soon as that is known", async () => {
    newWorld();
    limited({ resumePollMs: 1, sendingMs: 100 });
    const round = await planned(ELICIT, PAY);
    let release = () => {};
    const held = new Promise<Response>((resolve) => {
      release = () => resolve(new Response("too late"));
    });
    let first: Promise<Answer> | undefined;
    const arrival = new Promise<void>((resolve) => {
      globalThis.fetch = () => {
        resolve();
        return held;
      };
    });
    await cutAt("renew", async () => {
      first = goOn(round, ADA);
      await arrival;
      expect(saidIn(await goOn(round, ADA))[1]).toMatch(UNKNOWN);
    });
    release();
    expect((await first!).status).toBe(409);
  });

  test("that comes after the deadline gives what was answered in time", async () => {
    const world = newWorld();
    const round = await planned({ ...ELICIT, timeout: 60_000 }, PAY);
    const first = await goOn(round, ADA);
    clock.aheadMs += HOUR;
    expect((await goOn(round, ADA)).result).toEqual(first.result);
    expect(linesOf(world)).toEqual(["POST /pay"]);
  });

  test("is asked the next question anew, with all of its time", async () => {
    newWorld();
    const round = await planned(ELICIT, PAY, { ...ELICIT, timeout: 60_000 });
    await goOnAsked(round, ADA);
    clock.aheadMs += HOUR;
    const next = await goOnAsked(round, ADA);
    clock.aheadMs += 50_000;
    expect(saidIn(await goOn(next, { ask_3: accept("Bob") }))).toEqual(["Ada", PAID, "Bob"]);
  });

  test.each([
    ["answered", goOn, ["PUT /a"]],
    ["that the server did not survive", stopped, ["PUT /a", "PUT /a"]],
  ])(
    "or a PUT %s, after the deadline of what was answered in time, is the same call",
    async (_, first, sent) => {
      const world = newWorld();
      const round = await planned({ ...ELICIT, timeout: 60_000 }, http("PUT", "/a"));
      await first(round, ADA);
      clock.aheadMs += HOUR;
      expect(saidIn(await goOn(round, ADA))).toEqual(["Ada", [200, "answer to PUT /a"]]);
      expect(linesOf(world)).toEqual(sent);
      expect(new Set(world.seen.map(({ key }) => key)).size).toBe(1);
    },
  );

  test("by a servlet that returned what it asks", async () => {
    const world = newWorld();
    const args = { rounds: 1, post: "https://world.example/tick" };
    const round = await beginTool("rounds", args);
    for (let times = 0; times < 2; times++) {
      expect(textIn(await goOn(round, { name: accept("Ada", "name") }))).toBe("Ada");
    }
    expect(linesOf(world)).toEqual(["POST /tick", "POST /tick"]);
    const [before, after] = world.seen;
    expect(before!.key).not.toBe(after!.key);
  });

  test("whose call has become a task gives that task", { tags: ["tasks"] }, async () => {
    const world = newWorld();
    const round = await beginTool("plan", steps(ELICIT, PAY, { do: "sleep", ms: 9000 }), withTasks);
    const first = await goOn(round, ADA);
    expect(first.result).toMatchObject({ resultType: "task" });
    const second = await goOn(round, ADA);
    expect(second.result!["taskId"]).toBe(first.result!["taskId"]);
    expect(linesOf(world)).toEqual(["POST /pay"]);
  });

  test("whose call has become a task gives that task, even when the deadline is over", async () => {
    newWorld();
    const ask = { ...ELICIT, timeout: 60_000 };
    const round = await beginTool("plan", steps(ask, PAY, { do: "sleep", ms: 9000 }), withTasks);
    const first = await goOn(round, ADA);
    clock.aheadMs += HOUR;
    const second = await goOn(round, ADA);
    expect(second.result!["taskId"]).toBe(first.result!["taskId"]);
  });

  test(
    "whose call was over before it had to wait, and is a task all the same, gives that task",
    { tags: ["tasks"] },
    async () => {
      const plan = steps({ do: "back", keys: ["a"] }, { do: "config" });
      const round = await beginTool("plan_back_always", plan, withTasks);
      const answers = { a: accept("Ada") };
      const [first, second] = [await goOn(round, answers), await goOn(round, answers)];
      expect(first.result).toMatchObject({ resultType: "task", status: "completed" });
      expect(second.result!["taskId"]).toBe(first.result!["taskId"]);
    },
  );

  test("becomes a task that does not send it again either", { tags: ["tasks"] }, async () => {
    const world = newWorld();
    const round = await beginTool("plan", steps(ELICIT, http("GET", "/a"), PAY), withTasks);
    await stopped(round, ADA);
    limited({ promoteAfterMs: -1 });
    globalThis.fetch = async () => new Response("another answer");
    const { result } = await goOn(round, ADA);
    const end = await until(result!["taskId"], "completed");
    const [, got, paid] = end["result"].structuredContent.said;
    expect(got).toEqual([200, "answer to GET /a"]);
    expect(paid).toMatch(UNKNOWN);
    expect(linesOf(world)).toEqual(["GET /a", "POST /pay"]);
  });
});
