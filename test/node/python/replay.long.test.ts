import { beforeAll, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** Calls that are interrupted and run again see and do the same as those that are not. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/replaying");
});

/** The call with what it has posted, in order. Times and chance are its own. */
async function called(tool: string, args: object, script: Script, one = servlet) {
  const posts: string[] = [];
  const { result, asked, recorded, logs } = await one.callTool(
    tool,
    { ...args },
    {
      answers: {
        "elicitation/create": ({ message }) => ({
          action: "accept",
          content: { value: String(message) },
        }),
        "sampling/createMessage": () => ({ failed: "client-error" }),
      },
      tools: { forecast: "sunny" },
      fetch: async (request) => {
        posts.push(await request.text());
        return new Response("ok");
      },
      ...script,
    },
  );
  const messages = asked.map(({ params }) => params["message"] ?? "sample");
  const value = (result.structuredContent as { result: unknown } | undefined)?.result;
  return { value: value ?? result.content, posts, messages, logs, recorded };
}

const VALUES: [tool: string, args: object, value: unknown, posts: string[]][] = [
  ["keeps_nothing", {}, ["began", "asked"], []],
  ["cleans_up", {}, [{ type: "text", text: "A?" }], ["cleaned up"]],
  ["catches_all", {}, [{ type: "text", text: "A? B?" }], []],
  ["manages", {}, ["enters", "Enter?", "Within?", "Leave?", "leaves"], ["popped", "left"]],
  ["generates", {}, ["0?", "1?"], ["plain one closed", "closed"]],
  ["leaves_tasks", {}, [{ type: "text", text: "2" }], ["cancelled", "cancelled"]],
  ["swallows", {}, ["Cancelled 0?", "Cancelled 1?", "done"], []],
  ["times_out", { seconds: 60 }, ["sunny", "A?", "too late"], ["too late"]],
  ["runs", {}, ["A?", "B?"], []],
  ["gathers", {}, ["0? 200", "1? 200", "2? 200", "3? 200", "4? 200"], ["0", "2", "4", "1", "3"]],
];

test.each(["cleans_up", "generates"])("%s without asyncio", async (tool) => {
  const blocking = await loadServlet("test/node/python/servlets/blocking");
  const live = await called(tool, {}, {}, blocking);
  const again = await called(tool, {}, { alwaysReplay: true }, blocking);
  expect({ ...again, recorded: 0 }).toEqual({ ...live, recorded: 0 });
  const [, , value, posts] = VALUES.find(([name]) => name === tool)!;
  expect(live).toMatchObject({ value, posts });
});

test.each(VALUES)("%s", async (tool, args, value, posts) => {
  const live = await called(tool, args, {});
  expect(live).toMatchObject({ value, posts });
  const again = await called(tool, args, { alwaysReplay: true });
  expect({ ...again, recorded: 0 }).toEqual({ ...live, recorded: 0 });
});

test.each(["fails_in_group", "finishes_first"])(
  "%s in the same order, whatever else is in memory",
  async (tool) => {
    const ordering = await loadServlet("test/node/python/servlets/ordering");
    const first = await called(tool, {}, { caller: "ada" }, ordering);
    expect(first.posts.length).toBeGreaterThan(5);
    for (const count of [1, 10, 100, 1000]) {
      await ordering.callTool("keeps", { count }, { caller: "bob" });
      const script = { caller: "bob", recorded: first.recorded!, alwaysReplay: true };
      const again = await called(tool, {}, script, ordering);
      expect(again.value).toEqual(first.value);
    }
  },
);

test("a question that times out, in a run that goes on", async () => {
  const run = async (alwaysReplay: boolean) => {
    let now = 0;
    const late = () => {
      now += 60_000;
      return { action: "cancel" };
    };
    const script = { answers: { "elicitation/create": late }, now: () => now, alwaysReplay };
    return called("times_out", { seconds: 60 }, script);
  };
  const live = await run(false);
  expect(live).toMatchObject({ value: ["sunny", "too late"], posts: ["too late"] });
  expect(await run(true)).toMatchObject({ value: live.value, posts: live.posts });
});

test.each(["cleans_up", "catches_all", "generates", "gathers"])(
  "a call that ends in the middle does nothing more: %s",
  async (tool) => {
    const posts: string[] = [];
    const fetch = async (request: Request) => {
      posts.push(await request.text());
      return new Response("ok");
    };
    await expect(servlet.callTool(tool, {}, { fetch })).rejects.toThrow("has no answer");
    expect(posts).toEqual([]);
  },
);

test("garbage that would reach the host keeps nothing from being kept", async () => {
  const ordering = await loadServlet("test/node/python/servlets/ordering");
  for (const value of [1, 2, 3]) {
    const stuck = await called("is_stuck", {}, { caller: "eve" }, ordering);
    expect(stuck).toMatchObject({ value, posts: ["given up"] });
  }
  const { value, posts, logs } = await called("keeps", { count: 1 }, { caller: "eve" }, ordering);
  expect({ value, posts, logs }).toEqual({ value: 4, posts: [], logs: [] });
});

test("time and chance, of all kinds, are the same in a run that goes on", async () => {
  const { value, recorded } = await called("draws", {}, { alwaysReplay: true });
  const again = await called("draws", {}, { recorded: recorded!, now: 5000 });
  expect(again.value).toEqual(value);
  const other = (await called("draws", {}, {})).value as string[];
  expect(other.slice(0, 6).filter((one) => (value as string[]).includes(one))).toEqual([]);
});

test("chance after another answer is other chance, unless the servlet seeds it", async () => {
  const fork = async (tool: string) => {
    const { value, recorded } = await called(tool, {}, {});
    const at = recorded!.entries.findIndex(({ what }) => what.includes("elicitation"));
    const answers = { "elicitation/create": [{ action: "decline" }] };
    const cut = { ...recorded!, entries: recorded!.entries.slice(0, at) };
    const other = await called(tool, {}, { recorded: cut, answers });
    return [value as unknown[], other.value as unknown[]] as const;
  };
  const [drawn, others] = await fork("draws");
  expect(others.slice(0, 6)).toEqual(drawn.slice(0, 6));
  for (const nth of [0, 1, 2, 4, 5]) expect(others[11 + nth]).not.toBe(drawn[11 + nth]);
  const [seeded, same] = await fork("seeds");
  expect(same).toEqual(seeded);
});
