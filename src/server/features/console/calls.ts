/** The page Calls: the last calls with caller, outcome, duration and error. */
import { html } from "hono/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import {
  SEARCHED,
  type CallNames,
  type CallPage,
  type CallQuery,
} from "../../kernel/observe/call-log.ts";
import type { EndedCall } from "../../kernel/observe/counted.ts";
import { SPANS, type UsageSpan } from "../../kernel/observe/counted.ts";
import { limits } from "../../kernel/core/limits.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import { failureOf } from "../../kernel/servlets/failures.ts";
import { badge, emptyState, tableOf, timeTag } from "../../kernel/http/components.ts";
import { LIVE_PATH } from "./live.ts";
import { PAGES } from "../people/paths.ts";
import { durationOf } from "../../kernel/core/times.ts";
import { count } from "./units.ts";

/** The filter of the page, by the names of its query parameters. An empty value matches every call. */
export type CallFields = Record<(typeof FIELDS)[number], string>;
const FIELDS = ["over", "caller", "servlet", "tool", "outcome", "ms", "error"] as const;

const TIMES: Record<string, string> = {
  "": "Any time",
  hour: "Last hour",
  day: "Last day",
  month: "Last month",
};
const DURATIONS = [100, 1000, 10_000, 60_000];
const FIELD_CHARACTERS = 1000;

/** The value of the filter `outcome` that stands for all failures. */
const FAILED = "failed";

/** The URL of the page with this filter. */
export const callsPath = (fields: Partial<CallFields>): string =>
  `${PAGES.Calls}?${new URLSearchParams(fields).toString()}`;

/** Parses the filter, and the position `before` of the page, from a URL. */
export function callFilterIn(url: string): CallFields & { before: string } {
  const { searchParams } = new URL(url);
  const field = (name: string) => beginningOf(searchParams.get(name) ?? "", FIELD_CHARACTERS);
  const fields = FIELDS.map((name) => [name, field(name)]);
  return { ...(Object.fromEntries(fields) as CallFields), before: field("before") };
}

/** The query for this filter. With `own`, it covers the calls of that caller only, whatever the filter says. */
export function callQuery(
  filter: CallFields & { before: string },
  own: string | undefined,
  now: number,
): CallQuery {
  const { over, caller, servlet, tool, outcome, ms, error, before } = filter;
  const span = Object.hasOwn(SPANS, over) ? SPANS[over as UsageSpan] : undefined;
  return {
    since: span && now - span.ms,
    caller: own ?? (caller || undefined),
    servlet: servlet || undefined,
    tool: tool || undefined,
    hasFailed: outcome === FAILED,
    outcomes: outcome === "" || outcome === FAILED ? undefined : outcome.split(" "),
    ms: Number(ms) > 0 ? Number(ms) : undefined,
    error: error || undefined,
    before: /^\d+\.\d+$/.test(before) ? before : undefined,
  };
}

interface ShownCalls extends CallPage {
  filter: CallFields & { before: string };
  names: CallNames;
  /** True if the calls of all callers are shown. */
  isForAll: boolean;
  /** Ids of tasks whose pages the visitor may open. */
  open: ReadonlySet<string>;
}

export function callsPage(all: ShownCalls): Markup {
  const { calls, next, filter, isForAll } = all;
  const { before, ...fields } = filter;
  const isFiltered = Object.values(fields).some((value) => value !== "");
  const isEmpty = calls.length === 0;
  return html`<h1>Calls</h1>
    <p class="lead">
      ${isForAll ? "The last calls of all callers." : "Your last calls."} A call is listed a few
      seconds after it ends. <a href="${PAGES.Live}">Live</a> lists the calls that are waiting.
    </p>
    ${filterForm(all)}
    ${
      isEmpty
        ? isFiltered || before !== ""
          ? emptyState(
              next === undefined
                ? "No call matches"
                : `No call matches among the ${before === "" ? "newest" : "next"} ${count(SEARCHED)} errors`,
              html`Change the filter, or <a href="${PAGES.Calls}">show all calls</a>.`,
            )
          : emptyState(
              "No calls yet",
              html`Call a tool from a client, or try one on <a href="${PAGES.Home}">Home</a>.`,
            )
        : tableOf({
            caption: "Calls, the newest first",
            columns: [
              "Call",
              "When",
              ...(isForAll ? ["Caller"] : []),
              "Outcome",
              { name: "Duration", isNumber: true },
            ],
            rows: calls.map((call) => rowOf(call, all)),
          })
    }
    <p class="acts">
      ${before !== "" && html`<a class="button" href="${callsPath(fields)}">Newest calls</a>`}
      ${next !== undefined && html`<a class="button" href="${callsPath({ ...fields })}&before=${next}">Older calls</a>`}
    </p>
    <p class="dim small">
      The list stores neither arguments nor results, only the beginning of the error message that
      the caller got. It keeps calls for 30 days, and at most ${count(limits.loggedCalls)} of them.
      At that limit, it deletes the oldest calls of the callers with the most calls. In a burst,
      each isolate keeps its newest 500 calls in ten seconds. <q>Forget me</q> on the page Account
      deletes a caller’s calls.
    </p>`;
}

function rowOf(call: EndedCall, { isForAll, open }: ShownCalls) {
  const { servlet, tool, caller, outcome, at, ms, task, error } = call;
  const isOpen = task !== null && open.has(task);
  return [
    html`<span class="called"
      >${isOpen ? html`<a href="${LIVE_PATH}/${task}">${shown(tool)}</a>` : shown(tool)}
      ${servlet !== tool && html`<span class="dim small of">${shown(servlet)}</span>`}</span
    >`,
    timeTag(at),
    ...(isForAll ? [html`<span>${shown(caller)}</span>`] : []),
    html`<span
      >${outcome === SUCCEEDED ? badge("Succeeded", "good") : badge(failureOf(outcome).what, "wrong")}
      ${error !== "" && html`<span class="called-error">${shown(error)}</span>`}</span
    >`,
    durationOf(ms),
  ];
}

const SUCCEEDED = "returned";

function filterForm({ filter, names, isForAll }: ShownCalls): Markup {
  const choose = (name: keyof CallFields, label: string, options: readonly [string, string][]) => {
    const value = filter[name];
    const all = options.some(([one]) => one === value)
      ? options
      : [...options, [value, value] as const];
    return html`<label
      ><span class="dim small">${label}</span>
      <select name="${name}">
        ${all.map(([one, text]) => html`<option value="${one}" ${one === value ? html`selected` : ""}>${shown(text)}</option>`)}
      </select></label
    >`;
  };
  const named = (all: string, some: readonly string[]): [string, string][] => [
    ["", all],
    ...some.map((one): [string, string] => [one, one]),
  ];
  // One description may stand for several outcomes.
  const failures = Map.groupBy(
    names.outcome.filter((one) => one !== SUCCEEDED),
    (one) => failureOf(one).what,
  );
  return html`<form class="filter calls-filter" role="search">
    ${choose("over", "Time", Object.entries(TIMES))}
    ${isForAll ? choose("caller", "Caller", named("All callers", names.caller)) : ""}
    ${choose("servlet", "Servlet", named("All servlets", names.servlet))}
    ${choose("tool", "Tool", named("All tools", names.tool))}
    ${choose("outcome", "Outcome", [
      ["", "All outcomes"],
      [SUCCEEDED, "Succeeded"],
      [FAILED, "Failed"],
      ...[...failures].map(([what, codes]): [string, string] => [codes.join(" "), what]),
    ])}
    ${choose("ms", "Duration", [
      ["", "Any duration"],
      ...DURATIONS.map((ms): [string, string] => [String(ms), `${durationOf(ms)} or more`]),
    ])}
    <label
      ><span class="dim small">Error</span>
      <input
        name="error"
        type="search"
        maxlength="200"
        value="${filter.error}"
        placeholder="Text in the error"
    /></label>
    <button>Filter</button>
  </form>`;
}

/** The page without a list, for a visitor who is not identified, or if calls are not recorded. */
export const noCallsPage = (title: string, body: Markup): Markup =>
  html`<h1>Calls</h1>
    ${emptyState(title, body)}`;

export const callsStyle = `
  .calls-filter { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem .75rem; align-items: end; margin: 1rem 0; } .calls-filter :is(select, input) { width: 100%; margin: 0; font-weight: 400; } .called { display: block; min-width: 9rem; }
  .of, .called-error { display: block; font-weight: 400; } .called-error { overflow-wrap: anywhere; margin-top: .25rem; }
`;
