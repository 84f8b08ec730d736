import { loadServlet, type Script } from "edge-servlets/testing";
import { beforeEach, describe, expect, test } from "vitest";

const PEOPLE = "id,name,born\n1,Ada,1815\n2,Grace,1906\n3,Alan,1912\n";
const WORKS = JSON.stringify([
  { id: 1, title: "Notes", pages: 66.5 },
  { id: 2, title: "COBOL", tags: ["language", "business"] },
]);

/** A servlet for one caller, and what its tools answer. */
async function caller() {
  const servlet = await loadServlet(import.meta.dirname);
  return async (
    name: string,
    args: Record<string, unknown>,
    script: Script = {},
  ): Promise<unknown> => {
    const { result } = await servlet.callTool(`tables_${name}`, args, script);
    const [block] = result.content;
    return result.structuredContent ?? (block?.type === "text" ? block.text : block);
  };
}

describe("a caller's tables", async () => {
  const call = await caller();
  beforeEach(async () => {
    await call("load", { table: "people", text: PEOPLE });
    await call("load", { table: "works", text: WORKS });
  });

  test("are loaded from CSV and JSON", async () => {
    expect(await call("load", { table: "people", text: PEOPLE })).toEqual({
      table: "people",
      columns: ["id", "name", "born"],
      rows: 3,
    });
    expect(await call("load", { table: "works", text: WORKS })).toMatchObject({
      columns: ["id", "title", "pages", "tags"],
    });
  });

  test("last from call to call, and answer SQL", async () => {
    const sql = "SELECT name, title FROM people JOIN works USING (id) ORDER BY born";
    expect(await call("query", { sql })).toEqual({
      columns: ["name", "title"],
      rows: [
        ["Ada", "Notes"],
        ["Grace", "COBOL"],
      ],
      more: false,
    });
  });

  test("are described", async () => {
    expect(await call("describe", { table: "people" })).toEqual({
      result: [
        expect.objectContaining({
          rows: 3,
          columns: [
            expect.objectContaining({ name: "id", type: "INTEGER", least: 1, most: 3 }),
            expect.objectContaining({
              name: "name",
              type: "TEXT",
              examples: ["Ada", "Grace", "Alan"],
            }),
            expect.objectContaining({ name: "born", type: "INTEGER", filled: 3, distinct: 3 }),
          ],
        }),
      ],
    });
  });

  test("are joined into new ones", async () => {
    const join = { left: "people", right: "works", on: ["id"], into: "both", how: "left" };
    expect(await call("join", join)).toMatchObject({ rows: 3 });
    const sql = "SELECT name FROM both WHERE title IS NULL";
    expect(await call("query", { sql })).toMatchObject({ rows: [["Alan"]] });
  });

  test("change by tables_change alone", async () => {
    const sql = "DELETE FROM people WHERE id = 3";
    expect(await call("query", { sql })).toMatch(/readonly/);
    expect(await call("change", { sql })).toBe("1 row changed.");
    expect(await call("query", { sql: "SELECT count(*) FROM people" })).toMatchObject({
      rows: [[2]],
    });
  });

  test("get more rows, or are replaced", async () => {
    const text = "id,name\n4,Edsger\n";
    await call("load", { table: "people", text, append: true });
    expect(await call("query", { sql: "SELECT name FROM people WHERE id = 4" })).toMatchObject({
      rows: [["Edsger"]],
    });
    expect(await call("load", { table: "people", text: "x\n1\n" })).toMatchObject({ rows: 1 });
    expect(await call("load", { table: "people", text: "y\n1\n", append: true })).toBe(
      "people has no y: its columns are x.",
    );
  });
});

describe("values", async () => {
  const call = await caller();
  const typed = async (text: string) => {
    await call("load", { table: "t", text });
    return call("query", { sql: "SELECT v, typeof(v) FROM t" });
  };

  test.each([
    [
      "v\n1\n-2\n",
      [
        [1, "integer"],
        [-2, "integer"],
      ],
    ],
    [
      "v\n1.5\n2\n",
      [
        [1.5, "real"],
        [2, "real"],
      ],
    ],
    // Numbers that begin with 0 are codes.
    [
      "v\n007\n8\n",
      [
        ["007", "text"],
        ["8", "text"],
      ],
    ],
    [
      "w;v\n1;a, b\n2;\n",
      [
        ["a, b", "text"],
        [null, "null"],
      ],
    ],
    ['v\n"two\nlines"\n', [["two\nlines", "text"]]],
    [
      '{"v": true}\n{"v": null}\n',
      [
        [1, "integer"],
        [null, "null"],
      ],
    ],
    ['{"items": [{"v": {"a": 1}}]}', [['{"a": 1}', "text"]]],
  ])("of %j keep their types", async (text, rows) => {
    expect(await typed(text)).toMatchObject({ rows });
  });
});

describe("bad input", async () => {
  const call = await caller();

  test.each([
    ["load", { table: "t" }, /Give either text or url/],
    ["load", { table: "a b", text: "x\n1" }, /letters, digits and _/],
    ["load", { table: "sqlite_x", text: "x\n1" }, /does not begin with sqlite_/],
    ["load", { table: "t", text: "[1, 2]" }, /no array of objects/],
    ["load", { table: "t", text: "{oh", format: "json" }, /not JSON/],
    ["load", { table: "t", text: "a\n1,2\n" }, /Line 2 has 2 values, the header 1/],
    ["query", { sql: "SELEC 1" }, /syntax error/],
    ["query", { sql: "SELECT * FROM nowhere" }, /no such table: nowhere/],
    ["query", { sql: "ATTACH '/tmp/x.db' AS x" }, /not allowed here/],
    ["describe", { table: "nowhere" }, /no table nowhere/],
    ["join", { left: "a", right: "b", on: ["id"], into: "c" }, /no table a/],
  ])("%s %j is refused", async (name, args, why) => {
    expect(await call(name, args)).toMatch(why);
  });

  test.each([
    ["query", "PRAGMA max_page_count = 100000"],
    ["change", "PRAGMA query_only = ON"],
    ["query", "BEGIN"],
    ["query", "SAVEPOINT s"],
    ["query", "ATTACH ':memory:' AS x"],
    ["change", "VACUUM INTO ':memory:'"],
  ])("%s %j is refused, as it would outlast its call", async (name, sql) => {
    expect(await call(name, { sql })).toMatch(/not allowed here/);
    expect(await call("load", { table: "t", text: "x\n1\n" })).toMatchObject({ rows: 1 });
  });

  test("infinite numbers and half characters harm no later call", async () => {
    await call("load", { table: "infinite", text: "v\n1e999\n" });
    expect(await call("describe", { table: "infinite" })).toMatchObject({
      result: [{ columns: [{ least: "inf", most: "inf" }] }],
    });
    expect(await call("query", { sql: "SELECT -9e999" })).toMatchObject({ rows: [["-inf"]] });
    const text = "v\n\ud800\n";
    expect(await call("load", { table: "half", text })).toMatch(/surrogates not allowed/);
    expect(await call("query", { sql: "PRAGMA table_info(infinite)" })).toMatchObject({
      rows: [[0, "v", "REAL", 0, null, 0]],
    });
  });

  test("a query without an end is stopped", async () => {
    const sql =
      "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r";
    expect(await call("query", { sql })).toMatch(/computed for too long/);
    expect(await call("query", { sql: sql.replace("max(x)", "x"), limit: 2 })).toEqual({
      columns: ["x"],
      rows: [[1], [2]],
      more: true,
    });
  });

  test("tables beyond the caller's room are refused, and those before stay", async () => {
    await call("load", { table: "small", text: PEOPLE });
    const sql =
      "CREATE TABLE large AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 40) SELECT zeroblob(1000000) FROM r";
    expect(await call("change", { sql })).toMatch(/no more room/);
    expect(await call("query", { sql: "SELECT count(*) FROM small" })).toMatchObject({
      rows: [[3]],
    });
  });
});

test("data are fetched from a URL", async () => {
  const call = await caller();
  const fetch = async ({ url }: Request) =>
    url === "https://raw.githubusercontent.com/people.csv"
      ? new Response(PEOPLE)
      : new Response("", { status: 404 });
  const url = "https://raw.githubusercontent.com/people.csv";
  expect(await call("load", { table: "people", url }, { fetch })).toMatchObject({ rows: 3 });
  expect(await call("load", { table: "people", url: `${url}.gz` }, { fetch })).toMatch(
    /answered 404/,
  );
});

test("data are fetched from the hosts of the manifest alone", async () => {
  const call = await caller();
  const fetch = async () => new Response(PEOPLE);
  const elsewhere = { table: "people", url: "https://example.com/people.csv" };
  expect(await call("load", elsewhere, { fetch })).toMatch(/example\.com/);
});
