import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toolCallerOf } from "../../../src/calls/tool-caller.ts";
import type { Json } from "../../../src/core/model.ts";
import { Registry } from "../../../src/servlets/registry.ts";
import { nobodysCall } from "../../../src/servlets/servlet.ts";
import { deploymentOf, readSettings } from "../../../src/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";

/** Tools that a servlet calls are looked up among lists that depend on the state of its caller. */

const durable = bundle.servlets.find(({ name }) => name === "durable")!;
const { lists, ...notes } = bundle.servlets.find(({ name }) => name === "notes")!;

/** How often `notes` was asked for its lists in a call that calls these tools, and what they have said. */
async function askedBy(...tools: string[]) {
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now());
  const listStateful = vi.fn(async () => ({ lists: lists!, failures: [] }));
  const deployment = { ...deploymentOf(readSettings(env), env), toolCaller: toolCallerOf };
  const registry = new Registry({ servlets: [durable, notes] }, { ...deployment, listStateful });
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
