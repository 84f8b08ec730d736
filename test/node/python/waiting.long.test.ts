import { beforeAll, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** asyncio in the time of the journal. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/waiting");
});

const FILE = "test/node/python/servlets/waiting/servlet.py";
/** Where tasks of the servlet wait. */
const LINES = { never: 104, leaves: 112 };

const text = (value: string) => ({ type: "text" as const, text: value });
const answers: Script["answers"] = {
  "elicitation/create": ({ message }) => ({
    action: "accept",
    content: { value: String(message) },
  }),
};
const tools: Script["tools"] = { forecast: ({ city }) => `${String(city)}: 22` };
const fetch = () => new Response("ok");

describe.each([false, true])("with alwaysReplay: %s", (alwaysReplay) => {
  const script: Script = { answers, tools, fetch, alwaysReplay };

  test("what several tasks ask is asked together", async () => {
    const { result, asked } = await servlet.callTool("gathers", {}, script);
    expect(result.structuredContent).toEqual({ result: ["accept A?", "accept B?"] });
    expect(asked.map(({ params }) => params["message"])).toEqual(["A?", "B?"]);
  });

  test("a group of tasks", async () => {
    const { result } = await servlet.callTool("groups", {}, script);
    expect(result.structuredContent).toEqual({ result: ["Bern: 22", "Oslo: 22", "ok"] });
  });

  test("calls, questions and sleeps at once", async () => {
    const { result } = await servlet.callTool("all_at_once", {}, script);
    expect(result.structuredContent).toEqual({ result: ["Bern: 22", "accept A?", "slept"] });
  });

  test("sleeps at once wait for the longest", async () => {
    const { result } = await servlet.callTool("sleeps", {}, { ...script, now: 5000 });
    expect(result.structuredContent).toEqual({ result: [5, 86_402] });
  });

  test.each<[tool: string, result: object]>([
    ["queues", { content: [text("[1,2,3]")], structuredContent: { result: [1, 2, 3] } }],
    ["runs", { content: [text("ran")] }],
    ["in_thread", { content: [text("3")], structuredContent: { result: 3 } }],
    ["cancels", { content: [text("cancelled")] }],
  ])("%s", async (tool, result) => {
    expect((await servlet.callTool(tool, {}, script)).result).toEqual(result);
  });
});

test("chance is the same where a call is run again", async () => {
  const { result, recorded } = await servlet.callTool("draws", {}, { answers });
  const again = await servlet.callTool("draws", {}, { ...(recorded && { recorded }) });
  expect(again.result).toEqual(result);
  const other = await servlet.callTool("draws", {}, { answers });
  expect(other.result).not.toEqual(result);
});

describe("a question within asyncio.timeout", () => {
  test.each(["times_out", "group_times_out", "waits_for"])("%s", async (tool) => {
    const { result, asked } = await servlet.callTool(tool, {}, { answers });
    expect(result.content).toEqual([text("accept A?")]);
    expect(asked).toMatchObject([{ timeoutMs: 60_000 }]);
  });

  test.each(["times_out", "group_times_out"])("that ends: %s", async (tool) => {
    let now = 0;
    const late: Script["answers"] = {
      "elicitation/create": () => {
        now += 60_000;
        return { action: "cancel" };
      },
    };
    const { result } = await servlet.callTool(tool, {}, { answers: late, now: () => now });
    expect(result.content).toEqual([text("too late")]);
  });

  test("that is cancelled before its end is a result", async () => {
    const cancelled = { "elicitation/create": [{ action: "cancel" }] };
    const { result } = await servlet.callTool("times_out", {}, { answers: cancelled });
    expect(result.content).toEqual([text("cancel None")]);
  });
});

test("a wait that can never end ends the call", async () => {
  const { result } = await servlet.callTool("never");
  expect(result.isError).toBe(true);
  expect(result.content).toEqual([
    text(
      `The tool "never" awaits something that can never happen, at ${FILE}:${LINES.never}: nothing else runs.`,
    ),
  ]);
});

test("tasks that are left are cancelled, and the log says where they are", async () => {
  const { result, logs } = await servlet.callTool("leaves");
  expect(result.content).toEqual([text("False")]);
  expect(logs).toEqual([
    `warn: The tool "leaves" has ended before 1 of its tasks, which are cancelled: await them. They are at ${FILE}:${LINES.leaves}.`,
    "info: cancelled",
  ]);
});

test("tasks of what is not the author's are named in the log", async () => {
  const { logs } = await servlet.callTool("leaves_asleep");
  expect(logs).toEqual([
    'warn: The tool "leaves_asleep" has ended before 1 of its tasks, which are cancelled: await them. They are at sleep.',
  ]);
});

test("generators are closed", async () => {
  const { result, logs } = await servlet.callTool("closes");
  expect(result.structuredContent).toEqual({ result: 1 });
  expect(logs).toEqual(["info: closed"]);
});

test("asyncio runs at module scope", async () => {
  const { result } = await servlet.callTool("ran_at_scope");
  expect(result.structuredContent).toEqual({ result: ["a", "b"] });
});

test("what cannot be asked is an error of those who ask", async () => {
  const { result } = await servlet.callTool("asks_badly", {}, { answers });
  expect(result.structuredContent).toEqual({ result: ["TypeError", "TypeError"] });
});

test("errors of a group are those of its tasks", async () => {
  const { result, logs } = await servlet.callTool("group_refuses");
  expect(result).toEqual({ content: [text("There is no such city.")], isError: true });
  expect(logs).toEqual([]);
  const { result: other, logs: lines } = await servlet.callTool("group_fails");
  expect(other).toEqual({ content: [text("no")], isError: true });
  expect(lines[0]).toContain("ValueError: no");
});

describe.each([false, true])(
  "what has failed raises where it is awaited, with alwaysReplay: %s",
  (alwaysReplay) => {
    test("in tasks, among others, and where it is used", async () => {
      const { result } = await servlet.callTool("fails_where_awaited", {}, { fetch, alwaysReplay });
      const refused = "FetchError";
      const found = ["Response", refused, refused, "Response", refused, "TypeError"];
      expect(result.structuredContent).toEqual({
        result: [...found, "NoneType", "ValueError", "task", "used"],
      });
    });

    test("and is logged where nothing awaits it", async () => {
      const { result, logs } = await servlet.callTool("fails_unseen", {}, { fetch, alwaysReplay });
      expect(result.content).toEqual([text("done")]);
      expect(logs).toEqual([
        expect.stringMatching(
          /^warn: fetch\(\) has failed, and nothing awaits it: .*other\.example/,
        ),
      ]);
    });

    test("but at once in a def", async () => {
      const { result } = await servlet.callTool("fails_at_once", {}, { fetch, alwaysReplay });
      expect(result.content).toEqual([text("at once")]);
    });
  },
);

describe.each([false, true])(
  "a question that something waits for until a time, with alwaysReplay: %s",
  (alwaysReplay) => {
    const late = (seconds: number) => [seconds, { action: "cancel" }] as const;
    const answered = (seconds: number) =>
      [seconds, { action: "accept", content: { value: "answer" } }] as const;
    /** Calls a tool whose question ends so, after so many seconds. */
    const raced = async (tool: string, ...ends: (readonly [seconds: number, answer: object])[]) => {
      let now = 0;
      const next: Script["answers"] = {
        "elicitation/create": () => {
          const [seconds, answer] = ends.shift()!;
          now += seconds * 1000;
          return { ...answer };
        },
      };
      const script: Script = { answers: next, now: () => now, alwaysReplay };
      const { result, asked } = await servlet.callTool(tool, {}, script);
      expect(ends).toEqual([]);
      return { content: result.content, limits: asked.map(({ timeoutMs }) => timeoutMs) };
    };

    test.each(["races_sleep", "races_two", "waits_with_limit", "completes_in_time"])(
      "%s",
      async (tool) => {
        const limits = [3000];
        expect(await raced(tool, late(3))).toEqual({ content: [text("too late")], limits });
        expect(await raced(tool, answered(2))).toEqual({
          content: [text("accept answer")],
          limits,
        });
        expect(await raced(tool, late(2))).toEqual({ content: [text("cancel None")], limits });
      },
    );

    test.each<
      [
        tool: string,
        said: string,
        limits: (number | undefined)[],
        ends: (readonly [number, object])[],
      ]
    >([
      ["races_deep", "too late", [1000, 2000], [late(1), late(2)]],
      ["races_deep", "accept answer", [1000, 2000], [late(1), answered(1)]],
      ["looks_again", "accept answer 1", [3000, undefined], [late(3), answered(60)]],
      ["shields", "late: accept answer", [3000, undefined], [late(3), answered(60)]],
      ["ticks", "accept answer", [3000, undefined], [late(3), answered(60)]],
      ["gathers_with_sleep", "accept answer", [undefined], [answered(60)]],
    ])("%s: %s, after %j", async (tool, said, limits, ends) => {
      expect(await raced(tool, ...ends)).toEqual({ content: [text(said)], limits });
    });
  },
);
