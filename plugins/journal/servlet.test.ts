import { loadServlet, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

const DAY = 24 * 3_600_000;
const NOON = Date.UTC(2026, 10, 22, 12);
const PATH = "/journal/journal.txt";

let journal: ServletUnderTest;
beforeEach(async () => {
  journal = await loadServlet(import.meta.dirname);
});

async function call(name: string, args: object, script = {}): Promise<string> {
  const { result } = await journal.callTool(`${name}_journal`, { ...args }, script);
  const [block] = result.content;
  const text = block?.type === "text" ? block.text : "";
  return result.isError ? `error: ${text}` : text;
}

/** The numbers of the entries that are found. */
async function found(query: string, args: object = {}): Promise<number[]> {
  const text = await call("search", { query, ...args });
  return [...text.matchAll(/^#(\d+) /gm)].map(([, number]) => Number(number));
}

test("keeps entries with their times, as they were written", async () => {
  const text = 'A "quoted" line,\nand \\ another: ünï 🙂 \u0001.';
  expect(await call("write", { text }, { now: NOON })).toBe("Entry 1, 2026-11-22T12:00:00Z");
  expect(await call("write", { text: "Two" }, { now: NOON + DAY })).toMatch(/^Entry 2, 2026-11-23/);
  expect(await call("read", { from: 1 })).toBe(
    `#1 2026-11-22T12:00:00Z\n${text}\n\n#2 2026-11-23T12:00:00Z\nTwo\n\n`,
  );
  expect(await call("read", { from: 2, limit: 1 })).toMatch(/^#2 /);
  expect(await call("read", { from: 3 })).toBe("There is no such entry.");
});

test("is one journal for each caller, in a file that only grows", async () => {
  await call("write", { text: "Mine" }, { caller: "ada" });
  await call("write", { text: "Also mine" }, { caller: "ada" });
  expect(await call("write", { text: "Yours" }, { caller: "bob" })).toMatch(/^Entry 1,/);
  expect(await journal.files({ caller: "ada" })).toEqual({
    [PATH]: "1 1970-01-01T00:00:00Z Mine\n2 1970-01-01T00:00:00Z Also mine\n",
  });
});

test.each([
  ["all words, in any case and order", "LINE first", [1]],
  ["words that begin with one", "lin", [2, 1]],
  ["no parts of words", "ine", []],
  ["letters beyond ASCII in any case", "ÄPFEL ЁЖИК", [3]],
  ["a phrase", '"first line"', [1]],
  ["no words in another order than a phrase's", '"line first"', []],
  ["words beside escapes", "broken", [2]],
  ["Chinese and Japanese, which have no spaces", "好き", [4]],
  ["everything, for a query without words", " … ", [4, 3, 2, 1]],
])("finds %s", async (_what, query, expected) => {
  for (const text of ["The first line", "A line\nbroken\tin\u2028two", "Äpfel, ёжик", "猫が好き"])
    await call("write", { text });
  expect(await found(query)).toEqual(expected);
});

test("finds the newest first, and within days", async () => {
  for (let day = 0; day < 5; day++) {
    await call("write", { text: `Day ${day}` }, { now: NOON + day * DAY });
  }
  expect(await found("day", { limit: 2 })).toEqual([5, 4]);
  expect(await call("search", { query: "day", limit: 2 })).toMatch(/^5 found, the newest of them:/);
  expect(await found("", { since: "2026-11-23", until: "2026-11-24" })).toEqual([3, 2]);
  expect(await found("day", { until: "2026-11" })).toEqual([5, 4, 3, 2, 1]);
});

test("searches ten megabytes within its limits, and says when it is full", async () => {
  const words = "lorem ipsum dolor sit amet consetetur sadipscing elitr ".repeat(18).trim();
  const line = (nth: number) => `${nth} 2026-11-22T12:00:00Z ${words}${nth}\n`;
  const lines = Array.from({ length: 10_000 }, (_, at) => line(at + 1)).join("");
  await journal.writeFiles({ [PATH]: lines });
  expect(await found("elitr4711 LOREM")).toEqual([4711]);
  expect(await call("write", { text: "one more" })).toMatch(/^Entry 10001,/);
  expect(await found("one more")).toEqual([10_001]);

  await journal.writeFiles({ [PATH]: lines + lines }, { caller: "ada" });
  expect(await call("write", { text: "no more" }, { caller: "ada" })).toBe(
    "error: The journal is full.",
  );
});

test.each([{ text: "" }, { text: "x".repeat(10_001) }, {}])("refuses %j", async (args) => {
  expect(await call("write", args)).toMatch(/^error: /);
});
