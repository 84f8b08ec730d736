import type { HttpServer } from "./http-server.ts";
import type { Rule, Violation } from "./rules.ts";
import {
  dueIn,
  signature,
  type AskedSchedule,
  type Emission,
  type ReadEvents,
  type Story,
  type Subscription,
} from "./unattended-clients.ts";

/** What was seen of a task, in true time. */
export interface TaskTimes {
  since: number;
  over: number;
}

interface Evidence {
  story: Story;
  internet: Pick<HttpServer, "arrivals" | "deliveries" | "sent" | "troubled">;
  /** By the name of the task. */
  timesOf(task: string): TaskTimes;
  /** True if there were no faults, in the server or on the internet. */
  isFaultless: boolean;
  /**
   * True if runs may have been given up, have waited for too long while everything stood still, wait for an alarm that
   * never goes off, or are over by the clock of a machine that was set back by more than their time.
   */
  isExcused: boolean;
  /** The most by which clocks differ, and messages take. */
  toleranceMs: number;
}

/** Attempts to deliver an event, after which it is given up. */
const MOST_ATTEMPTS = 5;
type Judge = (rule: Rule, what: string) => void;

/** Judges what clients and the world have seen of runs that nobody waits for. */
export function judgeUnattended(evidence: Evidence): Violation[] {
  const violations: Violation[] = [];
  const against: Judge = (rule, what) => void violations.push({ rule, what });
  const { story, isFaultless } = evidence;
  for (const problem of story.problems) against("ends as it should", problem);
  if (isFaultless)
    for (const refusal of story.refusals) against("no failure of ours", refusal.slice(0, 300));
  const runs = runsIn(evidence);
  for (const one of story.schedules) scheduled(one, runs, evidence, against);
  for (const { label, isAccepted, isForged } of story.deliveries) {
    const count = runs.get(label)?.tasks.size ?? 0;
    if (count > (isForged ? 0 : 1)) against("one run each", `${label} has ${count} runs`);
    if (isAccepted && count === 0 && !evidence.isExcused)
      against("due runs happen", `${label} was accepted`);
  }
  effects(runs, evidence, against);
  events(story, against);
  for (const one of story.subscriptions) delivered(one, evidence, against);
  return violations;
}

/** The runs that have told the world the same. */
interface Runs {
  label: string;
  /** The tasks that they are. */
  tasks: Set<string>;
  /** When the first one told it. */
  at: number;
}

function runsIn({ internet }: Evidence): Map<string, Runs> {
  const runs = new Map<string, Runs>();
  for (const { label, from, at } of internet.sent) {
    const one = runs.get(label) ?? { label, tasks: new Set(), at };
    // Without the number of its incarnation.
    one.tasks.add(from.name.replace(/\.\d+$/, ""));
    runs.set(label, one);
  }
  return runs;
}

/** A run tells the world nothing twice under another key, unless it has heard that it was not told. */
function effects(runs: Map<string, Runs>, { internet }: Evidence, against: Judge): void {
  for (const { label } of runs.values()) {
    const own = internet.arrivals.filter((one) => one.label === label && one.method === "PUT");
    const count = own.filter(({ isNew }) => isNew).length;
    if (count > 1 && !internet.troubled.has(label))
      against("effect once", `PUT ${label} has ${count} effects`);
  }
}

function scheduled(
  { label, every, at, asked, next, cancelled = Infinity, isMissing }: AskedSchedule,
  all: Map<string, Runs>,
  { timesOf, isExcused, toleranceMs }: Evidence,
  against: Judge,
): void {
  const runs = [...all.values()]
    .map((run) => ({ ...run, ...dueIn(run.label) }))
    .filter(({ of }) => of === label)
    .toSorted((one, other) => one.due - other.due);
  for (const [nth, { due, tasks, at: sent }] of runs.entries()) {
    if (tasks.size > 1 || due === runs[nth - 1]?.due)
      against("one run each", `${label} has two runs for ${due}: ${[...tasks].join(", ")}`);
    if (sent < due - toleranceMs)
      against("not before its time", `${label} ran at ${sent} for ${due}`);
    const late = [...tasks].find((task) => timesOf(task).since > cancelled);
    if (late !== undefined) against("none after cancelling", `${label} begins ${late} for ${due}`);
  }
  if (next === undefined) return;
  if (at !== undefined ? next !== at : next < asked + every! - toleranceMs)
    against("due runs happen", `${label} is first due at ${next}`);
  for (const { due, missed } of runs)
    if (at !== undefined ? due !== at || missed > 0 : (due - next) % every! !== 0)
      against("due runs happen", `${label} has a run for ${due}, which is no time of it`);
  if (isExcused) return;
  if (isMissing === true) against("due runs happen", `${label} did not run`);
  if (every === undefined) return;
  // Each due time is that of a run, or counted by a later one, or was over while the run before it still went.
  let expected = next;
  let busyUntil = -Infinity;
  for (const { due, missed, tasks } of runs) {
    const first = due - missed * every;
    const isOff = first < expected || (first - expected) % every !== 0;
    const skipped = first - every;
    if (isOff || (first > expected && skipped > busyUntil + toleranceMs))
      against(
        "due runs happen",
        `${label} has ${due} with ${missed} missed, after ${expected - every}`,
      );
    expected = due + every;
    busyUntil = Math.max(...[...tasks].map((task) => timesOf(task).over));
  }
}

/** True if a reader of this type sees the event. */
const isFor = (
  { type, caller }: Pick<ReadEvents, "type" | "caller">,
  emission: Emission,
): boolean => emission.type === type && (type === "told_all" || emission.caller === caller);

function events({ emissions, readings }: Story, against: Judge): void {
  const byText = new Map(emissions.map((one) => [one.text, one]));
  for (const reading of readings) {
    const { label, type, seen, began, polled, isTruncated } = reading;
    const who = `${label} of ${type}`;
    if (isTruncated) against("each event once", `${who} is told that some are missing`);
    const ids = seen.map(({ id }) => id);
    const texts = seen.map(({ text }) => text);
    if (new Set(ids).size < ids.length || new Set(texts).size < texts.length)
      against("each event once", `${who} reads ${texts.join(", ")}`);
    for (const { id, text } of seen) {
      const emission = byText.get(text);
      if (emission === undefined || !isFor(reading, emission) || (emission.id ?? id) !== id)
        against("each event once", `${who} reads ${text} as ${id}`);
    }
    for (const emission of emissions) {
      const { text, ended = Infinity } = emission;
      if (isFor(reading, emission) && emission.began > began && ended < polled)
        if (!texts.includes(text)) against("each event once", `${who} does not read ${text}`);
    }
    // In the order in which they were emitted, where that can be told.
    const known = texts.flatMap((text) => byText.get(text) ?? []);
    for (const [nth, one] of known.entries())
      if (known.slice(nth + 1).some(({ ended = Infinity }) => ended < one.began))
        against("events in order", `${who} reads ${texts.join(", ")}`);
    // All readers of the same events have them in the same order.
    for (const other of readings) {
      if (other.type !== type || (type === "told" && other.caller !== reading.caller)) continue;
      const shared = other.seen.map(({ text }) => text).filter((text) => texts.includes(text));
      if (shared.join() !== texts.filter((text) => shared.includes(text)).join())
        against("events in order", `${who} and ${other.label}: ${texts.join(", ")}`);
    }
  }
}

function delivered(
  { label, type, caller, secret, granted, isMissing }: Subscription,
  { story: { emissions }, internet }: Evidence,
  against: Judge,
): void {
  const own = internet.deliveries.filter((one) => one.label === label);
  const byText = new Map<string, Set<string>>();
  for (const { id, body, headers } of own) {
    const { eventId, data } = JSON.parse(body) as { eventId: string; data: { text: string } };
    const emission = emissions.find(({ text }) => text === data.text);
    const isRight =
      emission !== undefined &&
      isFor({ type, caller }, emission) &&
      [eventId, emission.id ?? id].every((one) => one === id);
    if (!isRight) against("events are delivered", `${label} gets ${data.text} as ${id}`);
    byText.set(data.text, (byText.get(data.text) ?? new Set()).add(id));
    const signed = `${id}.${headers.get("webhook-timestamp")}.${body}`;
    if (headers.get("webhook-signature") !== `v1,${signature(secret, signed)}`)
      against("events are delivered", `${label} gets ${data.text} with a wrong signature`);
  }
  for (const [text, ids] of byText)
    if (ids.size > 1)
      against("events are delivered", `${label} gets ${text} as ${[...ids].join()}`);
  if (!isMissing) return;
  for (const { text, id, began } of emissions) {
    if (id === undefined || began <= granted || !text.startsWith(`${label.split(".")[0]}.`))
      continue;
    if (emissions.find((one) => one.text === text)!.type !== type) continue;
    const attempts = own.filter((one) => one.id === id);
    if (attempts.length < MOST_ATTEMPTS && !attempts.some(({ hasArrived }) => hasArrived))
      against("events are delivered", `${label} does not get ${text}`);
  }
}
