import { html } from "hono/html";
import { shown, type Markup } from "../document.ts";
import type { Rehearsal, Story } from "../durable/task-object.ts";
import { limits } from "../limits.ts";
import { printableText } from "../text.ts";
import { LIVE_PATH, STATUS } from "./live.ts";

/** One call of a person: what has happened to it, and what can be done with it. */

interface Shown {
  id: string;
  story: Story;
  /** Of its forms. */
  token: string;
  /** Where a replay from so many entries went. */
  replayed?: { entries: number; rehearsal: Rehearsal } | undefined;
}

/** A step of the timeline. */
interface Step {
  at: number;
  body: Markup;
}

export function callPage({ id, story, token, replayed }: Shown): Markup {
  const { view, called, created, entries, changes, hasJournal } = story;
  const { status, statusMessage: said } = view;
  const isOpen = status === "working" || status === "input_required";
  // One that has run before it became a task has answers from then.
  const began = Math.min(created, entries[0]?.at ?? created);
  const steps: Step[] = [
    { at: began, body: html`The call began.` },
    ...changes.map(({ at, what }, nth) => ({ at, body: changeIn(what, changes[nth - 1]?.what) })),
    ...entries.map((entry, nth) => ({
      at: entry.at,
      body: html`Answer ${nth + 1} to <code>${shown(entry.what)}</code>, ${entry.characters}
        characters ${answerOf(entry.answer)} ${hasJournal ? acts(nth) : ""}`,
    })),
  ].toSorted((a, b) => a.at - b.at);
  const field = html`<input type="hidden" name="token" value="${token}" />`;
  return html`<p><a href="${LIVE_PATH}">All calls</a></p>
    <h2>${shown(called.name)} <span class="badge">${STATUS[status] ?? status}</span></h2>
    <p>
      ${called.servlet && html`Of the servlet <strong>${shown(called.servlet)}</strong>. `}Began
      ${time(began)}, changed ${time(story.updated)}, stored until ${time(story.expires)}. It has
      used ${story.fuel.toLocaleString("en")} units of fuel.
    </p>
    ${typeof said === "string" ? html`<p class="note text">${shown(said)}</p>` : ""}
    <form method="post" class="acts">
      ${field}
      ${status === "input_required" ? html`<a class="button allow" href="/ask/${id}">Answer</a>` : ""}
      ${isOpen ? html`<button name="do" value="cancel">Cancel the call</button>` : ""}
    </form>
    ${argumentsOf(called.arguments)} ${replayed === undefined ? "" : replayOf(replayed)}
    <h3 id="timeline">Timeline</h3>
    <p>
      What the servlet asked of the world, and what you have answered.
      ${
        hasJournal
          ? "A replay runs the call again up to an answer, where it can do nothing in the world. A fork is another call that goes on from there."
          : "It can no longer be replayed: the journal goes an hour after a call has ended, and a call that has not waited has none."
      }
    </p>
    <form method="post">
      ${field}
      <ol class="line">
        ${steps.map(({ at, body }, nth) => html`<li><span class="dim">+${duration(at - began)}</span> ${body} ${took(at, steps[nth - 1]?.at)}</li>`)}
      </ol>
      ${entries.length === limits.shownEntries ? html`<p>Later answers are not shown.</p>` : ""}
      ${hasJournal ? acts(entries.length) : ""}
    </form>
    ${endOf(view)}`;
}

/** The page that says what a fork does, before it is made. */
export const forkPage = (id: string, entries: number, hidden: Record<string, string>): Markup =>
  html`<h2>Fork this call after ${entries} answers?</h2>
    <ul>
      <li>
        Another call begins that has been given the same ${entries} answers, and goes on by itself.
      </li>
      <li>
        Whatever the servlet asked for after that, it asks again: requests are sent again, and
        people are asked again. Requests carry the same <code>Idempotency-Key</code> as long as
        nothing has differed, so that a service which honours it does nothing twice. Others may.
      </li>
      <li>What the servlet keeps (memory and files) is as it is now, not as it was then.</li>
      <li>Its questions are answered here: no client knows of it.</li>
    </ul>
    <form method="post" action="${LIVE_PATH}/${id}">
      ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <button class="allow" name="fork-now" value="${entries}">Fork the call</button>
      <button name="do" value="">Go back</button>
    </form>`;

const acts = (entries: number): Markup => {
  const behind = html`<span class="unseen"> (after ${entries} answers)</span>`;
  return html`<span class="acts"
    ><button name="replay" value="${entries}">Replay to here${behind}</button
    ><button name="fork" value="${entries}">Fork from here${behind}</button></span
  >`;
};

function changeIn(what: string, before: string | undefined): Markup {
  if (what !== "run") return html`It ${STATUS[what] ?? shown(what)}.`;
  return before === "run"
    ? html`The run before this one was stopped, and the servlet ran again from the journal.`
    : html`The servlet ran, from the journal where there is one.`;
}

const answerOf = (answer: string | undefined): Markup =>
  answer === undefined
    ? html`(it is the servlet's, and not shown)`
    : html`<details>
        <summary>What came back</summary>
        <pre tabindex="0">${shown(answer)}</pre>
      </details>`;

function argumentsOf(args: Record<string, string>): Markup {
  const all = Object.entries(args);
  if (all.length === 0) return html``;
  return html`<h3>Arguments</h3>
    <dl>
      ${all.map(
        ([name, value]) =>
          html`<dt>${shown(name)}</dt>
            <dd>${shown(value)}</dd>`,
      )}
    </dl>`;
}

const replayOf = ({ entries, rehearsal: { end, said, fuel } }: NonNullable<Shown["replayed"]>) =>
  html`<section class="note" aria-labelledby="replayed">
    <h3 id="replayed">With the first ${entries} answers</h3>
    <p role="status">${shown(end)}</p>
    ${fuel > 0 ? html`<p>All runs together: ${fuel.toLocaleString("en")} units of fuel.</p>` : ""}
    ${
      said.length === 0
        ? ""
        : html`<p>It said on the way:</p>
            <pre tabindex="0">${said.map(shown).join("\n")}</pre>`
    }
  </section>`;

function endOf({ result, error }: Story["view"]): Markup {
  const end = result ?? error;
  if (end === undefined) return html``;
  const text = JSON.stringify(end, null, 2);
  const isCut = text.length > limits.shownEndCharacters;
  return html`<h3>${result === undefined ? "Error" : "Result"}</h3>
    <pre tabindex="0">
${printableText(text.slice(0, limits.shownEndCharacters))}${isCut ? "…" : ""}</pre>`;
}

const time = (at: number): Markup =>
  html`<time datetime="${new Date(at).toISOString()}">${new Date(at).toUTCString()}</time>`;

/** How long a step took: the time since the step before it. */
const took = (at: number, before: number | undefined): Markup =>
  before === undefined
    ? html``
    : html`<span class="dim">(${duration(at - before)} after the step before)</span>`;

/** `1.204 s`, `4 min 10 s`, `2 h 5 min`. */
function duration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(3)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
