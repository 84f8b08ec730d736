import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { preparedNow } from "../../../package/prepared.ts";
import { PREPARED } from "../../../src/tools/bundle/prepared.ts";

test(
  "prepared.bin is to the byte what its sources make; where it is not: npm run prepared",
  { timeout: 600_000 },
  async () => {
    const made = await preparedNow(() => {});
    expect(Buffer.compare(made, await readFile(PREPARED))).toBe(0);
  },
);
