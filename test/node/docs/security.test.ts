import { readFile, stat } from "node:fs/promises";
import { expect, test } from "vitest";

/** What is promised, and the tests that hold it, stand where SECURITY.md and test/attacks.md say. */

/** The rows of a page's tables, as their cells. */
async function rowsOf(page: string): Promise<string[][]> {
  const lines = (await readFile(page, "utf8")).split("\n").filter((line) => line.startsWith("| "));
  const cells = lines.map((line) => line.slice(2, -2).split(" | "));
  // Behind a head there is a line of dashes.
  return cells.filter((_, at) => cells[at]![0] !== "---" && cells[at + 1]?.[0] !== "---");
}

/** Files of a cell, each with the names of tests behind it. */
const namedIn = (cell: string) =>
  [...cell.matchAll(/`([^`]+)`((?: "[^"]+")*)/g)].map(([, file, names]) => ({
    file: file!,
    names: [...names!.matchAll(/"([^"]+)"/g)].map(([, name]) => name!),
  }));

/** Files that are not there, and tests that their files do not hold. */
async function missingIn(cell: string): Promise<string[]> {
  const all = namedIn(cell).map(async ({ file, names }) => {
    if (names.length === 0)
      return stat(file).then(
        () => [],
        () => [file],
      );
    const text = await readFile(file, "utf8").catch(() => "");
    return names.filter((name) => !text.includes(name)).map((name) => `${file}: ${name}`);
  });
  return (await Promise.all(all)).flat();
}

test("each promise names its code and its tests, which are there", async () => {
  const rows = await rowsOf("SECURITY.md");
  expect(rows.length).toBeGreaterThan(40);
  const wrong = rows.map(async ([regarding, , where = "", tests = ""]) => {
    const files = namedIn(tests).map(({ file }) => file);
    const others = files.filter((file) => !/^test\/.*\.test\.ts$/.test(file));
    const missing = await missingIn(`${where.match(/`[^`]+`/g)?.join(" ") ?? ""} ${tests}`);
    if (files.length === 0) missing.push("no test");
    return [...missing, ...others].map((what) => `${regarding}: ${what}`);
  });
  expect((await Promise.all(wrong)).flat()).toEqual([]);
});

test("tests that are named outside of the table are there", async () => {
  const text = await readFile("SECURITY.md", "utf8");
  const prose = text.split("\n").filter((line) => !line.startsWith("|"));
  const named = prose.join("\n").match(/`(?:src|test)\/[^`]+`/g) ?? [];
  expect(await missingIn(named.join(" "))).toEqual([]);
});

test("each item of the attack has the tests that hold it, and three variants", async () => {
  const rows = await rowsOf("test/attacks.md");
  expect(rows.length).toBeGreaterThanOrEqual(25);
  const wrong = rows.map(async ([item, attack, tests = ""]) => {
    const missing = await missingIn(tests);
    const names = namedIn(tests).flatMap((one) => one.names);
    if (names.length < 4) missing.push(`${names.length} tests`);
    return missing.map((what) => `${item}, ${attack}: ${what}`);
  });
  expect((await Promise.all(wrong)).flat()).toEqual([]);
});
