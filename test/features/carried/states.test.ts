import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  accept,
  beginTool,
  changed,
  goOn,
  goOnAsked,
  prepare,
  serverOf,
  type Json,
  type Round,
} from "../../worker/calls/client.ts";
import { saidIn, steps } from "../../worker/calls/plans.ts";

/** The request state that a client carries from round to round: its size, lifetime and number of uses. */
prepare();

const states = env.STATES!;

describe("the state", () => {
  const ids = async () => (await listDurableObjectIds(states)).map(String);

  /** An answer that does not get smaller when it is compressed. */
  const noise = () => crypto.getRandomValues(new Uint8Array(30_000)).toBase64();

  async function large(name = "plan", sent = {}): Promise<{ round: Round; id: string }> {
    const before = await ids();
    const asks = steps({ do: "elicit" }, { do: "elicit", message: "Again?" });
    const first = await beginTool(name, asks, sent);
    const round = await goOnAsked(first, { ask_1: accept(noise()) });
    const made = (await ids()).filter((id) => !before.includes(id));
    expect(made).toHaveLength(1);
    return { round, id: made[0]! };
  }

  test("of a call with one question is at most 1 KB", async () => {
    const before = await ids();
    const { state } = await beginTool("test_elicitation", { message: "Who are you?" });
    expect(state.length).toBeLessThanOrEqual(1024);
    expect(await ids()).toEqual(before);
  });

  test("is kept in storage where it is large, and can be brought back twice", async () => {
    const { round } = await large();
    expect(round.state.length).toBeLessThan(256);
    for (const last of ["one", "two"]) {
      expect(saidIn(await goOn(round, { ask_2: accept(last) }))).toEqual([
        expect.any(String),
        last,
      ]);
    }
  });

  test("goes from storage when it expires, whether its client came back or not", async () => {
    const { round, id } = await large();
    const object = states.get(states.idFromString(id));
    const due = await runInDurableObject(object, (_instance, { storage }) => storage.getAlarm());
    expect(due! - Date.now()).toBeGreaterThan(limits.stateMs - 10_000);
    expect(due! - Date.now()).toBeLessThanOrEqual(limits.stateMs);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    await runInDurableObject(object, async (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT name FROM sqlite_master").toArray()).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
    const { error } = await goOn(round, { ask_2: accept("late") });
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/call again without it/),
    });
  });

  describe("of a servlet that wants it used once", () => {
    const single = serverOf(
      changed("durable", ({ manifest }) => ({ manifest: { ...manifest, single_use_state: true } })),
    );
    const sent = { server: single };

    test.each<[name: string, args: Json, key: string, field: string]>([
      ["plan", steps({ do: "elicit" }), "ask_1", "value"],
      ["rounds", { rounds: 1 }, "name", "name"],
    ])("%s: the second time other answers are refused", async (name, args, key, field) => {
      const round = await beginTool(name, args, sent);
      const answer = { [key]: accept("once", field) };
      expect((await goOn(round, answer)).result).not.toHaveProperty("isError");
      const again = await goOn(round, { [key]: accept("twice", field) });
      expect(again.error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/was used before.*Check what the call has done/),
      });
    });

    test("so it is where both come at once", async () => {
      const round = await beginTool("plan", steps({ do: "elicit" }), sent);
      const both = await Promise.all(
        ["one", "two"].map((value) => goOn(round, { ask_1: accept(value) })),
      );
      expect(both.filter(({ result }) => result !== undefined)).toHaveLength(1);
      expect(both.filter(({ error }) => error?.code === -32602)).toHaveLength(1);
    });

    test("and each round has a state of its own", async () => {
      const first = await beginTool("plan", steps({ do: "inputs", keys: ["a", "b"] }), sent);
      const second = await goOnAsked(first, { a: accept("A") });
      expect((await goOn(first, { a: accept("A"), b: accept("B") })).error?.code).toBe(-32602);
      const answer = await goOn(second, { b: accept("B") });
      expect(saidIn(answer)).toEqual([{ a: accept("A"), b: accept("B") }]);
    });

    test("wrong answers can be corrected", async () => {
      const round = await beginTool("plan", steps({ do: "elicit" }), sent);
      expect((await goOn(round, { ask_1: { action: "perhaps" } })).error?.code).toBe(-32602);
      expect(saidIn(await goOn(round, { ask_1: accept("once") }))).toEqual(["once"]);
    });
  });
});
