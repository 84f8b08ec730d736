import { describe, expect, test } from "vitest";
import { Again, perform, whateverFor } from "../../../src/calls/engine.ts";
import { toolCallerOf } from "../../../src/calls/tool-caller.ts";
import type { Asks } from "../../../src/core/asks.ts";
import type { CallContext } from "../../../src/core/call-context.ts";
import type { Json } from "../../../src/core/model.ts";
import { withRecordedAnswer } from "../../../src/core/record.ts";
import { Wait } from "../../../src/core/suspension.ts";
import type { PreparedServlet } from "../../../src/servlets/bundle.ts";
import { Registry } from "../../../src/servlets/registry.ts";
import { nobodysCall } from "../../../src/servlets/servlet.ts";
import { bundled, deployment, installed, loader } from "./installed.ts";

/** Installed servlets call others, and are called: the guests are in isolates of their own. */

const two = (servlet: PreparedServlet): PreparedServlet => ({
  ...servlet,
  name: "durable-two",
  manifest: { ...servlet.manifest, prefix: "two" },
  lists: { ...servlet.lists!, resources: [], prompts: [] },
});

/** Both in the bundle or installed. */
const KINDS: [what: string, of: PreparedServlet[]][] = [
  ["an installed servlet calls one of the bundle", [installed("durable"), two(bundled("durable"))]],
  [
    "a servlet of the bundle calls an installed one",
    [bundled("durable"), two(installed("durable"))],
  ],
  ["an installed servlet calls another", [installed("durable"), two(installed("durable"))]],
];

const call = (tool: string, ...all: Json[]) => ({
  do: "call",
  calls: [{ tool, args: { steps: all } }],
  catches: true,
});

async function said(servlets: PreparedServlet[], ...steps: Json[]) {
  const registry = new Registry(
    { servlets },
    { ...deployment, runLoaded: loader.run.bind(loader), toolCaller: toolCallerOf },
  );
  const asked: string[] = [];
  const ask = async (asks: Asks) => {
    throw new Wait({ kind: "input", asks, given: {} });
  };
  const context: CallContext = { ...nobodysCall, ask };
  const entry = await registry.resolve({ kind: "tool", name: "plan", input: { steps } });
  const result = await perform<Json>(entry, context, {
    ended: (ended) => ended,
    waits: {
      ...whateverFor(() => Promise.reject(new Error("it waits for something else"))),
      input({ reason, recorded }) {
        const answers = Object.entries(reason.asks).map(([key, { params }]) => {
          asked.push(String(params["message"]));
          return [key, { result: { action: "accept", content: { value: "yes" } } }];
        });
        const answer = JSON.stringify(Object.fromEntries(answers));
        return new Again({ recorded: withRecordedAnswer(recorded!, answer, Date.now()) });
      },
    },
  });
  const text = (result["content"] as { text: string }[])[0]!.text;
  return { asked, said: (JSON.parse(text) as { said: unknown }).said };
}

describe.each(KINDS)("%s", (_what, servlets) => {
  test("and gets its result", async () => {
    const outcome = await said(servlets, call("two-plan", { do: "config" }));
    expect(outcome.said).toEqual([[expect.objectContaining({ said: ["hi"] })]]);
  });

  test("and waits with it", async () => {
    const question = { do: "elicit", message: "Really?" };
    const outcome = await said(servlets, call("two-plan", question, question), question);
    expect(outcome.asked).toEqual(["durable-two: Really?", "durable-two: Really?", "Really?"]);
    expect(outcome.said).toEqual([[expect.objectContaining({ said: ["yes", "yes"] })], "yes"]);
  });

  test("and is refused", async () => {
    expect((await said(servlets, call("nothing"))).said).toEqual(["unknown-tool"]);
  });
});
