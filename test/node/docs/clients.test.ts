import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { document } from "../../clients/document.ts";

const page = await readFile("docs/clients.md", "utf8");

test("docs/clients.md: writing it when no client ran changes nothing", () => {
  expect(document([], "0.05", page)).toBe(page);
});

test.each(["oauth", "team"])(
  "docs/clients.md: every client has tried what the column %s says, or has nothing for it",
  (column) => {
    const lines = page.split("\n");
    const [head, , ...rows] = lines.filter((line) => /^\| [^|]+ \| [^|]+ \| [^|]+ \|/.test(line));
    const at = head!.split(" | ").indexOf(column);
    expect(at).toBeGreaterThan(0);
    expect(rows.length).toBeGreaterThan(20);
    const untried = rows.map((row) => row.split(" | ")).filter((cells) => cells[at] === "?");
    expect(untried.map(([client]) => client)).toEqual([]);
  },
);
