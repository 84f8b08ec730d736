import { test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { servingFiles } from "./large-files.ts";

/** The largest folder that a servlet may have: what it takes of memory has an end. */
const { fillsFolder } = await servingFiles(limits.folderEntries);

test("a folder of 100,000 entries", { timeout: 240_000 }, () => fillsFolder(10_000));
