import { expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { servingFiles } from "./large-files.ts";

/** The largest folder that a servlet may have: what it takes of memory has an end. */
const { fillFolder } = await servingFiles(limits.folderEntries);

test("a folder of 100,000 entries", { timeout: 240_000 }, async () => {
  expect(await fillFolder(10_000)).toEqual({
    refused: "No space left on device",
    counted: "100000",
    later: "100000",
  });
});
