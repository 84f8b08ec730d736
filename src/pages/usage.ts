import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import { DIMENSIONS, noSums, timeOf, type Dimension, type Sums } from "../observe/counts.ts";
import { estimate, PRICES } from "../observe/prices.ts";
import { SPANS, type Report, type Span } from "../observe/usage-object.ts";
import { barChart, share } from "./charts.ts";
import { PAGES } from "./frame.ts";

/** The page on which operators see how much servlets run, and what that costs. */

/** What the page is asked to show. */
export interface Question {
  over: Span;
  by: Dimension;
}

/** The question in a URL; by default the last hour, by tool. */
export function questionIn(url: string): Question {
  const { searchParams } = new URL(url);
  const over = (Object.keys(SPANS) as Span[]).find((one) => one === searchParams.get("over"));
  const by = DIMENSIONS.find((one) => one === searchParams.get("by"));
  return { over: over ?? "hour", by: by ?? "tool" };
}

/** The page's body. The bill is estimated from the sums of a `month`. */
export function usagePage(question: Question, report: Report, month: Sums, now: number): Markup {
  const { over, by } = question;
  const { total, named, bytes, waiting } = report;
  const most = named[0]?.sums.runs ?? 0;
  return html`<h2>Usage</h2>
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
    <div class="wide" tabindex="0" role="region" aria-label="Runs by ${by}">
      <table>
        <caption>
          By ${by}
        </caption>
        <thead>
          <tr>
            <th scope="col">${by[0]!.toUpperCase()}${by.slice(1)}</th>
            ${COLUMNS.map((name) => html`<th scope="col" class="number">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${named.map(
            ({ name, ...counted }) =>
              html`<tr>
                <th scope="row">${shown(name)} ${share(counted.sums.runs, most)}</th>
                ${figuresOf(counted).map(([, value]) => html`<td class="number">${value}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${named.length === 0 ? html`<p class="dim">No runs.</p>` : ""} ${billOf(month)}`;
}

const number = (value: number): string => Math.round(value).toLocaleString("en");

const milliseconds = (value: number | undefined): string =>
  value === undefined ? "" : `${number(value)} ms`;

type Counted = Omit<Report["named"][number], "name">;

/** What was counted as text, by column. */
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

const COLUMNS = figuresOf({ sums: noSums(), bytes: 0, waiting: 0 }).map(([name]) => name);

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

function billOf(month: Sums): Markup {
  const { charges, dollars } = estimate(month);
  const money = (amount: number) => `$${amount.toFixed(2)}`;
  return html`<h3>Estimated cost of a month</h3>
    <p>
      About <strong>${money(dollars)}</strong> for the runs of the last 30 days, at the prices of
      ${PRICES.date} and including ${money(PRICES.base)} for the plan. Storage, requests that run no
      servlet, and other Workers of the account are not included.
    </p>
    <div class="wide" tabindex="0" role="region" aria-label="The estimate by item">
      <table>
        <caption>
          By item
        </caption>
        <thead>
          <tr>
            <th scope="col">Item</th>
            <th scope="col" class="number">Used (millions)</th>
            <th scope="col" class="number">Included</th>
            <th scope="col" class="number">Per further million</th>
            <th scope="col" class="number">Cost</th>
          </tr>
        </thead>
        <tbody>
          ${charges.map(
            (one) =>
              html`<tr>
                <th scope="row">${one.name}</th>
                <td class="number">${one.amount.toFixed(2)}</td>
                <td class="number">${one.included}</td>
                <td class="number">${money(one.price)}</td>
                <td class="number">${money(one.dollars)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}
