import { expect, test } from "vitest";
import { play } from "./play.ts";

/** `npm run verify -- --all` plays thousands. */
test("86 seeds of servlets in Python break no rule of the model", { timeout: 300_000 }, async () => {
  const outputs = await play(
    "--python --seeds 1..70",
    "--python --state --seeds 1..10",
    "--python --calls --seeds 1..6",
  );
  expect(outputs).toHaveLength(3);
  for (const output of outputs) expect(output).toContain("No seed fails.");
});
