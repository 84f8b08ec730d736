import { describe, expect, test } from "vitest";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  prepare,
  refused,
  type Sent,
  textIn,
} from "../../worker/calls/client.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { at, PROFILES, profiled } from "../../worker/profiles.ts";

/** Calls at the endpoint of a profile that wait for their client. */
prepare();

const server = profiled();
const support: Sent = { server: at("support", server) };
const plans: Sent = { server: at("plans", server) };
const whole: Sent = { server };

describe("a pinned argument", () => {
  test("is given again when its call goes on, as it was when the call began", async () => {
    const other = { ...PROFILES, support: { ...PROFILES["support"]!, arguments: {} } };
    const round = await beginTool("rounds", { rounds: 1 }, support);
    expect(Object.keys(round.requests)).toEqual(["pinned"]);
    const later = { server: at("support", profiled({}, other)) };
    const answer = await goOn(round, { pinned: accept("Bob", "name") }, {}, later);
    expect(textIn(answer)).toBe("Bob");
  });

  test("of a later deployment is not given to a call that began without it", async () => {
    const before = { ...PROFILES, support: { ...PROFILES["support"]!, arguments: {} } };
    const earlier = { server: at("support", profiled({}, before)) };
    const round = await beginTool("rounds", { rounds: 1, key: "mine" }, earlier);
    const answer = await goOn(round, { mine: accept("Bob", "name") }, {}, support);
    expect(textIn(answer)).toBe("Bob");
    const { result } = await callOf("rounds", { rounds: 1, key: "mine" }, support);
    expect(result).toMatchObject({ isError: true });
  });
});

describe("what began at one endpoint is at no other", () => {
  test("a call that waits for its client", async () => {
    const round = await beginTool("plan", steps(ELICIT), support);
    const answers = { ask_1: accept("Bob") };
    for (const elsewhere of [plans, whole])
      expect(await goOn(round, answers, {}, elsewhere)).toMatchObject(refused(/another endpoint/));
    expect(saidIn(await goOn(round, answers))).toEqual(["Bob"]);
    const own = await beginTool("plan", steps(ELICIT), whole);
    expect(await goOn(own, answers, {}, support)).toMatchObject(refused(/another endpoint/));
  });
});
