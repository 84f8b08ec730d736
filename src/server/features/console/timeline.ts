/** The page of one call: what it is, what its caller can do now, and its timeline. */
import { html } from "hono/html";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import { badge, notice, timeTag, type Tone } from "../../kernel/http/components.ts";
import type { ReplayOutcome, TaskTimeline, TimelineEntry } from "../../kernel/calls/task-object.ts";
import { limits } from "../../kernel/core/limits.ts";
import { isObject, textsIn } from "../../kernel/core/model.ts";
import { beginningOf, printableText, shortened } from "../../kernel/core/text.ts";
import { adviceFor } from "../../kernel/servlets/failures.ts";
import { EVENTS_PATH, LIVE_PATH } from "./live.ts";
import { badgeOf } from "../../kernel/calls/statuses.ts";
import { durationOf } from "../../kernel/core/times.ts";
import { computeText, count } from "./units.ts";

/** Characters of a call's result that its page shows. */
const SHOWN_END_CHARACTERS = 20_000;

interface CallPage {
  id: string;
  timeline: TaskTimeline;
  /** The token of its forms. */
  token: string;
  /** The outcome of a replay of the first entries. */
  replayed?: { entries: number; outcome: ReplayOutcome } | undefined;
}

/** A step of the timeline. Times are Unix times in ms; one that has not ended has no `to`. */
interface Step {
  from: number;
  to?: number;
  words: Markup | string;
  /** `asked`: a person was asked; `outside`: the world was; `own`: it concerns the call itself. */
  kind: "asked" | "slept" | "outside" | "own" | "wrong";
  /** The answer. */
  more?: string;
  /** Why the answer is not shown. */
  why?: string;
}

export function callPage({ id, timeline, token, replayed }: CallPage): Markup {
  const { view, called, created, updated, entries } = timeline;
  // A call that became a task later has answers from before.
  const began = Math.min(created, entries[0]?.at ?? created);
  const status = timeline.hasFailed ? "failed" : view.status;
  const { text, tone } = badgeOf({ kind: "call", status, wakes: timeline.wakes });
  const steps = stepsOf(timeline, began);
  const isOpen = status === "working" || status === "input_required";
  return html`<p><a href="${LIVE_PATH}">All calls</a></p>
    <h1>${shown(called.name)} ${badge(text, tone === "" ? undefined : (tone as Tone))}</h1>
    <p class="dim">
      ${called.servlet && html`Servlet ${shown(called.servlet)} · `}started ${timeTag(began)} ·
      ${isOpen ? "last change" : "ended"} ${timeTag(updated)}
    </p>
    ${stateOf(id, timeline, status)} ${isOpen ? changesOf(id, updated) : ""} ${argumentsOf(called)}
    ${resultOf(timeline)} ${actsOf({ timeline, token, replayed }, isOpen)}
    <h2 id="timeline">Timeline</h2>
    ${timelineOf(steps, began)}
    ${entries.length === limits.shownEntries ? html`<p>Only the first ${entries.length} answers are shown.</p>` : ""}
    <details class="small dim">
      <summary>More about this call</summary>
      <p>
        Id <code>${id}</code>. CPU time: ${computeText(timeline.fuel)} (${count(timeline.fuel)}
        units of fuel). Its data is deleted ${timeTag(timeline.expires)}.
      </p>
    </details>`;
}

/** The element in which the script announces that the call has changed. */
const changesOf = (id: string, updated: number): Markup =>
  html`<div id="live" data-events="${EVENTS_PATH}" data-call="${id}" data-updated="${updated}">
    <p id="news" role="status" class="dim small">Reload the page to see changes.</p>
  </div>`;

/** The state of the call: what the person can do, or why it failed. */
function stateOf(
  id: string,
  { view: { error }, code, wakes: at, reason }: TaskTimeline,
  status: string,
): Markup {
  const said = shown(reason);
  switch (status) {
    case "input_required":
      return notice(
        html`<p><strong>${said}</strong></p>
          <p class="acts"><a class="button primary" data-answer href="/ask/${id}">Answer</a></p>`,
      );
    case "failed": {
      const { why, next } = adviceFor(isObject(error) ? (code ?? error["code"]) : "tool");
      return notice(
        html`<p><strong>${why}</strong></p>
          <p>${said}</p>
          <p>${next}</p>`,
        "wrong",
      );
    }
    case "cancelled":
      return notice("The call was cancelled. Its earlier effects are not undone.");
    case "working":
      return notice(
        html`<p>
          ${at === undefined ? "It runs." : html`It sleeps, and goes on by itself ${timeTag(at)}.`}
          ${said === "" ? "" : `It last said: ${said}`}
        </p>`,
      );
  }
  return html``;
}

/** The steps of a call, in their order. */
function stepsOf(timeline: TaskTimeline, began: number): Step[] {
  const { changes, entries, updated } = timeline;
  const runs = changes.flatMap(({ at, what }, nth) =>
    what === "run" ? [{ at, hasCrashed: changes[nth - 1]?.what === "run" }] : [],
  );
  const asks = changes.flatMap(({ at, what }) => (what === "input_required" ? [at] : []));
  const steps = entries.map((entry, nth): Step => {
    const { what, at: to } = entry;
    const before = entries[nth - 1]?.at ?? began;
    const later = what.startsWith("elicitation/") ? asks : runs.map(({ at }) => at);
    const since = later.find((at) => at >= before && at <= to);
    const slept = what === "sleep" ? Number(entry.words) : NaN;
    const from = Number.isNaN(slept) ? (since ?? before) : Math.max(began, to - slept);
    return { from, to, ...wordsOf(entry) };
  });
  const crash = { kind: "wrong", words: "Stopped here by the server, and ran again" } as const;
  for (const { at, hasCrashed } of runs) if (hasCrashed) steps.push({ from: at, to: at, ...crash });
  const [last, asked] = [entries.at(-1)?.at ?? began, asks.at(-1) ?? updated];
  if (timeline.view.status === "cancelled" && asked >= last && asked < updated)
    steps.push({ from: asked, to: updated, kind: "asked", words: "Asked you, without an answer" });
  steps.push(lastStepOf(timeline, last, asked));
  return steps.toSorted((a, b) => a.from - b.from || (a.to ?? Infinity) - (b.to ?? Infinity));
}

/** The step in which the call is now, or its end. */
function lastStepOf(timeline: TaskTimeline, last: number, asked: number): Step {
  const { view, updated, wakes, hasFailed, reason } = timeline;
  switch (view.status) {
    case "input_required":
      return { from: asked, kind: "asked", words: `Asks you: ${shown(reason)}` };
    case "working":
      return wakes === undefined
        ? { from: last, kind: "own", words: "Runs" }
        : { from: last, kind: "slept", words: html`Sleeps, and goes on ${timeTag(wakes)}` };
  }
  const ended = { from: updated, to: updated };
  if (view.status === "cancelled") return { ...ended, kind: "own", words: "Was cancelled" };
  if (hasFailed) return { ...ended, kind: "wrong", words: "Failed" };
  return { ...ended, kind: "own", words: "Succeeded" };
}

const SECRETS = "Its answer is not shown: it may be a secret.";

type Answer = Pick<Step, "kind" | "more" | "why"> & { words: string };

/** An answer to the servlet, in words. */
function wordsOf({ what, words = "", answer, outcome }: TimelineEntry): Answer {
  const [name = "", ...rest] = what.split(" ");
  const about = shown(rest.join(" "));
  const hasFailed = outcome === "failed";
  const failed = hasFailed ? ", which failed" : "";
  const outside = hasFailed ? "wrong" : "outside";
  const more = answer === undefined ? {} : { more: answer };
  switch (name.replace(/\/.*/s, "/")) {
    case "sleep":
      return {
        kind: "slept",
        words: words === "" ? "Slept" : `Slept ${durationOf(Number(words))}`,
      };
    case "http":
      return { kind: outside, words: `${about}${failed || (outcome ? ` ${outcome}` : "")}` };
    case "call":
      return { kind: outside, words: `Called ${about}${failed}` };
    case "allow":
      return { kind: "own", words: `Checked whether you must allow ${about}` };
    case "config":
      return { kind: "own", words: `Read its setting ${about}`, why: SECRETS };
    case "secret":
    case "account":
      return { kind: "asked", words: `Asked for your ${name} ${about}`, why: SECRETS };
    case "elicitation/": {
      const question = words === "" ? "" : `: ${shown(words)}`;
      return {
        kind: "asked",
        words: `Asked you${question}${DECISIONS[outcome ?? ""] ?? ""}`,
        ...more,
      };
    }
    case "sampling/":
      return { kind: "asked", words: `Asked the model of your client${failed}`, ...more };
    case "roots/":
      return { kind: "asked", words: `Asked your client for its folders${failed}`, ...more };
    default:
      return { kind: "own", words: `Asked its host: ${shown(what)}`, why: SECRETS };
  }
}

const DECISIONS: Record<string, string> = {
  accept: " – you answered",
  decline: " – you declined",
  cancel: " – you dismissed it",
  failed: " – there was no answer",
};

/** Widths of the drawing, of its shortest bar, and of a wait that is drawn short. */
const WIDTH = 1000;
const LEAST = 6;
const FOLDED = 150;

/**
 * A wait is shortened in the drawing if it is longer than this, in ms, and this many times longer than the sum of all
 * shorter parts, which would be invisible otherwise. A wait that makes up the whole call is shortened, too.
 */
const FOLDED_MS = 10_000;
const FOLDED_TIMES = 10;

/** The positions of points in time on the axis, and the edges of shortened waits. `isOneWait` is true if one wait makes up the whole call. */
function axisOf(
  times: readonly number[],
  isOneWait: boolean,
): { places: Map<number, number>; edges: number[] } {
  const points = [...new Set(times)].toSorted((a, b) => a - b);
  const gaps = points.slice(1).map((to, nth) => to - points[nth]!);
  let plain = 0;
  let least = Infinity;
  for (const gap of gaps.toSorted((a, b) => a - b)) {
    const isLong = plain > 0 ? gap > FOLDED_TIMES * plain : isOneWait;
    if (gap >= FOLDED_MS && isLong) {
      least = gap;
      break;
    }
    plain += gap;
  }
  const folds = gaps.filter((gap) => gap >= least).length;
  const fold = Math.min(FOLDED, WIDTH / 2 / folds);
  const rest = WIDTH - folds * fold;
  const scale = plain === 0 ? 0 : rest / plain;
  // In a call that only waits, draw the wait in the middle.
  let at = folds > 0 && plain === 0 ? rest / 2 : 0;
  const [places, edges] = [new Map([[points[0]!, at]]), [] as number[]];
  for (const [nth, gap] of gaps.entries()) {
    const next = at + (gap >= least ? fold : gap * scale);
    if (gap >= least) edges.push(Math.round(at), Math.round(next));
    places.set(points[nth + 1]!, Math.round(next));
    at = next;
  }
  return { places, edges };
}

function timelineOf(steps: readonly Step[], began: number): Markup {
  const now = Date.now();
  const end = Math.max(began + 1, ...steps.map(({ from, to = now }) => Math.max(from, to)));
  const times = steps.flatMap(({ from, to = now }) => [from, to]);
  const isOneWait = steps.some(
    ({ from, to = now, kind }) => kind !== "own" && from === began && to === end,
  );
  const { places, edges } = axisOf([began, end, ...times], isOneWait);
  const isFolded = edges.length > 0;
  const half = end - began < 10 || isFolded ? "" : durationOf((end - began) / 2);
  const lines = [0, WIDTH, ...(isFolded ? edges : [WIDTH / 2])].map((at) => `M${at} 0v10`).join("");
  return html`<table class="steps">
      <caption class="unseen">
        The steps of this call in their order, and how long each took
      </caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col" class="number">Start</th>
          <th scope="col" class="number">Duration</th>
          <td class="axis" aria-hidden="true">
            <span>0</span><span>${half}</span><span>${durationOf(end - began)}</span>
          </td>
        </tr>
      </thead>
      <tbody>
        ${steps.map(({ from, to, words, kind, more, why }) => {
          const [left, right] = [places.get(from)!, places.get(to ?? now)!];
          const width = Math.max(LEAST, right - left);
          const lasted = durationOf((to ?? now) - from);
          const took = to === undefined ? `${lasted} so far` : to > from ? lasted : "";
          return html`<tr>
            <th scope="row">${words}${behind(more, why)}</th>
            <td class="number" data-label="Start">${durationOf(from - began)}</td>
            <td class="number" ${took === "" ? "" : html`data-label="Duration"`}>${took}</td>
            <td class="bar" aria-hidden="true">
              <svg viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" class="${kind}">
                <path d="${lines}" />
                <rect x="${Math.min(left, WIDTH - width)}" width="${width}" height="10" rx="2" />
              </svg>
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
    ${isFolded && html`<p class="dim small">Long waits are shortened, between two lines.</p>`}`;
}

function behind(more: string | undefined, why: string | undefined): Markup {
  if (more === undefined)
    return why === undefined ? html`` : html`<span class="unseen">${why}</span>`;
  return html`<details>
    <summary>The answer</summary>
    <pre tabindex="0">${shown(more)}</pre>
  </details>`;
}

/** The menu of replay, fork and cancel; open where it shows the outcome of a replay. */
function actsOf({ timeline, token, replayed }: Omit<CallPage, "id">, isOpen: boolean): Markup {
  const { hasJournal, entries } = timeline;
  const at = replayed?.entries ?? entries.length;
  const starts = ["", ...entries.map((one) => `: ${beginningOf(wordsOf(one).words, 60)}`)];
  const button = (act: string, label: string, about: string, tone = "") =>
    html`<p class="acts">
      <button class="${tone}" name="do" value="${act}">${label}</button>
      <span class="dim small">${about}</span>
    </p>`;
  const repeat = html`<form method="post">
    ${hiddenFields({ token })}
    <label for="at">Start from</label>
    <select id="at" name="at">
      ${starts.map(
        (words, nth) =>
          html`<option value="${nth}" ${nth === at ? html`selected` : ""}>
            ${capital(startOf(nth))}${words}
          </option>`,
      )}
    </select>
    ${button("replay", "Replay", "Runs the call again up to there in isolation: nothing outside changes.")}
    ${replayed === undefined ? "" : replayOf(replayed)}
    ${button("fork", "Fork …", "Starts a new call that continues from there, after you confirm.")}
  </form>`;
  const none = html`<p>
    This call cannot be replayed or forked: its record is deleted an hour after its end, and a call
    that never waited has none.
  </p>`;
  const cancel = html`<form method="post">
    ${hiddenFields({ token })}
    ${button("cancel", "Cancel the call", "Stops the call for good. What it has done is not undone.", "danger")}
  </form>`;
  return html`<details class="more" id="acts" ${replayed === undefined ? "" : html`open`}>
    <summary class="button">Replay, fork${isOpen ? ", cancel" : ""}</summary>
    <div class="card">${hasJournal ? repeat : none} ${isOpen ? cancel : ""}</div>
  </details>`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

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

function argumentsOf({ all, arguments: first }: TaskTimeline["called"]): Markup {
  const entries = Object.entries(all);
  if (entries.length === 0) return first === "" ? html`` : html`<p>Called with ${first}</p>`;
  return html`<details>
    <summary>Called with ${first}</summary>
    <dl class="given">
      ${entries.map(
        ([name, value]) =>
          html`<div>
            <dt>${shown(name)}</dt>
            <dd>${printableText(value)}</dd>
          </div>`,
      )}
    </dl>
  </details>`;
}

const replayOf = ({ entries, outcome: { end, said } }: NonNullable<CallPage["replayed"]>) =>
  html`<section class="notice" aria-labelledby="replayed">
    <h2 id="replayed">Replay ${startOf(entries)}</h2>
    <p role="status">${shown(end)}</p>
    ${
      said.length === 0
        ? ""
        : html`<p>Log and progress:</p>
            <pre tabindex="0">${said.map(shown).join("\n")}</pre>`
    }
  </section>`;

function resultOf({ view: { result }, hasFailed, reason }: TaskTimeline): Markup {
  if (result === undefined) return html``;
  const said = textsIn(result).join("\n");
  // The reason of a failure stands above.
  const text = hasFailed && said === reason ? "" : said;
  return html`<h2>Result</h2>
    ${text === "" ? "" : html`<pre class="text" tabindex="0">${bounded(text)}</pre>`}
    <details>
      <summary>${text === "" ? "The result" : "All of it"}, as JSON</summary>
      <pre tabindex="0">${bounded(JSON.stringify(result, null, 2))}</pre>
    </details>`;
}

const bounded = (text: string): string => printableText(shortened(text, SHOWN_END_CHARACTERS));

export const callStyle = `
  .notice.wrong p + p { color: var(--ink); } #news { min-height: 1.6em; margin: 0; } .more > .button { font-weight: 400; } .steps details { font-size: var(--small); color: var(--dim); }
  .given { display: flex; flex-wrap: wrap; gap: .25rem 2rem; } .given dd { max-height: 12rem; overflow: auto; }
  .more { margin: 1.5rem 0; } .more p { margin: .5rem 0; } .more form + form { border-top: 1px solid var(--line); padding-top: .5rem; }
  .steps { table-layout: fixed; } .steps th:first-child { width: 45%; font-weight: 400; } .steps .number { width: 6.5rem; } .steps thead th { font-weight: 500; }
  .steps pre { max-height: 20rem; } .axis { display: flex; justify-content: space-between; color: var(--dim); font-size: var(--small); border: 0; }
  .bar svg { display: block; width: 100%; height: .75rem; } .bar path { stroke: var(--line); vector-effect: non-scaling-stroke; } .bar rect { fill: var(--edge); }
  .bar .asked rect { fill: var(--accent); } .bar .slept rect { opacity: .5; } .bar .outside rect { fill: var(--good); } .bar .wrong rect { fill: var(--wrong); }
  @media (max-width: 40rem) { .steps, .steps tbody { display: block; } .steps thead { display: none; } .steps tr { display: grid; grid-template-columns: auto 1fr; gap: 0 1rem; border-top: 1px solid var(--line); padding: .5rem 0; }
    .steps th:first-child, .steps .bar { grid-column: 1 / -1; width: auto; } .steps td, .steps th { border: 0; padding: .125rem 0; } .steps td.number { width: auto; text-align: left; color: var(--dim); font-size: var(--small); } .steps td[data-label]::before { content: attr(data-label) " "; } .steps td.number + td.number { text-align: right; } }
`;
