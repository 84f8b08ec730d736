import { crc32, inflateSync } from "node:zlib";
import { loadServlet } from "edge-servlets/testing";
import { describe, expect, test } from "vitest";
import { axisAround } from "./axis.ts";

const chart = await loadServlet(import.meta.dirname);

interface Picture {
  width: number;
  height: number;
  /** How many pixels have each colour, as in "0072b2". */
  colours: Map<string, number>;
  /** Of each pixel, row by row. */
  pixels: string[];
}

/** Throws where something in it is not as its check sums say. */
function readPng(data: string): Picture {
  const bytes = Buffer.from(data, "base64");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    const whole = bytes.subarray(at + 4, at + 8 + length);
    expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(whole));
    chunks.set(whole.toString("latin1", 0, 4), whole.subarray(4));
    at += 12 + length;
  }
  expect([...chunks.keys()]).toEqual(["IHDR", "PLTE", "IDAT", "IEND"]);
  const head = chunks.get("IHDR")!;
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const palette = chunks.get("PLTE")!.toString("hex").match(/.{6}/g)!;
  const rows = inflateSync(chunks.get("IDAT")!);
  expect(rows.length).toBe(height * (width + 1));
  const pixels: string[] = [];
  const colours = new Map<string, number>();
  rows.forEach((number, at) => {
    if (at % (width + 1) === 0) return expect(number).toBe(0);
    const colour = palette[number]!;
    pixels.push(colour);
    colours.set(colour, (colours.get(colour) ?? 0) + 1);
  });
  return { width, height, colours, pixels };
}

async function drawn(args: object) {
  const { result, logs } = await chart.callTool("draw_chart", { ...args });
  expect(logs).toEqual([]);
  const [text, image] = result.content;
  if (text?.type !== "text" || image?.type !== "image") throw new Error("the result is another");
  return { text: text.text, data: image.data, picture: readPng(image.data) };
}

const BLUE = "0072b2";
const ORANGE = "d55e00";
/** The arguments for these series. */
const asArguments = ([first, ...series]: { name: string; values: number[] }[]) => ({
  ...first,
  series,
});
const ramp = (count: number) => Array.from({ length: count }, (_, at) => (at * 7919) % 997);

describe("draw_chart", () => {
  test("says the extremes, the mean and the count", async () => {
    const { text } = await drawn({ values: [3, -1.5, 4] });
    expect(text).toBe("min: -1.5 (position 2)\nmax: 4 (position 3)\nmean: 1.83333333333\ncount: 3");
  });

  test("says them of each series", async () => {
    const series = [
      { name: "North", values: [1] },
      { name: "South", values: [2, 3] },
    ];
    const { text } = await drawn(asArguments(series));
    expect(text).toMatch(/^North:\nmin: 1 [^]*\n\nSouth:\nmin: 2 [^]*count: 2$/);
  });

  test("its schema says what a call needs", async () => {
    const [tool] = (await chart.list()).tools;
    expect(tool!.inputSchema).toMatchObject({ type: "object", required: ["values"] });
    expect(Object.keys(tool!.inputSchema)).not.toContain("anyOf");
  });

  test("a list without a name has one in the legend beside others", async () => {
    const { text } = await drawn({ values: [1], series: [{ name: "South", values: [2] }] });
    expect(text).toMatch(/^values:\nmin: 1 [^]*\n\nSouth:\nmin: 2/);
  });

  test.each([
    { values: [0] },
    { values: [5, 5], kind: "bar" },
    { values: [-1, -1] },
    { values: [1e300, -1e300] },
    { values: [1e-320, 1e-12] },
    { values: [1_000_000, 1_000_001] },
    { values: ramp(500), width: 200, height: 120 },
    { values: ramp(500), kind: "bar", width: 1600, height: 1200 },
    { values: [1], width: 259, height: 121, title: "x".repeat(200), y_title: "y".repeat(200) },
    { values: [1, 2], labels: ["a".repeat(200)], x_title: "x".repeat(200), width: 201 },
    asArguments(Array.from({ length: 8 }, () => ({ name: "n".repeat(200), values: ramp(9) }))),
  ])("draws %j", async (args) => {
    const { picture } = await drawn(args);
    const { width = 640, height = 320 } = args as { width?: number; height?: number };
    expect(picture).toMatchObject({ width, height });
    expect(picture.colours.get(BLUE)).toBeGreaterThan(0);
  });

  test("bars are as high as their values", async () => {
    const { picture } = await drawn({ kind: "bar", values: [100, 200] });
    const column = (x: number) =>
      picture.pixels.filter((one, at) => at % 640 === x && one === BLUE).length;
    const [low, high] = [column(180), column(480)];
    expect(low).toBeGreaterThan(50);
    expect(Math.abs(high - 2 * low)).toBeLessThanOrEqual(2);
  });

  test("each series has its colour, in the picture and in the legend", async () => {
    const series = [
      { name: "North", values: [1, 1] },
      { name: "South", values: [9, 9] },
    ];
    const { picture } = await drawn({ ...asArguments(series), title: "Two" });
    const rows = (colour: string) =>
      new Set(picture.pixels.flatMap((one, at) => (one === colour ? Math.floor(at / 640) : [])));
    const legend = [...rows(BLUE)].filter((row) => rows(ORANGE).has(row));
    expect(legend).toHaveLength(10);
    expect(Math.max(...rows(BLUE))).toBeGreaterThan(Math.max(...rows(ORANGE)) + 100);
  });

  test.each(["title", "x_title", "y_title"])("writes %s", async (place) => {
    const values = [1, 2];
    const without = await drawn({ values });
    const texts = await Promise.all(
      ["Größe", "Größa", "漢", "?"].map((text) => drawn({ values, [place]: text })),
    );
    const [one, other, lacking, mark] = texts.map(({ data }) => data);
    expect(new Set([without.data, one, other, mark]).size).toBe(4);
    expect(lacking).toBe(mark);
  });

  test("writes labels instead of positions", async () => {
    const values = [1, 2];
    const { data } = await drawn({ values });
    expect((await drawn({ values, labels: ["1", "2"] })).data).toBe(data);
    expect((await drawn({ values, labels: ["1", "3"] })).data).not.toBe(data);
  });

  test.each([
    [{}, "values"],
    [{ series: [{ name: "a", values: [1] }] }, "`values` is required"],
    [{ values: [1], series: [] }, "series"],
    [{ values: [] }, "values"],
    [{ values: ["1"] }, "values"],
    [{ values: [2e300] }, "values"],
    [{ values: ramp(501) }, "values"],
    [{ values: [1], kind: "pie" }, "kind"],
    [{ values: [1], width: 199 }, "width"],
    [{ values: [1], colour: "red" }, "colour"],
  ])("refuses %j", async (args, why) => {
    const { result } = await chart.callTool("draw_chart", args);
    expect(result).toMatchObject({ isError: true, content: [{ type: "text" }] });
    expect(JSON.stringify(result.content)).toContain(why);
  });
});

test.each([
  [0, 9, 8, "0 2 4 6 8 10"],
  [0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0"],
  [-3, 20, 6, "−5 0 5 10 15 20"],
  [0, 412_000, 6, "0 100k 200k 300k 400k 500k"],
  [0, 9999, 2, "0 5k 10k"],
  [1e6, 1e6 + 1, 2, "1.0000000M 1.0000005M 1.0000010M"],
  [0, 3e-9, 3, "0 1e-9 2e-9 3e-9"],
])("ticks from %d to %d in %d steps", (low, high, most, ticks) => {
  const { first, last, step, format } = axisAround(low, high, most);
  const all = Array.from({ length: last - first + 1 }, (_, at) => format((first + at) * step));
  expect(all.join(" ")).toBe(ticks);
});
