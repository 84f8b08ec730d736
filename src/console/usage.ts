import { html } from "hono/html";
import { shown, type Markup } from "../document.ts";
import { DIMENSIONS, noSums, timeOf, type Dimension, type Sums } from "../usage/counts.ts";
import { estimate, PRICES } from "../usage/prices.ts";
import { SPANS, type Report, type Span } from "../usage/usage-object.ts";
import { barChart, share } from "./charts.ts";
import { PAGES } from "./frame.ts";

/** What runs of servlets came to, for operators. */

/** What a page of usage is about. */
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

/** `month` is what the estimate of the bill is made of. */
export function usagePage(question: Question, report: Report, month: Sums, now: number): Markup {
  const { over, by } = question;
  const { total, named, bytes } = report;
  const most = named[0]?.sums.runs ?? 0;
  return html`<h2>Usage</h2>
    <p>
      Runs of servlets. One call is several runs where it waits. Counters of a server that was
      stopped may miss its last seconds.
    </p>
    ${choices("Over the last", Object.keys(SPANS), over, (one) => ({ over: one, by }))}
    ${choices("By", DIMENSIONS, by, (one) => ({ over, by: one }))}
    <dl class="big">
      ${figures(total, bytes).map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    ${barChart(`Runs in the last ${over}, errors in red`, barsOf(question, report, now))}
    <div class="wide" tabindex="0" role="region" aria-label="Runs by ${by}">
      <table>
        <caption>
          By ${by}
        </caption>
        <thead>
          <tr>
            <th scope="col">${by}</th>
            ${COLUMNS.map((name) => html`<th scope="col" class="number">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${named.map(
            ({ name, sums, bytes: stored }) =>
              html`<tr>
                <th scope="row">${shown(name)} ${share(sums.runs, most)}</th>
                ${figures(sums, stored).map(([, value]) => html`<td class="number">${value}</td>`)}
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

/** Sums as numbers for people, by name. */
const figures = (sums: Sums, bytes: number): [name: string, value: string][] => [
  ["Runs", number(sums.runs)],
  ["Errors", number(sums.errors)],
  ["Waits", number(sums.waits)],
  ["Half within", milliseconds(timeOf(sums, 0.5))],
  ["95 % within", milliseconds(timeOf(sums, 0.95))],
  ["Fuel", number(sums.fuel)],
  ["Kept now", bytes === 0 ? "0" : `${(bytes / 1_048_576).toFixed(1)} MiB`],
];

const COLUMNS = figures(noSums(), 0).map(([name]) => name);

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

/** A bar for each step, also for those without runs. */
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
  return html`<h3>What a month costs</h3>
    <p>
      About <strong>${money(dollars)}</strong> by the runs of the last 30 days: an estimate by the
      prices of ${PRICES.date}, of which ${money(PRICES.base)} are the plan's. It leaves out what is
      stored, requests that run no servlet, and other Workers of the account.
    </p>
    <div class="wide" tabindex="0" role="region" aria-label="The estimate">
      <table>
        <caption>
          The estimate
        </caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="number">Millions</th>
            <th scope="col" class="number">Included</th>
            <th scope="col" class="number">Price of a further million</th>
            <th scope="col" class="number">Dollars</th>
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
