import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { preparedNow } from "../../../package/prepared.ts";
import { PREPARED } from "../../../src/bundle/prepared.ts";

test("prepared.bin is to the byte what its sources make", { timeout: 600_000 }, async () => {
  const made = await preparedNow(() => {});
  const stale = "prepared.bin is stale. Make it anew and commit it: npm run prepared";
  expect(Buffer.compare(made, await readFile(PREPARED)), stale).toBe(0);
});
