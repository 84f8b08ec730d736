/** Draws line and bar charts as PNG. */
import { defineServlet } from "edge-servlets/servlet";
import { MOST_SERIES } from "./canvas.ts";
import { draw, type Series } from "./draw.ts";
import { encodePng } from "./png.ts";

const MOST_VALUES = 500;
/** Room for sums and for round ticks beyond the values. */
const LARGEST = 1e300;
/** Values nearer to zero are drawn as zero: floating-point numbers lose digits there. */
const SMALLEST = 1e-300;

const TEXT = { type: "string", maxLength: 200 } as const;
const VALUES = {
  type: "array",
  items: { type: "number", minimum: -LARGEST, maximum: LARGEST },
  minItems: 1,
  maxItems: MOST_VALUES,
} as const;

export default defineServlet({
  views: {
    chart: {
      file: "./chart.tsx",
      title: "Chart",
      description: "The chart, to read values from, enlarge and save",
    },
  },
  tools: {
    draw_chart: {
      title: "Draw a chart",
      view: "chart",
      description:
        "Draws numbers as a line or bar chart: one list (values), or several with a legend (values and series). Returns the minimum, maximum, mean and count of each list as text, and the chart as a PNG image.",
      input: {
        type: "object",
        examples: [{ values: [3, 1.5, 4], labels: ["May", "June", "July"], title: "Rain" }],
        properties: {
          values: {
            ...VALUES,
            description: "The numbers to draw, in order from left to right.",
          },
          name: { ...TEXT, description: "What the legend calls values, if there are series." },
          series: {
            type: "array",
            items: {
              type: "object",
              properties: { name: { ...TEXT, description: "As in the legend" }, values: VALUES },
              required: ["name", "values"],
              additionalProperties: false,
            },
            minItems: 1,
            maxItems: MOST_SERIES - 1,
            description: "More lists of numbers, to compare with values.",
          },
          labels: {
            type: "array",
            items: TEXT,
            maxItems: MOST_VALUES,
            description: "What stands below each value, such as months. Its position by default.",
          },
          kind: {
            type: "string",
            enum: ["line", "bar"],
            default: "line",
            description: "line for a course over time, bar for amounts to compare.",
          },
          title: {
            ...TEXT,
            description:
              "A short heading. Letters that are not Latin, Greek or Cyrillic are drawn as question marks.",
          },
          x_title: { ...TEXT, description: "What the positions are, such as Month." },
          y_title: { ...TEXT, description: "What the values are, with their unit." },
          width: {
            type: "integer",
            minimum: 200,
            maximum: 1600,
            default: 640,
            description: "Width of the image in pixels.",
          },
          height: {
            type: "integer",
            minimum: 120,
            maximum: 1200,
            default: 320,
            description: "Height of the image in pixels.",
          },
        },
        required: ["values"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      handler({ values, name, series = [], labels, kind = "line", title = "", ...rest }) {
        const first = { name: name ?? (series.length > 0 ? "values" : ""), values };
        const given: readonly Series[] = [first, ...series];
        const chart = {
          kind,
          labels,
          title,
          series: given.map((one) => ({
            ...one,
            values: one.values.map((value) => (Math.abs(value) < SMALLEST ? 0 : value)),
          })),
          xTitle: rest.x_title ?? "",
          yTitle: rest.y_title ?? "",
          width: rest.width ?? 640,
          height: rest.height ?? 320,
        };
        const data = encodePng(draw(chart)).toBase64();
        return [
          { type: "text" as const, text: given.map(summary).join("\n\n") },
          { type: "image" as const, mimeType: "image/png", data },
        ];
      },
    },
  },
});

function summary({ name, values }: Series): string {
  const extreme = (what: string, value: number) =>
    `${what}: ${digits(value)} (position ${values.indexOf(value) + 1})`;
  // Divided first: a sum of the largest is beyond what a number can be.
  const mean = values.reduce((sum, value) => sum + value / values.length, 0);
  return [
    ...(name === "" ? [] : [`${name}:`]),
    extreme("min", Math.min(...values)),
    extreme("max", Math.max(...values)),
    `mean: ${digits(mean)}`,
    `count: ${values.length}`,
  ].join("\n");
}

const digits = (value: number): string => String(Number(value.toPrecision(12)));
