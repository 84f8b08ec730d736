import { expect, test } from "vitest";
import { servingFiles } from "./large-files.ts";

/** Large folders and files of a servlet: what they take of memory has an end. The slow test has a larger folder. */
const { filing, fillsFolder, restart, within } = await servingFiles(5000);

test("a folder of 5,000 entries", () => fillsFolder(2500));

test("a name of 10,000 characters", async () => {
  expect(await filing("write", `/data/${"n".repeat(10_000)}`, "x")).toBe("Filename too long");
});

test("a file of 50 MB is read and written at random", { timeout: 240_000 }, async () => {
  expect(await filing("write", "/data/a", "small")).toBe("done");
  await within(async () => {
    expect(await filing("fill", "/data/large", "50")).toBe("done");
    expect(await filing("poke", "/data/large", "1000")).toBe("1000");
    expect(await filing("peek", "/data/large", "1000")).toBe("1000");
  });
  await restart();
  expect(await filing("peek", "/data/large", "1000")).toBe("1000");
  expect(await filing("read", "/data/a")).toBe("small");
});
