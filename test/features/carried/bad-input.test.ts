import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import {
  accept,
  as,
  begin,
  beginTool,
  changed,
  clock,
  goOn,
  keyed,
  prepare,
  refused,
  serverOf,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import { planned, saidIn, steps } from "../../worker/calls/plans.ts";

/** Altered request states, and answers that do not fit the question. */
prepare();

const CALL_AGAIN = /^params\.requestState .*[Cc]all again without it/;

describe("a state", () => {
  const bytesOf = (state: string) => Uint8Array.fromBase64(state, { alphabet: "base64url" });
  const textOf = (bytes: Uint8Array) =>
    bytes.toBase64({ alphabet: "base64url", omitPadding: true });

  test("that was altered in any of its regions is refused", async () => {
    const round = await planned({ do: "elicit" });
    const { length } = bytesOf(round.state);
    const places = [0, 1, 2, 3, 4, 9, 15, 16, 17, 40, length >> 1, length - 17, length - 16];
    for (const at of [...places, length - 2, length - 1]) {
      const bytes = bytesOf(round.state);
      bytes[at]! ^= 1;
      const answer = await goOn(round, { ask_1: accept("x") }, { requestState: textOf(bytes) });
      expect(answer, `byte ${at} of ${length}`).toMatchObject(refused(CALL_AGAIN));
    }
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
  });

  test("that was cut, or has more, is refused", async () => {
    const round = await planned({ do: "elicit" });
    const { state } = round;
    const cuts = [0, 1, 4, 5, 16, 20, 22, 23, 60, state.length - 4, state.length - 1];
    const others = cuts.map((end) => state.slice(0, end));
    for (const requestState of [...others, state.slice(4), `${state}AAAA`, state + state]) {
      const answer = await goOn(round, { ask_1: accept("x") }, { requestState });
      expect(answer).toMatchObject(refused(CALL_AGAIN));
    }
  });

  test.each<[what: unknown]>([
    ["nonsense"],
    ["ünïcode"],
    ["%%%%"],
    ["AAAA AAAA"],
    ["A".repeat(1_000_000)],
    [null],
    [7],
    [{}],
    [[]],
    [true],
  ])("that is not valid is refused (%#)", async (requestState) => {
    const round = await planned({ do: "elicit" });
    const answer = await goOn(round, { ask_1: accept("x") }, { requestState });
    expect(answer).toMatchObject(refused(CALL_AGAIN));
  });

  test.each<[what: string, other: Json, method?: string]>([
    ["tool", { name: "plan_never" }],
    ["tool that takes the same", { name: "plan_always" }],
    ["arguments", { arguments: steps({ do: "elicit" }, { do: "roots" }) }],
    ["arguments: none", { arguments: undefined }],
    ["method", { name: "plan_prompt", arguments: {} }, "prompts/get"],
  ])("of another call is refused: other %s", async (_what, other, method) => {
    const round = await planned({ do: "elicit" });
    const asked = { ...round, ...(method !== undefined && { method }) };
    const answer = await goOn(asked, { ask_1: accept("x") }, other);
    expect(answer).toMatchObject(refused(/belongs to another call. Call again/));
  });

  test("of a resource is refused for another one, and for a prompt", async () => {
    const round = await begin("resources/read", { uri: "plan://resource" });
    const name = accept("Ada", "name");
    const other = await goOn(round, { ask_1: name }, { uri: "test://static-text" });
    expect(other).toMatchObject(refused(/belongs to another call/));
    const prompt = { ...round, method: "prompts/get", params: { name: "plan_prompt" } };
    expect(await goOn(prompt, { ask_1: name })).toMatchObject(refused(/belongs to another call/));
  });

  test("is of its call whatever the order of the arguments, and whatever else is sent", async () => {
    const round = await beginTool("rounds", { rounds: 1, key: "who" });
    const other = { arguments: { key: "who", rounds: 1 } };
    const sent = { meta: { progressToken: 7, "example.com/a": 1 }, headers: { "x-a": "1" } };
    const answer = await goOn(round, { who: accept("Ada", "name") }, other, sent);
    expect(textIn(answer)).toBe("Ada");
  });

  test("of another principal is refused", async () => {
    const server = await keyed("ada", "bob");
    const round = await beginTool("plan", steps({ do: "elicit" }), { server, ...as("ada") });
    const answer = await goOn(round, { ask_1: accept("x") }, {}, as("bob"));
    expect(answer).toMatchObject(refused(/belongs to another caller. Call again/));
    expect((await goOn(round, { ask_1: accept("x") }, {}, { headers: {} })).status).toBe(401);
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
    const anonymous = await planned({ do: "elicit" });
    const named = await goOn(anonymous, { ask_1: accept("x") }, {}, { server, ...as("bob") });
    expect(named).toMatchObject(refused(/belongs to another caller/));
  });

  test("of a servlet that was deployed anew since is refused", async () => {
    const round = await planned({ do: "elicit" });
    const server = serverOf(changed("durable", () => ({ hash: "0".repeat(64) })));
    const answer = await goOn(round, { ask_1: accept("x") }, {}, { server });
    expect(answer).toMatchObject(refused(/servlet or this server was updated.*Call again/));
  });

  test("is good where another servlet was deployed anew", async () => {
    const round = await planned({ do: "elicit" });
    const server = serverOf(changed("hello", () => ({ hash: "0".repeat(64) })));
    expect(saidIn(await goOn(round, { ask_1: accept("x") }, {}, { server }))).toEqual(["x"]);
  });

  test("is good for as long as it says, under new keys too, and not for longer", async () => {
    const round = await planned({ do: "elicit" });
    clock.aheadMs += limits.stateMs - 10_000;
    expect(saidIn(await goOn(round, { ask_1: accept("x") }))).toEqual(["x"]);
    clock.aheadMs += 11_000;
    expect(await goOn(round, { ask_1: accept("x") })).toMatchObject(refused(CALL_AGAIN));
  });

  test("may be brought twice, and what comes of it shares no random numbers", async () => {
    const round = await planned({ do: "elicit" }, { do: "random" }, { do: "elicit" });
    const [one, two] = await Promise.all([
      goOn(round, { ask_1: accept("one") }),
      goOn(round, { ask_1: accept("two") }),
    ]);
    const idsOf = async (answer: typeof one) => {
      const state = answer.result!["requestState"];
      const { result } = await goOn({ ...round, state }, { ask_2: accept("last") });
      return result!["structuredContent"].ids as string[];
    };
    const [first, second] = [await idsOf(one), await idsOf(two)];
    expect(second[0]).toBe(first[0]);
    expect(second[1]).not.toBe(first[1]);
    expect(second[2]).not.toBe(first[2]);
  });
});
