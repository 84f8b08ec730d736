import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  goOnAsked,
  limited,
  prepare,
  textIn,
} from "../../worker/calls/client.ts";
import { newWorld } from "../../worker/calls/faults.ts";
import { ELICIT, http, planned, saidIn, steps } from "../../worker/calls/plans.ts";
import { ADA, cutAt, linesOf, PAID, PAY, withManifest } from "../../worker/calls/retry-steps.ts";

/** Retries of calls whose state returns what is asked, has random numbers, or may be used once. */
prepare();
const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

const SINGLE = withManifest({ single_use_state: true });

test("a call that fails after it has sent a POST says that the outcome of that is unknown", async () => {
  newWorld();
  const seal = vi.spyOn(Sealer.prototype, "seal").mockRejectedValue(new Error("no key ring"));
  const { status, error } = await callOf("plan", steps(PAY, ELICIT));
  expect(status).toBe(500);
  expect(error?.message).toMatch(/^Internal error\. .* outcome is unknown/);
  const without = await callOf("plan", steps(http("GET", "/a"), ELICIT));
  expect(without.error?.message).toBe("Internal error");
  seal.mockRestore();
});

describe("a servlet that returned what it asks", () => {
  const BACK = { do: "back", keys: ["a"] };

  test("asks for more under the same key", async () => {
    const round = await beginTool("plan_back", steps(BACK, { do: "inputs", keys: ["a"] }));
    const next = await goOnAsked(round, { a: accept("Ada") });
    expect(Object.keys(next.requests)).toEqual(["a"]);
    const end = await goOn(next, { a: accept("Bob") });
    expect(saidIn(end)).toEqual([{ a: accept("Ada") }, { a: accept("Bob") }]);
  });

  test("sends what may be repeated with the same key in a retry, and with another after another answer", async () => {
    const world = newWorld();
    const round = await beginTool("plan_back", steps(BACK, http("PUT", "/a")));
    await cutAt("keep", () => goOn(round, { a: accept("Ada") }));
    for (const name of ["Ada", "Bob"]) await goOn(round, { a: accept(name) });
    const [first, again, other] = world.seen;
    expect(again).toEqual(first);
    expect(other!.key).not.toBe(first!.key);
  });
});

test("other answers to the same state are another call: it sends its own POST, with another key", async () => {
  const world = newWorld();
  const round = await planned(ELICIT, PAY);
  const ends = [
    await goOn(round, ADA),
    await goOn(round, { ask_1: accept("Bob") }),
    await goOn(round, { ask_1: { action: "decline" } }),
  ];
  expect(ends.map((end) => saidIn(end)[0])).toEqual(["Ada", "Bob", "decline"]);
  expect(linesOf(world)).toEqual(["POST /pay", "POST /pay", "POST /pay"]);
  expect(new Set(world.seen.map(({ key }) => key)).size).toBe(3);
});

describe("random numbers", () => {
  const CHANCE = { do: "chance" };

  test("that are drawn before a question are not those that are drawn after another answer", async () => {
    const round = await planned(CHANCE, ELICIT, CHANCE, { do: "config" }, CHANCE);
    const ends = [];
    for (const name of ["Ada", "Bob", "Ada"]) {
      ends.push(saidIn(await goOn(round, { ask_1: accept(name) })));
    }
    const [ada, bob, again] = ends;
    expect(again).toEqual(ada);
    expect(bob[0]).toBe(ada[0]);
    expect(new Set([...ada, ...bob].filter((one) => typeof one === "number")).size).toBe(5);
  });

  test("differ where the world answers otherwise", async () => {
    newWorld();
    const round = await planned(
      CHANCE,
      ELICIT,
      http("GET", "/a"),
      CHANCE,
      { do: "sleep", ms: 1 },
      CHANCE,
    );
    const first = saidIn(await goOn(round, { ask_1: accept("Ada") }));
    globalThis.fetch = async () => new Response("another answer");
    const second = saidIn(await goOn(round, { ask_1: accept("Ada") }));
    const numbers = [...first, ...second].filter((one) => typeof one === "number");
    expect(second[0]).toBe(first[0]);
    expect(new Set(numbers).size).toBe(5);
  });
});

test("a call that goes on with requests that change nothing keeps nothing", async () => {
  newWorld();
  const states = env.STATES!;
  const before = (await listDurableObjectIds(states)).length;
  const round = await planned(
    ELICIT,
    ...["GET", "HEAD", "OPTIONS"].map((method) => http(method, "/a")),
  );
  await goOn(round, ADA);
  expect((await listDurableObjectIds(states)).length).toBe(before);
});

describe("a retry with a single-use state", () => {
  test("gives the same result, or asks the same again", async () => {
    const world = newWorld();
    const round = await beginTool("plan", steps(ELICIT, PAY, ELICIT, PAY), SINGLE);
    const [next, again] = [await goOnAsked(round, ADA), await goOnAsked(round, ADA)];
    expect(again.state).toBe(next.state);
    const bob = { ask_3: accept("Bob") };
    const [first, second] = [await goOn(next, bob), await goOn(again, bob)];
    expect(saidIn(first)).toEqual(["Ada", PAID, "Bob", PAID]);
    expect(second.result).toEqual(first.result);
    expect(linesOf(world)).toEqual(["POST /pay", "POST /pay"]);
  });

  test("gives the same failure", async () => {
    newWorld();
    let status = 200;
    globalThis.fetch = async () => new Response("", { status: status++ });
    const args = { rounds: 1, post: "https://world.example/tick" };
    const round = await beginTool("rounds", args, SINGLE);
    for (let times = 0; times < 2; times++) {
      const answer = await goOn(round, { name: accept("Ada", "name") });
      expect(textIn(answer)).toBe("The world says 201.");
    }
    expect(status).toBe(202);
  });

  test("gives the same error of the protocol", async () => {
    limited({ inputRounds: 1 });
    const round = await beginTool("plan", steps(ELICIT, ELICIT), SINGLE);
    const first = await goOn(round, ADA);
    limited({ inputRounds: 10 });
    const second = await goOn(round, ADA);
    expect(first.error?.message).toMatch(/too often in one call \(limit 1\)/);
    expect(second.error).toEqual(first.error);
  });

  test("goes on where its server stopped before it could answer", async () => {
    const world = newWorld();
    const round = await beginTool("plan", steps(ELICIT, PAY), SINGLE);
    await cutAt("settle", async () => {
      expect((await goOn(round, ADA)).status).toBe(500);
    });
    expect(saidIn(await goOn(round, ADA))).toEqual(["Ada", PAID]);
    expect(linesOf(world)).toEqual(["POST /pay"]);
    const other = await goOn(round, { ask_1: accept("Bob") });
    expect(other.error?.message).toMatch(/was used before, with other answers/);
  });
});
