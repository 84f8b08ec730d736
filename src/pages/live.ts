/** The page on which people follow their calls and sessions. */
import { html } from "hono/html";
import { shown, type Markup } from "../http/document.ts";
import { timeTag } from "./components.ts";
import type { ListedCall } from "../calls/listed-calls.ts";
import { groupOf, GROUPS, STATUSES } from "./statuses.ts";

export const LIVE_PATH = "/console/live";
export const EVENTS_PATH = `${LIVE_PATH}-events`;

export const livePage = (calls: readonly ListedCall[]): Markup =>
  html`<h1>Live</h1>
    <p>
      Your calls that outlive their request, and your sessions. A call stays in the list until its
      stored data is deleted.
    </p>
    <p id="news" role="status" class="dim">Reload the page to see changes.</p>
    <div id="live" data-events="${EVENTS_PATH}">
      ${Object.entries(GROUPS).map(([id, title]) => {
        const own = calls.filter((one) => groupOf(one) === id);
        return html`<section aria-labelledby="${id}">
          <h2 id="${id}">${title} <span class="dim" data-count>${own.length}</span></h2>
          <ul class="calls" data-group="${id}">
            ${own.map(row)}
          </ul>
        </section>`;
      })}
      <template>${row(undefined)}</template>
    </div>`;

/** A row of the list; without a call, the template that the script fills in. */
function row(call: ListedCall | undefined): Markup {
  const { id = "", name = "", waits = "", updated = 0, kind = "call", status = "" } = call ?? {};
  const isCall = kind === "call";
  const link = isCall ? html`href="${LIVE_PATH}/${id}"` : "";
  return html`<li data-id="${id}">
    <a data-name ${link}>${shown(name)}</a>
    <span class="badge" data-status>${isCall ? (STATUSES[status] ?? status) : "open"}</span>
    <a data-answer href="/ask/${id}" ${status === "input_required" ? "" : "hidden"}>Answer</a>
    <span class="dim">last change ${timeTag(updated)}</span>
    <span class="waits" data-waits>${shown(waits)}</span>
  </li>`;
}

export const liveStyle = `
  .calls { list-style: none; padding: 0; margin: .5rem 0 1.5rem; }
  .calls li { border-top: 1px solid var(--line); padding: .5rem 0; overflow-wrap: anywhere; }
  .calls li:nth-child(n + 30) { content-visibility: auto; contain-intrinsic-size: auto 4rem; }
  .calls:not(:has(li))::after { content: "None."; color: var(--dim); } .waits { display: block; }
  .line { padding-left: 1.5rem; } .line li { margin: .5rem 0; } .line .acts { margin-top: .2rem; }
  .line details pre { max-height: 20rem; }
`;
