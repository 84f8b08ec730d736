import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

/** A server for the official SDK, unchanged, tested as any servlet. */
const servlet = await loadServlet(import.meta.dirname);

const convert = (args: Record<string, unknown>, script: object = {}) =>
  servlet.callTool("convert_units", args, script).then(({ result }) => result);

test("it converts, with a result in text and in structure", async () => {
  expect(await convert({ value: 3, from: "mi", to: "km" })).toMatchObject({
    content: [{ type: "text", text: "3 mi = 4.828032 km" }],
    structuredContent: { value: 4.828032, unit: "km" },
  });
});

test("it asks which gallon is meant, also if the call begins again in between", async () => {
  const answers = { "elicitation/create": [{ action: "accept", content: { gallon: "imperial" } }] };
  for (const alwaysReplay of [false, true]) {
    const script = { answers, alwaysReplay, capabilities: { elicitation: {} } };
    expect(await convert({ value: 1, from: "gal", to: "l" }, script)).toMatchObject({
      structuredContent: { value: 4.54609, unit: "l" },
    });
  }
  const declined = { answers: { "elicitation/create": [{ action: "decline" }] } };
  expect(await convert({ value: 1, from: "gal", to: "l" }, declined)).toMatchObject({
    isError: true,
  });
});

test("units of two kinds, and arguments that do not fit, are results that say so", async () => {
  expect(await convert({ value: 1, from: "mi", to: "kg" })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("units://all") }],
  });
  const wrong = await convert({ value: "much", from: "mi", to: "km" });
  expect(wrong.isError).toBe(true);
});

test("its resource names all units", async () => {
  const { result } = await servlet.readResource("units://all");
  const [{ text }] = result.contents as unknown as [{ text: string }];
  expect(JSON.parse(text)).toMatchObject({ volume: ["l", "ml", "gal (US)", "gal (imperial)"] });
});
