import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { allReasons, perform, type Waiting } from "../../../src/server/kernel/calls/engine.ts";
import { toolCallerOf } from "../../../src/server/features/tool-calls/tool-caller.ts";
import type { Asks } from "../../../src/server/kernel/core/asks.ts";
import { ANONYMOUS, type Json } from "../../../src/server/kernel/core/model.ts";
import { withRecordedAnswer, type Recorded } from "../../../src/server/kernel/core/record.ts";
import { Suspended, Wait } from "../../../src/server/kernel/core/suspension.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import type { Profile } from "../../../src/server/kernel/servlets/profiles.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { bundle } from "../../bundle.gen.ts";

/** A call within a call that waits while the server is deployed again. */

const deployment = { ...deploymentOf(readSettings(env), env), toolCaller: toolCallerOf };
const principal = { ...ANONYMOUS, profile: "p" };
const durable = bundle.servlets.find(({ name }) => name === "durable")!;

/** The servlet that is called, in a build that greets so. */
const build = (greeting: string): PreparedServlet => ({
  ...durable,
  name: "durable-two",
  hash: greeting,
  manifest: { ...durable.manifest, prefix: "two", env_vars: { greeting } },
  lists: { ...durable.lists!, resources: [], prompts: [] },
});

/** What is deployed: the build, and the arguments that the profile gives to its tools. */
type Deployed = { greeting: string; pins?: Json };

function registryOf({ greeting, pins = {} }: Deployed): Registry {
  const given = Object.fromEntries(
    Object.entries(pins).map(([tool, one]) => [`durable-two:${tool}`, one]),
  );
  const profile = { servlets: ["durable*"], arguments: given } as Profile;
  const servlets = [durable, build(greeting)];
  const all = new Registry(
    { servlets },
    {
      ...deployment,
      profiles: { p: profile },
      oldBuild: async (hash) => build(hash),
    },
  );
  return all.within(principal);
}

/** What the tool has said that is called, whose question was answered after another deploy. */
async function saidAcross(before: Deployed, after: Deployed, tool: string, args: Json) {
  const steps = [{ do: "call", calls: [{ tool, args }], catches: true }];
  let recorded: Recorded | undefined;
  for (const deployed of [before, after]) {
    const ref = { kind: "tool", name: "plan", input: { steps } } as const;
    const ask = async (asks: Asks) => {
      throw new Wait({ kind: "input", asks, given: {} });
    };
    const ended = await perform<Json | Waiting<"input">>(
      await registryOf(deployed).resolve(ref),
      { ...nobodysCall, principal, ask, recorded },
      {
        ended: (given) => given,
        waits: {
          ...allReasons(() => Promise.reject(new Error("it waits for something else"))),
          input: (waiting) => waiting,
        },
      },
    );
    if (!(ended instanceof Suspended)) {
      const [{ text }] = ended["content"] as [{ text: string }];
      return (JSON.parse(text) as { said: unknown[] }).said;
    }
    const { asks } = (ended as Waiting<"input">).reason;
    const answers = Object.keys(asks).map((key) => [
      key,
      { result: { action: "accept", content: { value: "yes", name: "yes" } } },
    ]);
    recorded = withRecordedAnswer(
      ended.recorded!,
      JSON.stringify(Object.fromEntries(answers)),
      Date.now(),
    );
  }
  throw new Error("It waits again.");
}

const asking = [{ do: "elicit", message: "Really?" }, { do: "config" }];

test("goes on with the build of its servlet that it began with", async () => {
  const said = await saidAcross({ greeting: "old" }, { greeting: "new" }, "two-plan", {
    steps: asking,
  });
  expect(said).toEqual([[expect.objectContaining({ said: ["yes", "old"] })]]);
});

test.each([
  [
    "two-plan",
    "plan",
    { steps: asking },
    { steps: [] },
    expect.objectContaining({ said: ["yes", "old"] }),
  ],
  ["two-rounds", "rounds", { rounds: 1 }, { rounds: 2 }, "yes"],
])("%s goes on with the arguments that it began with", async (name, tool, own, other, said) => {
  const [plain, pinned] = [{ greeting: "old" }, { greeting: "old", pins: { [tool]: other } }];
  expect(await saidAcross(plain, pinned, name, own)).toEqual([[said]]);
  const given = { greeting: "old", pins: { [tool]: own } };
  expect(await saidAcross(given, plain, name, {})).toEqual([[said]]);
  expect(await saidAcross(given, pinned, name, {})).toEqual([[said]]);
});
