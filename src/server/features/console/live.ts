/** The page on which people follow their calls and sessions. */
import { html } from "hono/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import { emptyState, timeTag } from "../../kernel/http/components.ts";
import { PAGES } from "../people/paths.ts";
import type { ListedCall } from "../../kernel/calls/listed-calls.ts";
import {
  badgeOf,
  FILTERS,
  groupOf,
  GROUPS,
  passes,
  shownServlet,
  shownTime,
  type CallFilter,
} from "../../kernel/calls/statuses.ts";

export const LIVE_PATH = "/console/live";
export const EVENTS_PATH = `${LIVE_PATH}-events`;

/** Calls of a group that are shown at first: the script adds the others, and without it a link leads to them. */
const SHOWN_ROWS = 100;

/** Rows of a group that are laid out even where nobody sees them. */
const NEAR_ROWS = 30;

export function livePage(
  calls: readonly ListedCall[],
  filter: CallFilter,
  hasCalls: boolean,
): Markup {
  const shownCalls = calls.filter((one) => passes(one, filter));
  return html`<h1>Live</h1>
    <p class="lead">Your calls that wait, sleep, or run in the background.</p>
    <p class="dim small">
      A call that ends within its request is not
      listed${hasCalls ? html`: see <a href="${PAGES.Calls}">Calls</a>` : ""}. Nor is a question
      that your client shows you itself. A call of a client with a session leaves the list when it
      ends.
    </p>
    ${filterForm(filter)}
    <p id="news" role="status" class="dim small">Reload the page to see changes.</p>
    <div id="live" data-events="${EVENTS_PATH}">
      <div data-empty ${shownCalls.length > 0 || calls.length > 0 ? "hidden" : ""}>${nothing}</div>
      <p
        class="empty"
        data-unmatched
        ${shownCalls.length > 0 || calls.length === 0 ? "hidden" : ""}
      >
        No call matches the filter.
      </p>
      ${Object.entries(GROUPS).map(([id, title]) => {
        const own = shownCalls.filter((one) => groupOf(one) === id);
        const first = filter.state === "" ? own.slice(0, SHOWN_ROWS) : own;
        return html`<section aria-labelledby="${id}" ${own.length === 0 ? "hidden" : ""}>
          <h2 id="${id}">${title} <span class="dim" data-count>${own.length}</span></h2>
          <ul class="calls" data-group="${id}">
            ${first.map((one, nth) => row(one, nth >= NEAR_ROWS ? "far" : ""))}
          </ul>
          ${
            first.length < own.length
              ? html`<p data-more>
                  <a href="?${new URLSearchParams({ ...filter, state: id }).toString()}"
                    >Show all ${own.length}</a
                  >
                </p>`
              : ""
          }
        </section>`;
      })}
      <template>${row(undefined)}</template>
    </div>`;
}

const nothing = emptyState(
  "Nothing waits or runs",
  html`Calls that ask you something or take long appear here by themselves.
    <a href="${PAGES.Home}">Try a tool</a>: one that asks a question waits here, too.`,
);

const filterForm = ({ text, state }: CallFilter): Markup =>
  html`<form id="filter" class="filter" role="search">
    <label class="unseen" for="filter-text">Filter by tool, argument or question</label>
    <input
      id="filter-text"
      name="text"
      type="search"
      maxlength="200"
      value="${text}"
      placeholder="Filter by tool, argument or question"
    />
    <label class="unseen" for="filter-state">State</label>
    <select id="filter-state" name="state">
      ${Object.entries(FILTERS).map(
        ([value, title]) =>
          html`<option value="${value}" ${value === state ? html`selected` : ""}>${title}</option>`,
      )}
    </select>
    <button>Filter</button>
  </form>`;

const NOBODYS: ListedCall = {
  id: "",
  kind: "call",
  name: "",
  status: "",
  created: 0,
  updated: 0,
  until: 0,
};

/** A row of the list; without a call, the template that the script fills in. */
function row(call: ListedCall | undefined, place = ""): Markup {
  const { id, name, kind, status, created, updated, wakes } = call ?? NOBODYS;
  const { reason = "", arguments: given = "" } = call ?? {};
  const { text, tone, when } = badgeOf({ kind, status, wakes });
  const link = kind === "call" ? html`href="${LIVE_PATH}/${id}"` : "";
  return html`<li
    data-id="${id}"
    data-updated="${updated}"
    class="${status === "input_required" ? "asks" : ""} ${place}"
  >
    <a data-name ${link}>${shown(name)}</a>
    <span class="badge ${tone}" data-status>${text}</span>
    <span data-reason>${shown(reason)}</span>
    <span class="dim small about"
      ><span data-servlet>${call ? shown(shownServlet(call)) : ""}</span>
      <span data-arguments>${given}</span></span
    >
    <span class="dim small when"
      ><span data-when>${when}</span> ${timeTag(shownTime({ status, created, updated }))}<span
        data-wakes
        ${wakes === undefined ? "hidden" : ""}
        >, goes on ${timeTag(wakes ?? 0)}</span
      ></span
    >
    <a class="button" data-answer href="/ask/${id}" ${status === "input_required" ? "" : "hidden"}
      >Answer<span class="unseen"> ${shown(name)}</span></a
    >
  </li>`;
}

/** Stands where the list would be on a server that cannot tell its callers apart. */
export const unlistedPage = (): Markup =>
  html`<h1>Live</h1>
    ${emptyState(
      "This server cannot tell your calls from those of others",
      html`The server requires no authentication. Its owner can set a passphrase (<code
          >npm run passphrase</code
        >) or give out keys (<code>npm run keys</code>); on their own machine,
        <code>npm run dev</code> lists calls without a sign-in. <a href="/">Home</a>`,
    )}`;

export const liveStyle = `
  .filter { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0 .5rem; } .filter input { flex: 1 1 14rem; margin: 0; } .filter select { flex: 0 1 11rem; margin: 0; } @media (scripting: enabled) { .has-script .filter button { display: none; } }
  .calls { list-style: none; padding: 0; margin: .5rem 0 1.5rem; }
  .calls li { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: 0 1rem; align-items: center; position: relative; margin: 0; border-top: 1px solid var(--line); padding: .75rem 0; overflow-wrap: anywhere; }
  .calls .far { content-visibility: auto; contain-intrinsic-size: auto 5rem; } .calls li:hover { background: var(--panel); }
  .calls li > * { grid-column: 1; } .calls :empty { display: none; } .calls [data-name] { font-weight: 600; justify-self: start; }
  .calls a[href][data-name]::after { content: ""; position: absolute; inset: 0; } .about span:not(:empty) + span:not(:empty)::before { content: "· "; }
  .calls [data-status] { grid-area: 1 / 2 / auto / span 2; justify-self: end; } .calls .when { grid-area: 2 / 2 / auto / span 2; justify-self: end; text-align: right; } .calls .button { grid-area: 1 / 3 / span 3; z-index: 1; }
  .calls .asks > :is([data-status], .when) { grid-column-end: 3; }
  dialog { width: min(34rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); padding: 1.25rem; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: var(--round); } dialog::backdrop { background: rgb(0 0 0 / .5); } dialog h2:first-of-type { margin-top: 0; }
  @media (max-width: 40rem) { .calls li { grid-template-columns: minmax(0, 1fr) auto; } .calls li > [data-status] { grid-area: 1 / 2; } .calls li > .when { grid-area: auto / 1 / auto / -1; justify-self: start; text-align: left; } .calls .button { grid-area: auto / 1 / auto / -1; margin-top: .5rem; } }
`;
