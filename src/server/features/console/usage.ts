/** The page on which operators see how much servlets run. */
import { html } from "hono/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import {
  DIMENSIONS,
  noSums,
  OTHERS,
  timeOf,
  type Dimension,
  type Sums,
} from "../../kernel/observe/counted.ts";
import { SPANS, type Report, type UsageSpan } from "../../kernel/observe/counted.ts";
import { callsPath } from "./calls.ts";
import { emptyState, tableOf } from "../../kernel/http/components.ts";
import { PAGES } from "../people/paths.ts";
import { durationOf } from "../../kernel/core/times.ts";
import { bytesText, computeMs, computeText, count, several } from "./units.ts";

/** The selection of figures that the page shows. */
interface Question {
  over: UsageSpan;
  by: Dimension;
}

/** Parses the selection from a URL; by default the last hour, by tool. */
export function questionIn(url: string): Question {
  const { searchParams } = new URL(url);
  const over = (Object.keys(SPANS) as UsageSpan[]).find((one) => one === searchParams.get("over"));
  const by = DIMENSIONS.find((one) => one === searchParams.get("by"));
  return { over: over ?? "hour", by: by ?? "tool" };
}

/** The page's body. */
export function usagePage(question: Question, report: Report, now: number): Markup {
  const { over, by } = question;
  const { total, named, bytes, waiting, refused } = report;
  const most = named[0]?.sums.runs ?? 0;
  const steps = stepsOf(question, report, now);
  const step = STEP_NAMES[over];
  return html`<h1>Usage</h1>
    <p class="dim">
      What servlets ran until a few seconds ago. A call that waits and continues counts as several
      runs.
    </p>
    <div class="choices">
      ${choices("Over the last", Object.keys(SPANS), over, (one) => ({ over: one, by }))}
      ${choices("By", DIMENSIONS, by, (one) => ({ over, by: one }))}
    </div>
    <dl class="big">
      ${figuresOf({ sums: total, bytes, waiting }).map(([name, value]) => {
        const isLink = name === "Errors" && total.errors > 0;
        return html`<div>
          <dt>${name}</dt>
          <dd>
            ${isLink ? html`<a href="${callsPath({ over, outcome: "failed" })}">${value}</a>` : value}
          </dd>
        </div>`;
      })}
    </dl>
    <div class="charts">
      ${barChart(`Runs in each ${step}`, over, {
        bars: steps.map(({ start, sums: { runs, errors } }) => ({
          label: `${exactly(start)}: ${several(runs, "run")}, ${several(errors, "error")}`,
          start,
          value: runs,
          wrong: errors,
        })),
        inWords: count,
        legend: html`<span class="key bar"></span> runs, <span class="key bad"></span> of which
          errors`,
      })}
      ${barChart(`CPU time in each ${step}, estimated`, over, {
        bars: steps.map(({ start, sums: { fuel } }) => ({
          label: `${exactly(start)}: ${computeText(fuel)}`,
          start,
          value: computeMs(fuel),
          wrong: 0,
        })),
        inWords: durationOf,
        legend: html`<span class="key bar"></span> CPU time`,
      })}
    </div>
    <p class="dim small">Times are in UTC. Point at a bar for its figures.</p>
    ${
      total.runs === 0
        ? ""
        : html`<details>
            <summary>The charts as a table</summary>
            ${tableOf({
              caption: `Runs and CPU time in each ${step}`,
              columns: [
                `${step[0]!.toUpperCase()}${step.slice(1)} from (UTC)`,
                ...numbers("Runs", "Errors", "CPU time", "Fuel"),
              ],
              rows: steps
                .filter(({ sums: { runs } }) => runs > 0)
                .map(({ start, sums: { runs, errors, fuel } }) => [
                  exactly(start),
                  count(runs),
                  count(errors),
                  computeText(fuel),
                  count(fuel),
                ]),
            })}
          </details>`
    }
    <h2>By ${by}</h2>
    ${
      named.length === 0
        ? emptyState(`No runs in the last ${over}`)
        : tableOf({
            caption: `By ${by}`,
            columns: [`${by[0]!.toUpperCase()}${by.slice(1)}`, ...numbers(...columns())],
            rows: named.map(({ name, ...counted }) => {
              // The page Calls cannot filter by several names.
              const to = (more: object): string | undefined =>
                name === OTHERS ? undefined : callsPath({ over, [by]: name, ...more });
              const linked = (text: Markup | string, href: string | undefined) =>
                href === undefined ? text : html`<a href="${href}">${text}</a>`;
              return [
                html`<span class="name"
                  >${linked(shown(name), to({}))} ${share(counted.sums.runs, most)}</span
                >`,
                ...figuresOf(counted).map(([title, value]) =>
                  NONE.has(value)
                    ? ""
                    : linked(value, title === "Errors" ? to({ outcome: "failed" }) : undefined),
                ),
              ];
            }),
          })
    }
    ${
      refused.length > 0 &&
      html`<h2>Refused requests</h2>
        ${tableOf({
          caption: "Refused requests",
          columns: ["Why", ...numbers("Requests")],
          rows: refused.map(({ name, count: times }) => [
            html`<code>${shown(name)}</code>`,
            count(times),
          ]),
        })}
        <p class="dim small">They reached no servlet. The log says who was refused.</p>`
    }
    <details>
      <summary>What these figures mean</summary>
      <dl>
        ${Object.entries(MEANINGS).map(
          ([name, meaning]) =>
            html`<dt>${name}</dt>
              <dd>${meaning}</dd>`,
        )}
      </dl>
    </details>`;
}

const MEANINGS: Record<string, string> = {
  "Waits, Waiting now":
    "Runs that stopped to wait, and calls that are waiting now, without those whose state the client keeps.",
  "Median, p95": "50 % and 95 % of the runs took no longer than this, to within a factor of 1.4.",
  "CPU time": "Estimated from fuel. The real time may be half or twice as long.",
  Fuel: "Units of computation that servlets count themselves: about four million in a millisecond of CPU time.",
  Stored: "Memory and files that servlets store now. Not known by tool.",
};

/** Figures that the table omits, so that the others stand out. */
const NONE = new Set(["0", "0 bytes", "0 ms", "–"]);

const numbers = (...names: readonly string[]) => names.map((name) => ({ name, isNumber: true }));

type UsageFigures = Omit<Report["named"][number], "name">;

const timeText = (sums: Sums, part: number): string => {
  const ms = timeOf(sums, part);
  return ms === undefined ? "–" : durationOf(ms);
};

/** The counts as text, by column. */
const figuresOf = ({ sums, bytes, waiting }: UsageFigures): [name: string, value: string][] => [
  ["Runs", count(sums.runs)],
  ["Errors", count(sums.errors)],
  ["Waits", count(sums.waits)],
  ["Waiting now", count(waiting)],
  ["Median", timeText(sums, 0.5)],
  ["p95", timeText(sums, 0.95)],
  ["CPU time", computeText(sums.fuel)],
  ["Stored", bytesText(bytes)],
];

// Created on first use: formatting the first number takes as long as a Worker should take to start.
const columns = () => figuresOf({ sums: noSums(), bytes: 0, waiting: 0 }).map(([name]) => name);

const choices = (
  label: string,
  all: readonly string[],
  chosen: string,
  question: (one: string) => Record<string, string>,
): Markup =>
  html`<nav aria-label="${label}">
    <span class="dim">${label}</span>
    ${all.map((one) => {
      const href = `${PAGES.Usage}?${String(new URLSearchParams(question(one)))}`;
      return html`<a href="${href}" ${one === chosen ? html`aria-current="true"` : ""}>${one}</a>`;
    })}
  </nav>`;

const STEP_NAMES = { hour: "minute", day: "hour", month: "day" } as const;

/** The counts of each step, with or without runs, in order of time. */
function stepsOf({ over }: Question, { steps }: Report, now: number) {
  const { ms, step } = SPANS[over];
  const known = new Map(steps.map((one) => [one.start, one.sums]));
  const last = now - (now % step);
  return Array.from({ length: ms / step }, (_, nth) => {
    const start = last - ms + (nth + 1) * step;
    return { start, sums: known.get(start) ?? noSums() };
  });
}

/** `26 Nov, 21:58`, by UTC. */
const exactly = (at: number): string => {
  const [, day, month] = new Date(at).toUTCString().split(" ");
  return `${Number(day)} ${month}, ${timeOfDay(at)}`;
};

const timeOfDay = (at: number): string => new Date(at).toISOString().slice(11, 16);

const dayOf = (at: number): string => exactly(at).split(",")[0]!;

/** A bar of a chart. */
interface Bar {
  /** Its tooltip. */
  label: string;
  /** When its step begins, in Unix ms. */
  start: number;
  value: number;
  /** The part of the value that is drawn in the color of errors. */
  wrong: number;
}

interface Chart {
  bars: readonly Bar[];
  /** A value at the vertical axis, with its unit. */
  inWords(value: number): string;
  legend: Markup;
}

const HEIGHT = 100;

/** Rounds up to 1, 2, 4 or 10 times a power of ten, of which half is easy to read too. */
function topOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 4, 10].map((times) => times * power).find((top) => top >= value) ?? 10 * power;
}

/**
 * A bar chart as inline SVG, stretched to the page's width, with the words of its axes around it: those would shrink with it.
 * `title` is its caption and its text for screen readers.
 */
function barChart(title: string, over: UsageSpan, { bars, inWords, legend }: Chart): Markup {
  const top = Math.max(2, topOf(Math.max(...bars.map(({ value }) => value))));
  const high = (value: number) => (value / top) * HEIGHT;
  const quarters = [0, 1, 2, 3].map((nth) => bars[Math.floor((nth * bars.length) / 4)]!.start);
  const atAxis = over === "month" ? dayOf : timeOfDay;
  return html`<figure class="card">
    <figcaption><strong>${title}</strong><br /><span class="dim small">${legend}</span></figcaption>
    <div class="plot">
      <div class="tall dim small" aria-hidden="true">
        ${[top, top / 2, 0].map((value) => html`<span>${value === 0 ? "0" : inWords(value)}</span>`)}
      </div>
      <svg
        class="chart"
        viewBox="0 0 ${bars.length} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${title}"
      >
        ${[0, 0.5, 1].map((part) => html`<line class="grid" x2="${bars.length}" y1="${part * HEIGHT}" y2="${part * HEIGHT}" />`)}
        ${bars.map(({ label, value, wrong }, nth) => {
          const bar = (of: number, className: string) =>
            of === 0
              ? ""
              : html`<rect
                  class="${className}"
                  x="${nth + 0.1}"
                  y="${(HEIGHT - high(of)).toFixed(1)}"
                  width=".8"
                  height="${high(of).toFixed(1)}"
                />`;
          return html`<g
            ><title>${label}</title
            ><rect
              class="all"
              x="${nth}"
              width="1"
              height="${HEIGHT}"
            />${bar(value, "bar")}${bar(wrong, "bad")}</g
          >`;
        })}
      </svg>
      <div class="along dim small" aria-hidden="true">
        ${quarters.map((start) => html`<span>${atAxis(start)}</span>`)}<span>now</span>
      </div>
    </div>
  </figure>`;
}

/** A horizontal bar whose full width stands for `most`. */
const share = (value: number, most: number): Markup =>
  html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar" width="${((value / Math.max(1, most)) * 100).toFixed(1)}" height="8" />
  </svg>`;

export const chartStyle = `
  .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .75rem; margin: 1rem 0; } .charts > * { margin: 0; }
  .plot { display: grid; grid-template-columns: auto 1fr; gap: .25rem .5rem; margin: .75rem 0 .5rem; }
  .chart { width: 100%; height: 9rem; overflow: visible; } .tall, .along { display: flex; justify-content: space-between; line-height: 1; }
  .tall { flex-direction: column; text-align: right; margin: -.4em 0; white-space: nowrap; } .along { grid-column: 2; }
  .bar { fill: var(--accent); background: var(--accent); } .bad { fill: var(--wrong); background: var(--wrong); } .all { fill: transparent; } g:hover .all { fill: var(--panel); }
  .grid { stroke: var(--line); vector-effect: non-scaling-stroke; } .key { display: inline-block; width: .75em; height: .75em; }
  .name { display: block; min-width: 8rem; } .share { width: 100%; height: .25rem; display: block; }
  .big { display: grid; grid-template-columns: repeat(4, 1fr); gap: .75rem 1rem; margin: 1.25rem 0; } .big div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
  .big dd { font-size: var(--large); font-weight: 600; margin: 0; } .choices, .choices nav { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center; } .choices { gap: 0 3rem; } .choices a { min-height: 2.75rem; align-content: center; }
  @media (max-width: 40rem) { .big { grid-template-columns: 1fr 1fr; } }
`;
