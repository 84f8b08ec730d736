import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { StateVault } from "../../../src/server/features/carried/state-vault.ts";
import { sealerOf } from "../../../src/server/kernel/storage/vault.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  accept,
  beginTool,
  callOf,
  changed,
  goOn,
  goOnAsked,
  limited,
  prepare,
  ROOTS,
  send,
  serverOf,
  textIn,
  type Json,
  type Round,
} from "../../worker/calls/client.ts";
import { planned, steps } from "../../worker/calls/plans.ts";

/** Calls that ask for ever, or do not repeat what they did. */
prepare();

const vault = new StateVault(sealerOf(readSettings(env), env)!, env.STATES!);

describe("a servlet that asks for ever", () => {
  test("of the host, ends", async () => {
    limited({ journalEntries: 50 });
    const answer = await callOf("plan", steps({ do: "forever" }));
    expect(answer.result).toMatchObject({ isError: true });
    expect(textIn(answer)).toMatch(/more than 50 questions in one call/);
  });

  test("of its client, ends", async () => {
    limited({ journalEntries: 5 });
    let round = await beginTool(
      "plan",
      steps(...Array.from({ length: 10 }, () => ({ do: "elicit" }))),
    );
    for (let at = 1; at < 5; at++)
      round = await goOnAsked(round, { [`ask_${at}`]: accept("more") });
    const answer = await goOn(round, { ask_5: accept("more") });
    expect(textIn(answer)).toMatch(/more than 5 questions in one call/);
  });

  test("by huge answers, ends", async () => {
    limited({ hostBytes: 10_000 });
    const first = await planned({ do: "elicit" }, { do: "elicit" }, { do: "elicit" });
    const second = await goOnAsked(first, { ask_1: accept("x".repeat(6000)) });
    const answer = await goOn(second, { ask_2: accept("x".repeat(6000)) });
    expect(answer.result).toMatchObject({ isError: true });
    expect(textIn(answer)).toMatch(/of the server's memory in one call/);
  });
});

describe("a servlet that does not do the same again", () => {
  /** The state with what was recorded changed by hand. */
  async function rewritten({ state }: Round, change: (recorded: Json) => void): Promise<string> {
    const [opened, ...entries] = (await vault.open(state)) as Json[];
    const recorded = { ...opened!["recorded"], entries };
    change(recorded);
    const head = { ...opened, recorded: { ...recorded, entries: [] } };
    return vault.seal([head, ...recorded.entries], {
      until: opened!["until"],
      once: false,
      countStored: async () => {},
    });
  }

  const third = async () => {
    const first = await planned({ do: "config" }, { do: "elicit" }, { do: "roots" });
    return goOnAsked(first, { ask_2: accept("one") });
  };

  test.each<[what: string, change: (recorded: Json) => void, message: RegExp]>([
    [
      "asks for something else",
      ({ entries }) => (entries[0].what = "http GET api.example"),
      /answer 1 was to "http GET api\.example", and now it asked for "config greeting"/,
    ],
    [
      "asks with other content",
      ({ entries }) => (entries[1].digest = "0".repeat(64)),
      /answer 2 was to "elicitation\/create", and now it asked for the same with other content/,
    ],
    [
      "asks in another order",
      ({ entries }) => entries.unshift(entries.pop()),
      /answer 1 was to "elicitation\/create", and now it asked for "config greeting"/,
    ],
    [
      "ends too early",
      ({ entries, head, pending }) => {
        const input = JSON.parse(head.input);
        input.request.arguments.steps.length = 2;
        head.input = JSON.stringify(input);
        expect([entries.length, pending.what]).toEqual([2, "roots/list"]);
      },
      /answer 3 was to "roots\/list", and now it asked for "nothing more"/,
    ],
    [
      "asks for something else at last",
      ({ pending }) => (pending.what = "sampling/createMessage"),
      /answer 3 was to "sampling\/createMessage", and now it asked for "roots\/list"/,
    ],
  ])("because it %s", async (_what, change, message) => {
    const round = await third();
    const requestState = await rewritten(round, change);
    const { status, error, result } = await goOn(round, { ask_3: ROOTS }, { requestState });
    expect(result).toBeUndefined();
    expect(status).toBe(200);
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(message) });
    expect(error?.message).toMatch(/did not do the same again/);
  });

  test("or is another one under the same hash", async () => {
    const { module, patch } = bundle.servlets.find(({ name }) => name === "conformance")!;
    const other = serverOf(changed("durable", () => ({ module, patch })));
    const round = await beginTool("plan", steps({ do: "config" }, { do: "elicit" }));
    const { error } = await goOn(round, { ask_2: accept("x") }, {}, { server: other });
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/answer 1 was to/),
    });
  });
});

test("requests of other methods have no rounds", async () => {
  const { result } = await send("tools/list", { requestState: "x", inputResponses: 7 });
  expect(result?.["tools"].length).toBeGreaterThan(10);
});
