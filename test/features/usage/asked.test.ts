import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Counts } from "../../../src/server/features/usage/counts.ts";
import type { Usage } from "../../../src/server/features/usage/usage-object.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { asked } from "../../worker/index.ts";
import { eventually } from "../../worker/waiting.ts";
import { prepare } from "../../worker/calls/client.ts";

/** Which objects that callers share are asked. */
prepare();

const variables = env as unknown as Record<string, unknown>;
const runs = variables[RUNS];
/** As on the platform. */
beforeAll(() => void delete variables[RUNS]);
afterAll(() => void (variables[RUNS] = runs));

beforeEach(() => void (asked.length = 0));

describe("isolates ask copies, and these the original:", () => {
  const ISOLATES = 100;
  // A copy goes by what it knows for a second.
  beforeEach(() => void vi.spyOn(Date, "now").mockReturnValue(Date.now()));
  afterEach(() => void vi.restoreAllMocks());

  test("Usage: usage, which gets all that they count", async () => {
    const { USAGE } = env as unknown as { USAGE: DurableObjectNamespace<Usage> };
    const counts = new Counts(10);
    const tool = crypto.randomUUID();
    const run = { servlet: "a", tool, caller: "c", outcome: "returned", ms: 1, fuel: 1 };
    counts.add(run);
    const taken = counts.take()!;
    const copy = USAGE.getByName("usage 3");
    await Promise.all(Array.from({ length: ISOLATES }, async () => copy.add(taken)));
    await eventually(async () => {
      const { named } = await USAGE.getByName("usage").report("hour", "tool");
      expect(named.find(({ name }) => name === tool)?.sums.runs).toBe(ISOLATES);
    });
    const sent = asked.filter((one) => one === "Usage: usage").length;
    expect(sent).toBeLessThan(ISOLATES);
  });
});
