/** The page on which operators see how much servlets run. */
import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import { DIMENSIONS, noSums, timeOf, type Dimension } from "../observe/counts.ts";
import { SPANS, type Report, type UsageSpan } from "../observe/usage-object.ts";
import { tableOf } from "./components.ts";
import { PAGES } from "./paths.ts";

/** The selection that the page shows. */
interface Question {
  over: UsageSpan;
  by: Dimension;
}

/** The question in a URL; by default the last hour, by tool. */
export function questionIn(url: string): Question {
  const { searchParams } = new URL(url);
  const over = (Object.keys(SPANS) as UsageSpan[]).find((one) => one === searchParams.get("over"));
  const by = DIMENSIONS.find((one) => one === searchParams.get("by"));
  return { over: over ?? "hour", by: by ?? "tool" };
}

/** The page's body. */
export function usagePage(question: Question, report: Report, now: number): Markup {
  const { over, by } = question;
  const { total, named, bytes, waiting } = report;
  const most = named[0]?.sums.runs ?? 0;
  return html`<h1>Usage</h1>
    <p>
      Runs of servlets. A call that waits and continues is several runs. The last seconds before a
      server stops may be missing.
    </p>
    ${choices("Over the last", Object.keys(SPANS), over, (one) => ({ over: one, by }))}
    ${choices("By", DIMENSIONS, by, (one) => ({ over, by: one }))}
    <dl class="big">
      ${figuresOf({ sums: total, bytes, waiting }).map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    ${barChart(`Runs per ${STEP_NAMES[over]} in the last ${over}, errors in red`, barsOf(question, report, now))}
    ${tableOf({
      caption: `By ${by}`,
      hasCaption: true,
      columns: [
        `${by[0]!.toUpperCase()}${by.slice(1)}`,
        ...columns().map((name) => ({ name, isNumber: true })),
      ],
      rows: named.map(({ name, ...counted }) => [
        html`${shown(name)} ${share(counted.sums.runs, most)}`,
        ...figuresOf(counted).map(([, value]) => value),
      ]),
    })}
    ${named.length === 0 ? html`<p class="dim">No runs.</p>` : ""}`;
}

const number = (value: number): string => Math.round(value).toLocaleString("en");

const milliseconds = (value: number | undefined): string =>
  value === undefined ? "" : `${number(value)} ms`;

type Counted = Omit<Report["named"][number], "name">;

/** The counts as text, by column. */
const figuresOf = ({ sums, bytes, waiting }: Counted): [name: string, value: string][] => [
  ["Runs", number(sums.runs)],
  ["Errors", number(sums.errors)],
  ["Waits", number(sums.waits)],
  ["Waiting now", number(waiting)],
  ["p50 time", milliseconds(timeOf(sums, 0.5))],
  ["p95 time", milliseconds(timeOf(sums, 0.95))],
  ["Fuel", number(sums.fuel)],
  ["Stored", bytes === 0 ? "0" : `${(bytes / 1_048_576).toFixed(1)} MiB`],
];

// Not before the page is asked for: to write the first number takes as long as a start of the Worker should.
const columns = () => figuresOf({ sums: noSums(), bytes: 0, waiting: 0 }).map(([name]) => name);

function choices(
  label: string,
  all: readonly string[],
  chosen: string,
  question: (one: string) => Record<string, string>,
): Markup {
  return html`<nav class="choices" aria-label="${label}">
    ${label}:
    ${all.map((one) => {
      const href = `${PAGES.Usage}?${String(new URLSearchParams(question(one)))}`;
      return html`<a href="${href}" ${one === chosen ? html`aria-current="true"` : ""}>${one}</a>`;
    })}
  </nav>`;
}

const STEP_NAMES = { hour: "minute", day: "hour", month: "day" } as const;

/** One bar for each step, with or without runs. */
function barsOf({ over }: Question, { steps }: Report, now: number) {
  const { ms, step } = SPANS[over];
  const sums = new Map(steps.map((one) => [one.start, one.sums]));
  const last = now - (now % step);
  return Array.from({ length: ms / step }, (_, nth) => {
    const start = last - ms + (nth + 1) * step;
    const { runs, errors } = sums.get(start) ?? noSums();
    const label = `${new Date(start).toUTCString()}: runs: ${number(runs)}, errors: ${number(errors)}`;
    return { label, value: runs, wrong: errors };
  });
}

/** A bar of a chart. */
interface Bar {
  /** Its tooltip. */
  label: string;
  value: number;
  /** The part of the value that is drawn in the color of errors. */
  wrong: number;
}

const [WIDTH, HEIGHT] = [720, 160];

/** A bar chart as inline SVG; `title` is its caption and its text for screen readers. */
function barChart(title: string, bars: readonly Bar[]): Markup {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = WIDTH / Math.max(1, bars.length);
  const high = (value: number) => (value / most) * HEIGHT;
  return html`<figure>
    <svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" role="img" aria-label="${title}">
      ${bars.map(({ label, value, wrong }, nth) => {
        const [x, wide] = [(nth * step).toFixed(1), (step * 0.8).toFixed(1)];
        const bar = (of: number, className: string) =>
          html`<rect
            class="${className}"
            x="${x}"
            y="${(HEIGHT - high(of)).toFixed(1)}"
            width="${wide}"
            height="${high(of).toFixed(1)}"
          />`;
        return html`<g
          ><title>${label}</title>${bar(value, "bar")} ${wrong > 0 ? bar(wrong, "bad") : ""}</g
        >`;
      })}
      <line class="ground" x1="0" x2="${WIDTH}" y1="${HEIGHT + 0.5}" y2="${HEIGHT + 0.5}" />
    </svg>
    <figcaption class="dim">${title}. The highest bar is ${most.toLocaleString("en")}.</figcaption>
  </figure>`;
}

/** A horizontal bar whose full width stands for `most`. */
const share = (value: number, most: number): Markup =>
  html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar" width="${((value / Math.max(1, most)) * 100).toFixed(1)}" height="8" />
  </svg>`;

export const chartStyle = `
  .chart { width: 100%; height: auto; max-height: 14rem; } .bar { fill: var(--accent); } .bad { fill: var(--wrong); }
  .ground { stroke: var(--edge); } .share { width: 100%; height: .4rem; display: block; } figure { margin: .8rem 0; }
  .big { display: flex; flex-wrap: wrap; gap: .6rem 2rem; } .big div { display: flex; flex-direction: column-reverse; }
  .big dd { font-size: var(--title); margin: 0; } .big dt { color: var(--dim); }
  .choices { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
`;
