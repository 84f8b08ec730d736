import { stateRunner } from "../../../src/server/kernel/servlets/runners.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toolCallerOf } from "../../../src/server/features/tool-calls/tool-caller.ts";
import type { CallBatch } from "../../../src/server/kernel/core/call-context.ts";
import type { Asks } from "../../../src/server/kernel/core/asks.ts";
import type { CallToolResult, Json } from "../../../src/server/kernel/core/model.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import type { FindTool } from "../../../src/server/kernel/servlets/deployment.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { nobodysCall, type CollectedLists } from "../../../src/server/kernel/servlets/servlet.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";

/** Tools that a servlet calls are looked up among lists that depend on the state of its caller. */

const durable = bundle.servlets.find(({ name }) => name === "durable")!;
const { lists, ...notes } = bundle.servlets.find(({ name }) => name === "notes")!;

/** How often `notes` was asked for its lists in a call that calls these tools, and what they have said. */
async function askedBy(...tools: string[]) {
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now());
  const listStateful = vi.fn<() => Promise<CollectedLists>>(async () => ({
    lists: lists!,
    failures: [],
  }));
  const deployment = { ...deploymentOf(readSettings(env), env), toolCaller: toolCallerOf };
  const registry = new Registry(
    { servlets: [durable, notes] },
    {
      ...deployment,
      runners: [stateRunner(() => Promise.reject(new Error("It only lists.")), listStateful)],
    },
  );
  const steps = tools.map((tool) => ({
    do: "call",
    calls: [{ tool, args: { steps: [] } }],
    catches: true,
  }));
  const entry = await registry.resolve({ kind: "tool", name: "plan", input: { steps } });
  const { content } = (await entry.run(nobodysCall)) as Json as { content: [{ text: string }] };
  now.mockRestore();
  const { said } = JSON.parse(content[0].text) as { said: unknown[] };
  return { asked: listStateful.mock.calls.length, said };
}

test("tools that are not there are looked up in the same lists", async () => {
  expect(await askedBy("nothing", "nothing", "nothing")).toEqual({
    asked: 1,
    said: ["unknown-tool", "unknown-tool", "unknown-tool"],
  });
});

test("after a call, which may have changed them, the lists are asked for again", async () => {
  const { asked, said } = await askedBy("nothing", "plan", "nothing");
  expect(asked).toBe(2);
  expect(said).toEqual(["unknown-tool", [expect.anything()], "unknown-tool"]);
});

test("whether a user must allow a tool is found out once, and again once it may destroy something", async () => {
  const { manifest } = durable;
  const asking = { ...durable, manifest: { ...manifest, confirm_calls: "destructive" as const } };
  const annotated = (destructiveHint: boolean) => ({
    ...durable,
    name: "durable-two",
    manifest: { ...manifest, prefix: "two" },
    lists: {
      ...durable.lists!,
      resources: [],
      prompts: [],
      tools: durable.lists!.tools.map((tool) => ({ ...tool, annotations: { destructiveHint } })),
    },
  });
  const rows: string[] = [];
  const toolCaller: typeof toolCallerOf = (outer) => {
    const { parts, ...rest } = toolCallerOf(outer);
    const callTools = async (asked: CallBatch, signal: AbortSignal) => {
      rows.push(asked.isTrial === true ? "look" : "call");
      // The third call finds another version of the servlet.
      if (rows.filter((one) => one === "call").length === 3) servlets[1] = annotated(true);
      return parts.callTools!(asked, signal);
    };
    return { ...rest, parts: { ...parts, callTools } };
  };
  const servlets = [asking, annotated(false)];
  const deployment = { ...deploymentOf(readSettings(env), env), toolCaller };
  const find: FindTool = () => async (ref) => new Registry({ servlets }, deployment).resolve(ref);
  const ask = async (asks: Asks) => {
    rows.push("ask");
    const accepted = { result: { action: "accept", content: {} } };
    return Object.fromEntries(Object.keys(asks).map((key) => [key, accepted]));
  };
  const step = { do: "call", calls: [{ tool: "two-plan", args: { steps: [] } }], catches: true };
  const { callTool } = connected(asking, deployment, find);
  const input = { steps: [step, step, step, step] };
  const ended = (await callTool("plan", input, { ...nobodysCall, ask })) as CallToolResult;
  const { said } = ended.structuredContent as { said: unknown[] };
  expect(said).toEqual([[expect.anything()], [expect.anything()], "declined", [expect.anything()]]);
  expect(rows).toEqual(["look", "call", "call", "call", "look", "ask", "call"]);
});
