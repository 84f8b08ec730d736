import { describe, expect, test } from "vitest";
import { fileRefusalOf, uploadPathOf } from "../../../../src/console/files.ts";
import { contentIn, formPartsOf, typedFor } from "../../../../src/console/form.ts";

/** Arguments that are files in the forms of the console. */

const FILE = { type: "string", format: "uri", "x-mcp-file": { accept: [".csv"], maxSize: 2048 } };

describe("the form", () => {
  test("knows a file, one that may be null and the files of a list, with their bounds in words", () => {
    const [one, other, all] = formPartsOf({
      properties: {
        one: FILE,
        other: { anyOf: [FILE, { type: "null" }] },
        all: { type: "array", items: FILE },
      },
      required: ["one"],
    });
    const bounds = { accept: [".csv"], maxSize: 2048 };
    expect([one!.file, other!.file, all!.item!.file]).toEqual([bounds, bounds, bounds]);
    expect(one!.rules).toEqual([".csv", "at most 2 KiB"]);
  });

  test("has the URI as its value, which may be any text that was typed", () => {
    const parts = formPartsOf({ properties: { one: FILE } });
    const typed = new FormData();
    typed.append(parts[0]!.field.id, "data:text/csv,a");
    expect(contentIn(parts, typed).content).toEqual({ one: "data:text/csv,a" });
    expect(typedFor(parts[0]!, { one: "stored-file://a" })).toEqual(["stored-file://a"]);
  });

  test("knows no file in a value that is no text, or a choice, or a secret", () => {
    const parts = formPartsOf({
      properties: {
        number: { ...FILE, type: "number" },
        truth: { ...FILE, type: "boolean" },
        list: { ...FILE, type: "array", items: { type: "string" } },
        choice: { ...FILE, enum: ["a", "b"] },
        secret: { ...FILE, format: "password" },
      },
    });
    expect(parts.map(({ file }) => file)).toEqual(parts.map(() => undefined));
  });

  test("knows no file in a keyword of another shape", () => {
    const parts = formPartsOf({
      properties: {
        a: { type: "string", "x-mcp-file": true },
        b: { type: "string", "x-mcp-file": { accept: [1, ".txt"], maxSize: "1" } },
      },
    });
    expect(parts.map(({ file }) => file)).toEqual([
      undefined,
      { accept: [".txt"], maxSize: Infinity },
    ]);
  });
});

test.each<[name: string, type: string, accept: string[], isTaken: boolean]>([
  ["a.csv", "text/csv", [], true],
  ["a.csv", "text/csv", ["text/csv"], true],
  ["a.csv", "text/csv; charset=utf-8", ["text/csv"], true],
  ["a.csv", "TEXT/CSV", ["text/*"], true],
  ["A.CSV", "application/vnd.ms-excel", [".csv"], true],
  ["a.csv", "application/vnd.ms-excel", ["text/csv"], false],
  ["a.png", "image/png", ["text/*", ".csv"], false],
  ["a.png", "image/png", ["*/*"], true],
  ["a.odd", "", ["text/csv"], true],
  ["a.odd", "", [".csv"], false],
])("%s of the type %j is checked by %j", (name, type, accept, isTaken) => {
  const refusal = fileRefusalOf({ name, type, size: 1 }, { accept, maxSize: 1 });
  const why = `${name} is not a file of an accepted type (${accept.join(", ")}). Choose another one.`;
  expect(refusal).toBe(isTaken ? undefined : why);
});

test("a file that is too large is refused with both sizes", () => {
  const bounds = { accept: [], maxSize: 2 };
  expect(fileRefusalOf({ name: "a", type: "", size: 3 }, bounds)).toBe(
    "a has 3 bytes (limit 2). Choose a smaller file.",
  );
});

test("a file is sent to the path of an upload, on the page's own origin", () => {
  expect(uploadPathOf("https://other.example/files/in/token")).toBe("/files/in/token");
});

test.each([
  "https://a.example//other.example/files/in/token",
  "https://a.example/files/in/../../console/files",
  "https://a.example/files/in/%2e%2e/out",
  "https://a.example/files/in/",
  "https://a.example/mcp",
  "data:/files/in/",
  "files",
])("no file is sent to %s", (url) => {
  expect(() => uploadPathOf(url)).toThrow("not one of an upload");
});
