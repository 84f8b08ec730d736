import { describe, expect, test } from "vitest";
import { variablesIn } from "../../../src/tools/bundle/variable-files.ts";

/** Files of variables and secrets: a line that is left out in silence may be the one that closes the server. */

const KEYS = `API_KEYS='{"ada":"0f"}'`;
const closed = { API_KEYS: '{"ada":"0f"}' };

describe("a variable is read", () => {
  test.each([
    ["behind a byte order mark", `\uFEFF${KEYS}\n`],
    ["with the ends of lines of Windows", `# keys\r\n\r\n${KEYS}\r\n`],
    ["with the ends of lines of old Macs", `# keys\r${KEYS}\r`],
    ["behind export", `export ${KEYS}`],
    ["behind export and a tab", `export\t${KEYS}`],
    ["behind spaces that are not of ASCII", `\u00A0export\u00A0${KEYS}`],
    ["before a space that is not of ASCII", KEYS.replace("=", "\u00A0= ")],
    ["behind a mark where files were joined", `\n\uFEFF${KEYS}`],
    ["with spaces around its parts", `  API_KEYS = '{"ada":"0f"}'  # of Ada`],
  ])("%s", (_how, text) => {
    expect(variablesIn(text, ".dev.vars")).toEqual(closed);
  });

  test("over several lines, where it is quoted", () => {
    const text = `# first\nKEY="-----BEGIN \nA=B==\n# no comment\n-----END" # one\n${KEYS}`;
    const KEY = "-----BEGIN \nA=B==\n# no comment\n-----END";
    expect(variablesIn(text, ".dev.vars")).toEqual({ KEY, ...closed });
  });

  test.each(["", " ", "\t", " # none", " ''", ' "" # none'])(
    "below one that is empty: %j",
    (value) => {
      expect(variablesIn(`A=${value}\n${KEYS}\n`, ".dev.vars")).toEqual({ A: "", ...closed });
    },
  );

  test("whose name every object has", () => {
    expect(Object.entries(variablesIn("__proto__=1", ".dev.vars"))).toEqual([["__proto__", "1"]]);
  });

  test("with the ends of lines that its double quotes write as \\n", () => {
    expect(variablesIn('A="x\\ny"', ".dev.vars")).toEqual({ A: "x\ny" });
  });

  test("that has quotes, = or # in the middle", () => {
    const text = `A=it's\nB=x==\nC=a#b\nD=\nE="it's"`;
    expect(variablesIn(text, ".dev.vars")).toMatchObject({ A: "it's", B: "x==", D: "", E: "it's" });
  });
});

describe("a message about an invalid line names file and line number, and omits the text of a line with", () => {
  test.each([
    ["no =", "OTHER=1\nAPI_KEYS {}\n", 2],
    ["YAML", "API_KEYS: '{}'", 1],
    ["JSON", `{\n  "API_KEYS": {}\n}`, 1],
    ["a mark in the middle of the file", `A=1\n\uFEFF\u200B${KEYS}`, 2],
    ["a space in the name", "MY API_KEYS=1", 1],
    ["UTF-16", Buffer.from(`\uFEFF${KEYS}`, "utf16le").toString("utf8"), 1],
    ["no name", "\n\n=1", 3],
    ["a quote that is not closed", `A=1\nB='x\n${KEYS.replaceAll("'", "")}`, 2],
    ["a quote that ends early", `A='it's'\n${KEYS}`, 1],
    ["a quote that ends in another line", `A="x\nB="y"\n${KEYS}`, 2],
    ["a section", "[vars]\nA=1", 1],
  ])("%s", (_what, text, line) => {
    expect(() => variablesIn(text, "a.env")).toThrow(
      new RegExp(`^a\\.env:${line}: .*Expected NAME=`),
    );
    expect(() => variablesIn(text, "a.env")).not.toThrow(/\{\}|0f/);
  });
});
