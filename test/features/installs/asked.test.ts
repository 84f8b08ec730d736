import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Installs } from "../../../src/server/features/installs/installs.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { asked } from "../../worker/index.ts";
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

  test("Installs: installs", async () => {
    const { INSTALLS } = env as unknown as { INSTALLS: DurableObjectNamespace<Installs> };
    const copy = INSTALLS.getByName("installs 3");
    const known = await copy.since(-1);
    for (let n = 0; n < ISOLATES; n++) expect(await copy.since(known!.generation)).toBeUndefined();
    expect(await copy.since(-1)).toEqual(known);
    expect(asked.filter((one) => one === "Installs: installs").length).toBe(1);
  });
});
