/** The console's page Subscriptions: a caller's webhooks, and for operators how many there are. */
import { html } from "hono/html";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import type { ConsolePage } from "../console/pages.ts";
import type { EventServer } from "./event-server.ts";
import type { ShownSubscription } from "./events-object.ts";
import type { SubscriptionCounts } from "./listening-logs.ts";

const PATH = "/console/subscriptions";

export const subscriptionsPage = (server: EventServer): ConsolePage => ({
  name: "Subscriptions",
  path: PATH,
  isForOperators: false,
  async show(_raw, { caller, isOperator }, token) {
    const subscriptions = caller === undefined ? [] : await server.subscriptions(caller);
    return {
      body: html`<h1>Subscriptions</h1>
        <p>Receivers to which this server delivers events for you.</p>
        ${isOperator && countsOf(await server.counts())}
        ${subscriptions.length === 0 ? NONE : listOf(subscriptions, token)}`,
      extraStyle: ".wide td { overflow-wrap: anywhere; }",
    };
  },
  async post(form, by) {
    const id = form.get("id") ?? "";
    if (form.get("do") === "end") await server.end({ name: by }, id);
    return PATH;
  },
});

const NONE = html`<div class="empty">
  <p><strong>You have no subscriptions</strong></p>
  <p>A client makes them with <code>events/subscribe</code>.</p>
</div>`;

const countsOf = ({ callers, subscriptions, suspended }: SubscriptionCounts): Markup =>
  html`<p>
    On this server: ${subscriptions} subscriptions of ${callers} callers, ${suspended} of them
    suspended.
  </p>`;

const COLUMNS = ["Receiver", "Event", "State", "Last delivery", "Last error", "Until", "Action"];

const listOf = (subscriptions: readonly ShownSubscription[], token: string): Markup =>
  html`<div class="wide" tabindex="0" role="region" aria-label="Your subscriptions">
    <table class="stacked">
      <caption class="unseen">
        Your subscriptions
      </caption>
      <thead>
        <tr>
          ${COLUMNS.map((name) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${subscriptions.map((one) => rowOf(one, token))}
      </tbody>
    </table>
  </div>`;

function rowOf(one: ShownSubscription, token: string): Markup {
  const { id, host, name, active, lastDeliveryAt, lastError, expires, pending } = one;
  const state = html`<span class="badge ${active ? "good" : "wrong"}"
      >${active ? "active" : "suspended"}</span
    >
    ${pending > 0 ? `${pending} waiting` : ""}`;
  const end =
    token === ""
      ? ""
      : html`<form method="post" class="one">
          ${hiddenFields({ token, do: "end", id })}
          <button class="danger">
            End<span class="unseen"> ${shown(name)} at ${shown(host)}</span>
          </button>
        </form>`;
  const cells = [
    shown(name),
    state,
    lastDeliveryAt === null ? "" : timeOf(Date.parse(lastDeliveryAt)),
    lastError ?? "",
    timeOf(expires),
    end,
  ];
  return html`<tr>
    <th scope="row">${shown(host)}</th>
    ${cells.map((cell, nth) => html`<td data-label="${COLUMNS[nth + 1] ?? ""}">${cell}</td>`)}
  </tr>`;
}

/** A time in Unix ms, as UTC. */
function timeOf(at: number): Markup {
  const time = new Date(at);
  return html`<time datetime="${time.toISOString()}">${time.toUTCString()}</time>`;
}
