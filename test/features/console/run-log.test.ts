// @module-tag usage
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { called, UNSET } from "../../worker/run-log-lines.ts";

/** The line of the log that says why a call failed. */

afterEach(() => vi.restoreAllMocks());

test("the console has the same entry, and counts it as an error", async () => {
  const usageMs = limits.usageMs;
  configureLimits({ usageMs: 0 });
  try {
    await called("broken");
    await called("greet", { name: "Ada" }, {}, UNSET);
    await expect
      .poll(async () => usageOf(env)!().errors())
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            outcome: "threw",
            tool: "broken",
            message: "Uncaught Error: oh no",
          }),
          expect.objectContaining({
            outcome: "not_configured",
            message: expect.stringContaining("ISSUES_API"),
          }),
        ]),
      );
  } finally {
    configureLimits({ usageMs });
  }
});
