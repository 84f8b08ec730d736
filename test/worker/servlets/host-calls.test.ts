import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import type { HostAnswer, HostCall } from "../../../src/server/kernel/core/call-context.ts";
import { Wait } from "../../../src/server/kernel/core/suspension.ts";
import { Kernel, type Feature } from "../../../src/server/kernel/kernel.ts";
import { dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import { callExport, type Setup } from "../../../src/server/kernel/wasm/call.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { bundle } from "../../bundle.gen.ts";
import { ask, settings } from "../server.ts";

/** Host functions that a feature adds, called by a servlet in TypeScript. */
const gotten: unknown[] = [];
const testFeature: Feature = {
  name: "test",
  start: () => ({
    hostFunctions: {
      "test.echo": async (payload, { servlet, call }) => {
        gotten.push(payload);
        return { payload, servlet: servlet.name, caller: call.principal.name };
      },
      "test.nothing": async () => undefined,
      "test.refuse": async () => {
        throw new Fault("invalid_params", "Not this one.");
      },
      "test.break": async () => {
        throw new Error("a secret of the server");
      },
      "test.large": async () => "x".repeat(limits.hostBytes),
    },
  }),
};
const server = createApp(
  new Kernel({ ...bundle, features: [testFeature] }, { ...settings } as typeof settings),
);

const callTool = (args: object) => ask("tools/call", { name: "host", arguments: args }, {}, server);
const callHost = (asked: unknown, more: object = {}) =>
  callTool({ function: "call_host", asked, ...more });
const textOf = ({ result, error }: Awaited<ReturnType<typeof callTool>>): string =>
  result?.["content"][0].text ?? JSON.stringify(error);

describe("a host function of a feature", () => {
  test.each<[payload: unknown]>([[{ a: ["ä", 1] }], ["text"], [null], [{ constructor: 1 }]])(
    "gets the payload and the call: %j",
    async (payload) => {
      const answer = JSON.parse(textOf(await callHost({ name: "test.echo", payload })));
      const caller = expect.any(String);
      expect(answer).toEqual({ result: { payload, servlet: "script", caller } });
    },
  );

  test("that returns nothing gives null", async () => {
    expect(textOf(await callHost({ name: "test.nothing" }))).toBe('{"result":null}');
  });

  test("refuses with a message for the servlet", async () => {
    expect(textOf(await callHost({ name: "test.refuse" }))).toBe('{"failed":"Not this one."}');
  });

  test("that breaks ends the call, and tells nothing of why", async () => {
    const text = textOf(await callHost({ name: "test.break" }));
    expect(text).toContain("Internal error");
    expect(text).not.toContain("secret");
  });

  test.each(["test.other", "", "__proto__", "constructor", "call_tool"])(
    "that no feature has is refused by its name: %j",
    async (name) => {
      expect(JSON.parse(textOf(await callHost({ name })))).toEqual({
        failed: expect.stringContaining(`There is no host function ${name}:`),
      });
    },
  );

  test.each<[what: string, args: object, message: RegExp]>([
    ["without a name", { asked: { payload: 1 } }, /expects the name of a host function/],
    ["by a list of one name", { asked: { name: ["test.echo"] } }, /expects the name/],
    ["with a text that is no JSON", { text: "test.echo" }, /expects a JSON object/],
    ["with JSON beyond measure", { times: 1, text: "x".repeat(900_000) }, /expects a JSON object/],
  ])("is not called %s", async (_what, args, message) => {
    gotten.length = 0;
    const { result } = await callTool({ function: "call_host", ...args });
    expect(result).toMatchObject({ isError: true });
    expect(result!["content"][0].text).toMatch(message);
    expect(gotten).toEqual([]);
  });

  test("whose answer is larger than a call may hold ends the call", async () => {
    const { result } = await callHost({ name: "test.large" });
    expect(result).toMatchObject({ isError: true });
    expect(textOf({ status: 200, result: result! })).toMatch(/of the server's memory in one call/);
  });

  test("is called so many times in one run, and no more", async () => {
    const usual = limits.hostCalls;
    onTestFinished(() => configureLimits({ hostCalls: usual }));
    configureLimits({ hostCalls: 3 });
    gotten.length = 0;
    const echo = { name: "test.echo" };
    expect(textOf(await callHost(echo, { times: 3 }))).toContain('"result"');
    expect(textOf(await callHost(echo, { times: 4 }))).toMatch(/too many calls.*limit 3/);
    expect(gotten).toHaveLength(6);
  });
});

test("a name that the interpreter does not know calls nothing", async () => {
  const { result } = await callTool({ function: "call_tol", asked: { name: "greet" } });
  expect(result).toMatchObject({ isError: true });
  expect(result!["content"][0].text).toBe("There is no host function call_tol.");
});

describe("a run of a servlet", () => {
  const script = bundle.servlets.find(({ name }) => name === "script")!;
  const program = { ...script, ...dialects[script.dialect] } as Parameters<typeof callExport>[0];
  const run = (args: object, setup: Partial<Setup>, recorded?: unknown) => {
    const request = { name: "host", arguments: { function: "call_host", ...args } };
    const input = JSON.stringify({ request, context: { id: "1", _meta: {} } });
    return callExport(program, "call_tool", input, {
      ...nobody,
      ...setup,
      ...(recorded === undefined ? {} : { recorded: recorded as never }),
    });
  };

  const wait = () => Promise.reject(new Wait({ kind: "retry", until: 0, ms: 0 }));
  const roots = { result: { roots: [] } };
  const answering: Setup["ask"] = async (asks) =>
    Object.fromEntries(Object.keys(asks).map((key) => [key, roots])) as never;

  test("that is repeated gets the recorded answer, without a call", async () => {
    const asked: HostCall[] = [];
    const callIt: Setup["callHost"] = async (one) => {
      asked.push(one);
      return { result: asked.length };
    };
    const args = { asked: { name: "test.count", payload: "p" }, isAsking: true };
    const first = await run(args, { callHost: callIt, ask: wait });
    if (first.kind !== "suspended") throw new Error(first.kind);
    const second = await run(args, { callHost: callIt, ask: answering }, first.recorded);
    if (second.kind !== "returned") throw new Error(second.kind);
    expect(JSON.parse(second.output!).content[0].text).toBe('{"result":1}');
    expect(asked).toEqual([{ name: "test.count", payload: "p" }]);
  });

  test("that is repeated reads again what it has read, and fails again where it failed", async () => {
    const args = { asked: { name: "test.read", payload: "p" }, isAsking: true };
    const repeated = async (before: HostAnswer, now: HostAnswer) => {
      const first = await run(args, { callHost: async () => before, ask: wait });
      if (first.kind !== "suspended") throw new Error(first.kind);
      const second = await run(args, { callHost: async () => now, ask: answering }, first.recorded);
      if (second.kind !== "returned") throw new Error(second.kind);
      return JSON.parse(second.output!).content[0].text;
    };
    expect(await repeated({ result: 1 }, { result: 1 })).toBe('{"result":1}');
    expect(await repeated({ failed: "no" }, { result: 1 })).toBe('{"failed":"no"}');
    await expect(repeated({ result: 1 }, { failed: "It is gone." })).rejects.toThrow(
      "The call cannot go on: it has read something by test.read that cannot be read any more. It is gone.",
    );
  });

  test("pays for each call and each byte", async () => {
    const fuelOf = async (args: object) => {
      const ending = await run(args, { callHost: async () => ({ result: null }) });
      if (ending.kind !== "returned") throw new Error(ending.kind);
      return ending.fuelUsed;
    };
    const one = await fuelOf({ asked: { name: "a" } });
    expect((await fuelOf({ asked: { name: "a" }, times: 11 })) - one).toBeGreaterThan(1_000_000);
    const large = await fuelOf({ asked: { name: "a", payload: "x".repeat(10_000) } });
    expect(large - one).toBeGreaterThan(1_000_000);
  });

  test("where no features can be reached is told so", async () => {
    const ending = await run({ asked: { name: "test.echo" } }, {});
    expect(JSON.stringify(ending)).toContain("no feature of this server has any");
  });
});
