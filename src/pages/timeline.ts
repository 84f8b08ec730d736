/** The page of one call: its timeline, and what its caller can do with it. */
import { html } from "hono/html";
import { hiddenFields, shown, type Markup } from "../http/document.ts";
import { timeTag } from "./components.ts";
import type { ReplayOutcome, TaskTimeline } from "../calls/task-object.ts";
import { limits } from "../core/limits.ts";
import { beginningOf, printableText } from "../core/text.ts";
import { LIVE_PATH } from "./live.ts";
import { STATUSES } from "./statuses.ts";

/** Characters of a call's result that its page shows: what people read, and not what they search. */
const SHOWN_END_CHARACTERS = 20_000;

interface CallPage {
  id: string;
  timeline: TaskTimeline;
  /** The token of its forms. */
  token: string;
  /** The outcome of a replay of the first entries. */
  replayed?: { entries: number; outcome: ReplayOutcome } | undefined;
}

/** A step of the timeline. */
interface Step {
  at: number;
  body: Markup;
}

export function callPage({ id, timeline, token, replayed }: CallPage): Markup {
  const { view, called, created, entries, changes, hasJournal } = timeline;
  const { status, statusMessage: said } = view;
  const isOpen = status === "working" || status === "input_required";
  // A call that became a task later has answers from before.
  const began = Math.min(created, entries[0]?.at ?? created);
  const steps: Step[] = [
    { at: began, body: html`The call started.` },
    ...changes.map(({ at, what }, nth) => ({ at, body: changeIn(what, changes[nth - 1]?.what) })),
    ...entries.map((entry, nth) => ({
      at: entry.at,
      body: html`Answer ${nth + 1} to <code>${shown(entry.what)}</code>, ${entry.characters}
        characters. ${answerOf(entry.answer)} ${hasJournal ? acts(nth) : ""}`,
    })),
  ].toSorted((a, b) => a.at - b.at);
  const field = hiddenFields({ token });
  return html`<p><a href="${LIVE_PATH}">All calls</a></p>
    <h1>${shown(called.name)} <span class="badge">${STATUSES[status] ?? status}</span></h1>
    <p>
      ${called.servlet && html`Servlet <strong>${shown(called.servlet)}</strong>. `}Started
      ${timeTag(began)}, last changed ${timeTag(timeline.updated)}, deleted
      ${timeTag(timeline.expires)}. Fuel used: ${timeline.fuel.toLocaleString("en")}.
    </p>
    ${typeof said === "string" ? html`<p class="notice text">${shown(said)}</p>` : ""}
    <form method="post" class="acts">
      ${field}
      ${status === "input_required" ? html`<a class="button primary" href="/ask/${id}">Answer</a>` : ""}
      ${isOpen ? html`<button name="do" value="cancel">Cancel the call</button>` : ""}
    </form>
    ${argumentsOf(called.arguments)} ${replayed === undefined ? "" : replayOf(replayed)}
    <h2 id="timeline">Timeline</h2>
    <p>
      What the servlet asked of the outside world, and what you answered.
      ${
        hasJournal
          ? "A replay runs the call again up to an answer, in isolation: nothing outside changes. A fork is a new call that continues from there."
          : "This call cannot be replayed: its journal is deleted an hour after it has ended, and a call that never waited has none."
      }
    </p>
    <form method="post">
      ${field}
      <ol class="line">
        ${steps.map(({ at, body }, nth) => html`<li><span class="dim">+${duration(at - began)}</span> ${body} ${sincePrevious(at, steps[nth - 1]?.at)}</li>`)}
      </ol>
      ${entries.length === limits.shownEntries ? html`<p>Only the first ${entries.length} answers are shown.</p>` : ""}
      ${hasJournal ? acts(entries.length) : ""}
    </form>
    ${endOf(view)}`;
}

/** The page that explains what a fork does before it is made. */
export const forkPage = (id: string, entries: number, hidden: Record<string, string>): Markup =>
  html`<h1>Fork this call ${startOf(entries)}?</h1>
    <ul>
      <li>A new call starts ${startOf(entries)} of this one, and continues by itself.</li>
      <li>
        Everything after that happens again: requests are sent again, and people are asked again.
        Until the calls differ, requests carry the same <code>Idempotency-Key</code>, so a service
        that honours it does nothing twice. Other services may.
      </li>
      <li>The servlet sees its memory and files as they are now, not as they were then.</li>
      <li>You answer its questions on these pages, because no client knows of the new call.</li>
    </ul>
    <form method="post" action="${LIVE_PATH}/${id}">
      ${hiddenFields(hidden)}
      <p class="acts">
        <button class="primary" name="fork-now" value="${entries}">Fork the call</button>
        <button name="do" value="">Go back</button>
      </p>
    </form>`;

/** Where a replay or fork starts, in words. */
const startOf = (entries: number): string =>
  entries === 0 ? "from the beginning" : `after ${entries} ${entries === 1 ? "answer" : "answers"}`;

const acts = (entries: number): Markup => {
  const behind = html`<span class="unseen"> (${startOf(entries)})</span>`;
  return html`<span class="acts"
    ><button name="replay" value="${entries}">Replay to here${behind}</button
    ><button name="fork" value="${entries}">Fork from here${behind}</button></span
  >`;
};

function changeIn(what: string, before: string | undefined): Markup {
  if (what !== "run") return html`It ${STATUSES[what] ?? shown(what)}.`;
  return before === "run"
    ? html`The previous run was interrupted. The servlet was started again from the journal.`
    : html`The servlet was started${before === undefined ? "" : " again, from the journal"}.`;
}

const answerOf = (answer: string | undefined): Markup =>
  answer === undefined
    ? html`Not shown: it may have secrets of the servlet.`
    : html`<details>
        <summary>Answer</summary>
        <pre tabindex="0">${shown(answer)}</pre>
      </details>`;

function argumentsOf(args: Record<string, string>): Markup {
  const all = Object.entries(args);
  if (all.length === 0) return html``;
  return html`<h2>Arguments</h2>
    <dl>
      ${all.map(
        ([name, value]) =>
          html`<dt>${shown(name)}</dt>
            <dd>${shown(value)}</dd>`,
      )}
    </dl>`;
}

const replayOf = ({ entries, outcome: { end, said, fuel } }: NonNullable<CallPage["replayed"]>) =>
  html`<section class="notice" aria-labelledby="replayed">
    <h2 id="replayed">Replay ${startOf(entries)}</h2>
    <p role="status">${shown(end)}</p>
    ${fuel > 0 ? html`<p>Fuel used: ${fuel.toLocaleString("en")}.</p>` : ""}
    ${
      said.length === 0
        ? ""
        : html`<p>Log and progress:</p>
            <pre tabindex="0">${said.map(shown).join("\n")}</pre>`
    }
  </section>`;

function endOf({ result, error }: TaskTimeline["view"]): Markup {
  const end = result ?? error;
  if (end === undefined) return html``;
  const text = JSON.stringify(end, null, 2);
  const isCut = text.length > SHOWN_END_CHARACTERS;
  return html`<h2>${result === undefined ? "Error" : "Result"}</h2>
    <pre tabindex="0">
${printableText(beginningOf(text, SHOWN_END_CHARACTERS))}${isCut ? "…" : ""}</pre>`;
}

/** The time since the previous step. */
const sincePrevious = (at: number, before: number | undefined): Markup =>
  before === undefined
    ? html``
    : html`<span class="dim">(${duration(at - before)} after the previous step)</span>`;

/** `1.204 s`, `4 min 10 s`, `2 h 5 min`. */
function duration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(3)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
