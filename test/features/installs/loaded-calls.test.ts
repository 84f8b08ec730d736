import { loadedRunner } from "../../../src/server/kernel/servlets/runners.ts";
import { describe, expect, test } from "vitest";
import { allReasons, perform, type Waiting } from "../../../src/server/kernel/calls/engine.ts";
import { toolCallerOf } from "../../../src/server/features/tool-calls/tool-caller.ts";
import type { Asks } from "../../../src/server/kernel/core/asks.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { withRecordedAnswer, type Recorded } from "../../../src/server/kernel/core/record.ts";
import { Suspended, Wait } from "../../../src/server/kernel/core/suspension.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundled, deployment, installed, loader } from "../../worker/installs/installed.ts";

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

const ALLOW: Json = { action: "accept", content: { value: "yes" } };

/** After the first question the server has the servlets `later`, and its client gives these results. */
interface Run {
  servlets: PreparedServlet[];
  steps: Json[];
  later?: PreparedServlet[];
  result?: Json;
}

const entryOf = (servlets: PreparedServlet[], steps: Json[]) =>
  new Registry(
    { servlets },
    { ...deployment, runners: [loadedRunner(loader.run.bind(loader))], toolCaller: toolCallerOf },
  ).resolve({ kind: "tool", name: "plan", input: { steps } });

async function run({ servlets, steps, later = servlets, result = ALLOW }: Run) {
  const asked: string[] = [];
  const ask = async (asks: Asks) => {
    throw new Wait({ kind: "input", asks, given: {} });
  };
  let recorded: Recorded | undefined;
  for (;;) {
    const entry = await entryOf(asked.length === 0 ? servlets : later, steps);
    const ended = await perform<Json | Waiting<"input">>(
      entry,
      { ...nobodysCall, ask, recorded },
      {
        ended: (given) => given,
        waits: {
          ...allReasons(() => Promise.reject(new Error("it waits for something else"))),
          input: (waiting) => waiting,
        },
      },
    );
    if (!(ended instanceof Suspended)) {
      const text = (ended["content"] as { text: string }[])[0]!.text;
      return { asked, said: (JSON.parse(text) as { said: unknown }).said };
    }
    const answers = Object.entries((ended as Waiting<"input">).reason.asks).map(
      ([key, { params }]) => {
        asked.push(String(params["message"]));
        return [key, { result }];
      },
    );
    const answer = JSON.stringify(Object.fromEntries(answers));
    recorded = withRecordedAnswer(ended.recorded!, answer, Date.now());
  }
}

const said = (servlets: PreparedServlet[], ...steps: Json[]) => run({ servlets, steps });

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

describe.each(KINDS)("%s that its user must allow", (_what, [outer, inner]) => {
  const manifest = { ...outer!.manifest, confirm_calls: "destructive" as const };
  const asking = { ...outer!, manifest };
  const steps = [call("two-plan", { do: "config" }), call("two-plan", { do: "config" })];
  const question = 'durable wants to call:\n- two-plan {"steps":[{"do":"config"}]}\nAllow it?';
  /** The servlet that is called, with tools that have these annotations. */
  const annotated = (annotations: object): PreparedServlet => {
    const tools = inner!.lists!.tools.map((tool) => ({ ...tool, annotations }));
    return { ...inner!, lists: { ...inner!.lists!, tools } };
  };

  test("and asks for each", async () => {
    const outcome = await run({ servlets: [asking, inner!], steps });
    expect(outcome.asked).toEqual([question, question]);
    expect(outcome.said).toEqual([
      [expect.objectContaining({ said: ["hi"] })],
      [expect.objectContaining({ said: ["hi"] })],
    ]);
  });

  test("and does not if they decline", async () => {
    const result = { action: "decline" };
    const outcome = await run({ servlets: [asking, inner!], steps, result });
    expect(outcome.said).toEqual(["declined", "declined"]);
  });

  test("and asks for none that destroys nothing", async () => {
    const servlets = [asking, annotated({ destructiveHint: false })];
    expect((await run({ servlets, steps })).asked).toEqual([]);
  });

  test("and does not call what had another servlet when they were asked", async () => {
    const other = { ...inner!, name: "durable-three" };
    const outcome = await run({ servlets: [asking, inner!], steps, later: [asking, other] });
    expect(outcome.said).toEqual([["declined"], expect.anything()].flat());
  });
});

test("an installed servlet has the packages that it shares with others", async () => {
  const { packages, parts } = { ...installed("arrived"), packages: bundled("arrived").packages };
  expect([packages, parts?.packages]).toEqual([expect.any(ArrayBuffer), "arrived packages"]);
  const entry = new Registry(
    { servlets: [installed("arrived")] },
    { ...deployment, runners: [loadedRunner(loader.run.bind(loader))] },
  ).resolve({ kind: "tool", name: "arrived_greet", input: { name: "Ada" } });
  const ended = await perform<Json | undefined>(await entry, nobodysCall, {
    ended: (given) => given,
    waits: allReasons(() => undefined),
  });
  expect(ended).toMatchObject({ content: [{ text: expect.stringContaining("Ada") }] });
});
