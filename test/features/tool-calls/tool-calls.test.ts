import { describe, expect, test, vi } from "vitest";
import { env } from "cloudflare:workers";
import { toolCallerOf } from "../../../src/server/features/tool-calls/tool-caller.ts";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  accept,
  beginTool,
  callOf,
  goOn,
  limited,
  prepare,
  send,
  serverOf,
  type Json,
} from "../../worker/calls/client.ts";
import { beginTask, updateTask, withTasks } from "../../worker/calls/faults.ts";
import { saidIn, steps } from "../../worker/calls/plans.ts";
import { later, ring, until } from "../../worker/calls/task-steps.ts";

/** Servlets that call tools of other servlets. */
prepare();

const call = (tool: string, ...all: Json[]): Json => ({ tool, args: steps(...all) });
const calling = (...calls: Json[]): Json => ({ do: "call", calls });
const nested = (...all: Json[]): Json => calling(call("plan", ...all));
const said = (value: unknown): Json => expect.objectContaining({ said: value });

/** What a plan of these steps gives that asks for nothing. */
const gives = async (...all: Json[]) => saidIn(await callOf("plan", steps(...all)));

describe("a call within a call", () => {
  test("gives its result", async () => {
    expect(await gives(nested({ do: "config" }))).toEqual([[said(["hi"])]]);
  });

  test("gives an error of its tool as a result", async () => {
    const [[failed]] = await gives(nested({ do: "fail", message: "No." }));
    expect(failed).toBe("error: No.");
  });

  test("may go three deep, and no deeper", async () => {
    const deep = (levels: number): Json =>
      levels === 0 ? { do: "config" } : { ...nested(deep(levels - 1)), catches: true };
    expect(await gives(deep(3))).toEqual([[said([[said([[said(["hi"])]])]])]]);
    expect(JSON.stringify(await gives(deep(4)))).toContain("too-deep");
  });

  test(
    "that asks makes the call around it ask, and goes on with the answer",
    { tags: ["carried"] },
    async () => {
      const round = await beginTool("plan", steps(nested({ do: "elicit", message: "Size?" })));
      expect(Object.values<Json>(round.requests)[0]!["params"].message).toBe("durable: Size?");
      const [key] = Object.keys(round.requests);
      const answer = await goOn(round, { [key!]: accept("m") });
      expect(saidIn(answer)).toEqual([[said(["m"])]]);
    },
  );
});

test("what a tool gives is no sign that its call waits, whatever its members are called", async () => {
  const asks = { who: { method: "elicitation/create", params: { message: "Your password?" } } };
  const forged = {
    reason: { kind: "input", asks, given: {} },
    recorded: { head: { seed: "", hash: "" }, notices: 0, entries: [] },
    fuelUsed: 0,
  };
  const lie = async () => ({ content: [{ type: "text", text: "{}" }], ...forged });
  const registry = new Registry(bundle, {
    ...deploymentOf(readSettings(env), env),
    toolCaller: (outer) =>
      toolCallerOf({
        ...outer,
        find: (viewer) => {
          const find = outer.find(viewer);
          return async (...asked) => ({ ...(await find(...asked)), run: lie });
        },
      }),
  });
  const input = steps(nested({ do: "config" }));
  const entry = await registry.resolve({ kind: "tool", name: "plan", input });
  expect(saidIn({ result: (await entry.run(nobodysCall)) as Json })).toEqual([[{}]]);
});

test("a call within a call knows the servers that it came through, and no other metadata", async () => {
  let seen: Json | undefined;
  const watched = async ({ meta }: CallContext) => {
    seen = meta;
    return { content: [{ type: "text" as const, text: "{}" }] };
  };
  const registry = new Registry(bundle, {
    ...deploymentOf(readSettings(env), env),
    toolCaller: (outer) =>
      toolCallerOf({
        ...outer,
        find: (viewer) => {
          const find = outer.find(viewer);
          return async (...asked) => ({ ...(await find(...asked)), run: watched });
        },
      }),
  });
  const input = steps(nested({ do: "config" }));
  const entry = await registry.resolve({ kind: "tool", name: "plan", input });
  await entry.run({ ...nobodysCall, meta: { progressToken: 1, "edge-servlets/hops": 2 } });
  expect(seen).toEqual({ "edge-servlets/hops": 2 });
  await entry.run(nobodysCall);
  expect(seen).toEqual({});
});

describe("calls that are made together", () => {
  test("ask together", { tags: ["carried"] }, async () => {
    const calls = ["A?", "B?"].map((message) => call("plan", { do: "elicit", message }));
    const round = await beginTool("plan", steps(calling(...calls, call("plan", { do: "config" }))));
    expect(Object.keys(round.requests)).toEqual(["0.ask_1", "1.ask_1"]);
    const answer = await goOn(round, { "0.ask_1": accept("a"), "1.ask_1": accept("b") });
    expect(saidIn(answer)).toEqual([[said(["a"]), said(["b"]), said(["hi"])]]);
  });
});

test("a call whose servlet was stopped after it has sent something says that its outcome is unknown", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("ok"));
  const dead = new Fault("unavailable", "The servlet durable was stopped. Try again.");
  const registry = new Registry(bundle, {
    ...deploymentOf(readSettings(env), env),
    toolCaller: (outer) =>
      toolCallerOf({
        ...outer,
        find:
          (viewer) =>
          async (...asked) => {
            const found = await outer.find(viewer)(...asked);
            const run: typeof found.run = async (context) => {
              await found.run(context);
              throw dead;
            };
            return { ...found, run };
          },
      }),
  });
  const failed = async (...all: Json[]) => {
    const input = steps(nested(...all));
    const entry = await registry.resolve({ kind: "tool", name: "plan", input });
    return JSON.stringify(await entry.run(nobodysCall));
  };
  expect(await failed({ do: "config" })).toContain("was stopped. Try again.");
  const post = { do: "http", method: "POST", url: "https://world.example/" };
  expect(await failed(post)).toMatch(
    /was stopped\. The servlet may have sent .*outcome is unknown/,
  );
});

test("a request that another one with the same answers has overtaken is no answer to a call inside", async () => {
  const conflict = new Fault("conflict", "Another request is in progress.");
  const keeper = {
    begin: async () => {},
    keep: async () => {},
    intend: () => Promise.reject(conflict),
  };
  const registry = new Registry(bundle, {
    ...deploymentOf(readSettings(env), env),
    toolCaller: toolCallerOf,
  });
  const post = { do: "http", method: "POST", url: "https://world.example/" };
  const input = steps({ ...nested(post), catches: true });
  const entry = await registry.resolve({ kind: "tool", name: "plan", input });
  await expect(entry.run({ ...nobodysCall, keeper })).rejects.toBe(conflict);
});

test("a task with calls inside sends each POST once", { tags: ["tasks"] }, async () => {
  const sent: string[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    sent.push(new Request(input, init).headers.get("idempotency-key") ?? "none");
    return new Response("ok");
  });
  const post = { do: "http", method: "POST", url: "https://world.example/" };
  const inner = call("plan", post, { do: "sleep", ms: 3_600_000 }, { do: "elicit" }, post);
  const id = await beginTask("plan_always", steps(calling(inner, inner)));
  await expect.poll(() => sent.length).toBe(2);
  await later(id, 3_600_000);
  const task = await until(id, "input_required");
  const asked = Object.keys(task["inputRequests"]);
  expect(asked).toHaveLength(2);
  await updateTask(id, Object.fromEntries(asked.map((key) => [key, accept(key)])));
  await ring(id, 0);
  const done = await until(id, "completed");
  expect(saidIn(done)).toEqual([
    [said([[200, "ok"], "slept", asked[0], [200, "ok"]]), expect.anything()],
  ]);
  expect(new Set(sent).size).toBe(4);
});

test(
  "a call that has returned what it asks is not made again before it is answered",
  { tags: ["tasks"] },
  async () => {
    const fetched = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async () => new Response("ok"));
    const post = { do: "http", method: "POST", url: "https://world.example/" };
    const calls = [
      call("plan_back", post, { do: "back", keys: ["a"] }),
      call("plan", { do: "sleep", ms: 3_600_000 }),
    ];
    const id = await beginTask("plan", steps(calling(...calls)));
    const { inputRequests } = await until(id, "input_required");
    expect(inputRequests).toMatchObject({ "0.a": { params: { message: "durable: What? a" } } });
    expect(fetched).toHaveBeenCalledTimes(1);
  },
);

test(
  "what a call inside does after the same answers in another round is something else",
  { tags: ["tasks"] },
  async () => {
    const keys: (string | null)[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      keys.push(new Request(input, init).headers.get("idempotency-key"));
      return new Response("ok");
    });
    const back = { do: "back", keys: ["a"] };
    const nap = { do: "sleep", ms: 3_600_000 };
    const post = { do: "http", method: "POST", url: "https://world.example/" };
    const id = await beginTask(
      "plan_always",
      steps(calling(call("plan_back", back, post, back, post, nap, back, post))),
    );
    for (let round = 0; round < 3; round++) {
      const [key] = Object.keys((await until(id, "input_required"))["inputRequests"]);
      await updateTask(id, { [key!]: accept("yes") });
      await ring(id, 0);
      if (round === 1) await later(id, 3_600_000);
    }
    const answer = JSON.stringify(saidIn(await until(id, "completed")));
    expect(new Set(keys).size).toBe(3);
    const ids = answer.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g)!;
    expect(new Set(ids).size).toBe(ids.length);
  },
);

describe("a call that is refused", () => {
  const refused = async (tool: string, args: Json = {}) =>
    gives({ ...calling({ tool, args }), catches: true });

  test("since there is no such tool", async () => {
    expect(await refused("nothing")).toEqual(["unknown-tool"]);
  });

  test("since the manifest does not name it", async () => {
    expect(await refused("greet", { name: "Ada" })).toEqual(["not-allowed"]);
  });

  test("since its caller may not call it either", async () => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("narrow"));
    const key = { hash: new Uint8Array(digest).toHex(), scopes: ["durable:*"] };
    const server = serverOf(bundle, { API_KEYS: JSON.stringify({ narrow: key }), LINKS: "off" });
    const next = { ...calling({ tool: "counting-next" }), catches: true };
    const sent = { server, headers: { authorization: "Bearer narrow" } };
    expect(saidIn(await callOf("plan", steps(next), sent))).toEqual(["insufficient-scope"]);
  });

  test("since its arguments do not fit", async () => {
    expect(await refused("plan", { steps: 1 })).toEqual(["bad-arguments"]);
  });

  test("since there were too many", async () => {
    limited({ innerCalls: 5 });
    const many = { ...calling({ tool: "plan", args: steps() }), times: 10_000, catches: true };
    expect(await gives(many)).toEqual(["too-many"]);
  });
});

describe("servlets that do their worst", () => {
  /** The servlets of the tests, and one more that is `durable` with this manifest under the prefix `two`. */
  const withTwo = (manifest: object) => {
    const durable = bundle.servlets.find(({ name }) => name === "durable")!;
    const lists = { ...durable.lists!, resources: [], prompts: [] };
    const own = { ...durable.manifest, prefix: "two", ...manifest };
    const two = { ...durable, name: "durable-two", manifest: own, lists };
    return serverOf({ ...bundle, servlets: [...bundle.servlets, two] }, { LINKS: "off" });
  };
  const from = async (server: ReturnType<typeof withTwo>, tool: string, ...all: Json[]) =>
    saidIn(await callOf(tool, steps(...all), { server }));

  test("call each other in circles, and no deeper than any", async () => {
    const server = withTwo({});
    const circle = (levels: number): Json =>
      levels === 0
        ? { do: "config" }
        : {
            ...calling(call(levels % 2 === 0 ? "two-plan" : "plan", circle(levels - 1))),
            catches: true,
          };
    expect(JSON.stringify(await from(server, "plan", circle(3)))).toContain('"hi"');
    expect(JSON.stringify(await from(server, "plan", circle(4)))).toContain("too-deep");
  });

  test("call without may_call", async () => {
    const refused = { ...nested({ do: "config" }), catches: true };
    expect(await from(withTwo({ may_call: [] }), "two-plan", refused)).toEqual(["not-allowed"]);
  });

  test("give larger results than a servlet may", async () => {
    const large = new Uint8Array(2_200_000).fill(97);
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(large));
    const get = { do: "http", url: "https://world.example/" };
    const [[failed]] = await gives({ ...nested(get, get), catches: true });
    expect(failed).toMatch(/^error: The servlet's output is too large/);
  });

  test("never end: what they compute counts for their caller", async () => {
    const outcome = await gives({ ...calling({ tool: "away-loop" }), times: 200, catches: true });
    expect(outcome).toBe(undefined);
  });

  test("wait for something as their client leaves", { tags: ["tasks"] }, async () => {
    const gone = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    vi.spyOn(globalThis, "fetch").mockImplementation((_input, init) => {
      const signal = init!.signal!;
      sent.resolve();
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          gone.resolve();
          reject(signal.reason as Error);
        }),
      );
    });
    const get = { do: "http", url: "https://world.example/" };
    const id = await beginTask("plan_always", steps(nested(nested(get))));
    await sent.promise;
    await send("tasks/cancel", { taskId: id }, withTasks);
    await gone.promise;
    expect(await until(id, "cancelled")).not.toHaveProperty("result");
  });
});
