import { describe, expect, test } from "vitest";
import { greet, serverOf } from "../../worker/auth/key-holders.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { ABLE, as, prepare, TASKS } from "../../worker/calls/client.ts";
import { answerOf, modern, postTo } from "../../worker/server.ts";

/** An accepted deviation weakens no security check. */
prepare();

const MCP = "http://localhost:8787/mcp";
const server = () => serverOf({ ada: {}, bob: { scopes: ["reader"] } });

describe("tasks/* without Mcp-Name is taken, and", () => {
  const asTasks = { "io.modelcontextprotocol/clientCapabilities": { ...ABLE, ...TASKS } };

  async function begun() {
    const to = await serverOf({ ada: {}, bob: {} });
    const call = modern("tools/call", { name: "plan_always", arguments: steps(ELICIT) }, asTasks);
    const response = await postTo(to, MCP, call.body, { ...call.headers, ...as("ada").headers });
    const taskId = (await answerOf(response)).result?.["taskId"] as string;
    const send = async (caller: string, method: string, more: Record<string, string> = {}) => {
      const { body, headers } = modern(method, { taskId, inputResponses: {} }, asTasks);
      return postTo(to, MCP, body, { ...headers, ...as(caller).headers, ...more });
    };
    return { taskId, send };
  }

  test("means the task that the body names", async () => {
    const { taskId, send } = await begun();
    expect((await answerOf(await send("ada", "tasks/get"))).result).toMatchObject({ taskId });
  });

  test.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "%s of another's task finds none",
    async (method) => {
      const { taskId, send } = await begun();
      const { error } = await answerOf(await send("bob", method));
      expect(error?.message).toContain(`Unknown task: ${taskId}`);
      const { result } = await answerOf(await send("ada", "tasks/get"));
      expect(["working", "input_required"]).toContain(result?.["status"]);
    },
  );

  test("one that differs is refused", async () => {
    const { send } = await begun();
    expect((await send("ada", "tasks/get", { "mcp-name": "another" })).status).toBe(400);
  });

  test("a tool's call needs its own", async () => {
    const { body, headers } = modern("tools/call", greet);
    const { "mcp-name": _, ...rest } = headers;
    const response = await postTo(await server(), MCP, body, { ...rest, ...as("ada").headers });
    expect(response.status).toBe(400);
  });
});
