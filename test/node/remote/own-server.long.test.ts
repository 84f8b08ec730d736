/** This server as another's remote one: tasks and questions of 2026-07-28, by another implementation than that of the SDK. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { serveTests } from "../http/serving.ts";
import { stop, type Served } from "../workerd.ts";
import { loadedRemote, online, removeRemotes } from "./under-test.ts";

afterAll(removeRemotes);

let served: Served;
beforeAll(async () => {
  served = await serveTests({ durable: true });
});
afterAll(() => stop(served));

test.each([
  ["confirm_delete", { filename: "notes.txt" }, 1],
  ["multi_input", {}, 2],
  ["test_tool_with_task", {}, 1],
])("passes the task %s on, with its questions", async (name, args, questions) => {
  const { servlet } = await loadedRemote(`http://127.0.0.1:${served.port}/mcp`, { only: [name] });
  const answers = {
    "elicitation/create": ({ requestedSchema }: Json) => {
      const { properties } = requestedSchema as { properties: Record<string, { type: string }> };
      const content = Object.entries(properties).map(([key, { type }]) => [
        key,
        type === "boolean" ? true : type === "string" ? "Alice" : 1,
      ]);
      return { action: "accept" as const, content: Object.fromEntries(content) };
    },
  };

  const { result, asked } = await servlet.callTool(`notes-${name}`, args, {
    ...online,
    answers,
    now: Date.now,
  });
  expect({ name, isError: result.isError, text: result.content }).toMatchObject({ isError: false });
  expect(asked).toHaveLength(questions);
});

test("passes on that a task has failed by an error of the protocol", async () => {
  const url = `http://127.0.0.1:${served.port}/mcp`;
  const { servlet } = await loadedRemote(url, { only: ["protocol_error_job"] });
  const { result } = await servlet.callTool(
    "notes-protocol_error_job",
    {},
    { ...online, now: Date.now },
  );
  expect(result).toMatchObject({ isError: true });
});
