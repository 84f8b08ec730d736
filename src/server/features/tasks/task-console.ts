/** The console's view of a task, and its actions. */
import { callerKey } from "../../kernel/core/callers.ts";
import { inputOf, METHODS } from "../../kernel/calls/call-ref.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { entryAgain } from "./task-call.ts";
import type { CallLists, TaskServer, TaskServing } from "./task-server.ts";
import { beginningOf, jsonIn, printable, printableLine, textIn } from "../../kernel/core/text.ts";
import type { Ask } from "../../kernel/core/asks.ts";
import { isObject, textsIn, type Json } from "../../kernel/core/model.ts";
import { type JournalEntry, randomSeed } from "../../kernel/core/record.ts";
import type { WaitReason } from "../../kernel/core/suspension.ts";
import type { ListedCall } from "../../kernel/calls/listed-calls.ts";
import { shownArguments, withoutSecrets } from "../../kernel/calls/shown-arguments.ts";
import { replayRecord } from "./task-replay.ts";
import type {
  DetailedTask,
  Look,
  TaskInspection,
  TaskTimeline,
  TimelineEntry,
} from "../../kernel/calls/task-object.ts";
import { openIn, type Subject } from "./task-rows.ts";
import type { TaskStore } from "./task-store.ts";
import { realViewOf } from "./task-view.ts";

/**
 * Keeps the console up to date about a task: its entry in its caller's list, and the waiting calls of Usage. It
 * sends the list one message at a time, always with the latest status.
 */
export class Listing {
  readonly #store: TaskStore;
  readonly #serving: TaskServing;
  #isForgotten = false;
  #latest: Promise<{ by: string; listed: ListedCall } | undefined> | undefined;
  #sending: Promise<void> | undefined;
  #sent = "";

  constructor(store: TaskStore, serving: TaskServing) {
    this.#store = store;
    this.#serving = serving;
  }

  /** Settles when the console has the task's current status. Never throws. */
  async tell(): Promise<void> {
    if (this.#isForgotten || !this.#store.exists) return;
    const { status, updated } = this.#store.row;
    if (this.#sent !== `${status} ${updated}`) {
      this.#sent = `${status} ${updated}`;
      await Promise.all([this.#count().catch(report), this.#list()]);
    }
    await this.#sending;
  }

  /** Adds the call to the waiting calls, or removes it. */
  async #count(): Promise<void> {
    const { counting } = this.#serving;
    if (counting === undefined) return;
    const [task, { principal: caller }, now] = [this.#store.id, this.#store.row, this.#sent];
    const over = { task, servlet: "", tool: "", caller, until: 0 };
    if (this.#store.isOver) return counting.waiting(over);
    const [waits, begun, subject] = await Promise.all([
      this.#store.waits(),
      this.#store.read("begun"),
      this.#store.subject(),
    ]);
    const { servlets } = (await this.#serving.registry()).whole;
    const servlet = servlets.find(({ hash }) => hash === begun?.head.hash)?.name ?? "";
    // If the status has changed meanwhile, the call is counted again.
    if (this.#sent !== now || this.#isForgotten) return;
    const until = waits === undefined ? 0 : this.#store.expires;
    counting.waiting({ ...over, servlet, tool: subject ? toolIn(subject) : "", until });
  }

  async #list(): Promise<void> {
    const { persons } = this.#serving;
    if (persons === undefined) return;
    // Read at once: a task that no client sees is deleted as soon as it ends.
    this.#latest = listedOf(this.#store).catch((error: unknown) => void report(error));
    this.#sending ??= this.#send(persons);
    await this.#sending;
  }

  /** After this has settled nothing more is sent: the caller has asked to delete all data. */
  async end(): Promise<void> {
    this.#isForgotten = true;
    this.#latest = undefined;
    const over = { servlet: "", tool: "", caller: "", until: 0 };
    this.#serving.counting?.waiting({ task: this.#store.id, ...over });
    await this.#sending;
  }

  /** Takes the task out of the list: nothing of it is stored any more. Never throws. */
  async leave(): Promise<void> {
    const { persons } = this.#serving;
    const subject = await this.#store.subject().catch((error: unknown) => void report(error));
    await this.end();
    if (persons && subject?.lister !== undefined)
      await persons.unlist(subject.lister, this.#store.id);
  }

  async #send(persons: CallLists): Promise<void> {
    while (this.#latest !== undefined) {
      const latest = this.#latest;
      this.#latest = undefined;
      const { by, listed } = (await latest) ?? {};
      if (by !== undefined && listed !== undefined) await persons.list(by, listed);
    }
    this.#sending = undefined;
  }
}

async function listedOf(store: TaskStore): Promise<{ by: string; listed: ListedCall } | undefined> {
  const { id, expires: until } = store;
  const { created, updated } = store.row;
  const [subject, view, waits, message] = await Promise.all([
    store.subject(),
    realViewOf(store),
    store.waits(),
    store.read("message"),
  ]);
  if (subject?.lister === undefined) return undefined;
  const { lister: by, ref, about } = subject;
  const name = beginningOf(printable(ref.name), limits.pageCharacters);
  const status = hasFailed(view) ? "failed" : view.status;
  // The reason may name thousands of questions.
  const reason = beginningOf(reasonOf(view, waits, message), limits.pageCharacters);
  const times = { created, updated, until, ...wakesIn(view, waits) };
  const words = { ...about, ...(reason !== "" && { reason }) };
  return { by, listed: { id, kind: "call", name, status, ...words, ...times } };
}

const hasFailed = ({ status, result }: DetailedTask): boolean =>
  status === "failed" || (isObject(result) && result["isError"] === true);

/** Its question, the reason of its failure, or its last message. */
function reasonOf(view: DetailedTask, waits: WaitReason | undefined, message = ""): string {
  const { status, error, result } = view;
  if (status === "input_required" && waits !== undefined)
    return openIn(waits).map(asked).join("; ");
  if (hasFailed(view))
    return printableLine(isObject(error) ? textIn(error["message"]) : said(result));
  return status === "working" ? printableLine(message) : "";
}

function asked({ method, params }: Ask): string {
  const message = printableLine(textIn(params["message"]));
  return method === "elicitation/create" ? message : "Your client has to answer.";
}

/** The first text of a result. */
const said = (result: unknown): string => textsIn(result)[0] ?? "";

const wakesIn = ({ status }: DetailedTask, waits: WaitReason | undefined) =>
  status === "working" && waits !== undefined && "until" in waits ? { wakes: waits.until } : {};

/** The name of a tool or prompt; the method for a resource, whose URI may reveal something about its caller. */
const toolIn = ({ ref: { kind, name } }: Subject): string =>
  name.includes(":") ? METHODS[kind] : printable(beginningOf(name, limits.pageCharacters));

/** Shows, replays or forks a task for its caller. Throws `invalid_params`, `too_many`. */
export async function looked(
  store: TaskStore,
  look: Look,
  server: TaskServer,
): Promise<TaskInspection> {
  if (look.what === "timeline") return { timeline: await timelineOf(store, server) };
  const call = await store.call();
  const recorded = await store.recorded();
  if (call === undefined || recorded === undefined || look.entries > recorded.entries.length) {
    throw new Fault(
      "invalid_params",
      "The journal of this call is shorter, or it has been deleted: it is kept for an hour after the call has ended. Reload the page.",
    );
  }
  const { pending: _pending, intents: _intents, ...begun } = recorded;
  const entries = recorded.entries.slice(0, look.entries);
  const from = { ...begun, entries };
  if (look.what === "replay") {
    return { replay: await replayRecord(call, from, { registry: await server.registry() }) };
  }
  const { owner: _owner, input: _input, link, ...rest } = call;
  const { principal } = rest;
  const own = server.tasks!(principal, (bytes) => server.countStored(callerKey(principal), bytes));
  const linked = { link: link ?? { origin: look.origin, isTyped: false } };
  // The client does not know the fork, so its questions are answered on pages.
  const client = { ...rest.client, capabilities: {} };
  // The fork repeats inner calls that are not among the entries.
  const { inner: _inner, ...before } = from;
  const head = { ...from.head, seed: randomSeed(from.head.seed) + look.id };
  const fork = { ...rest, ...linked, client, recorded: { ...before, head, notices: 0 } };
  const { taskId } = await own.create(fork, undefined, { id: look.id, isRetried: true });
  return { fork: taskId };
}

async function timelineOf(store: TaskStore, serving: TaskServing): Promise<TaskTimeline> {
  const { expires } = store;
  const { created, updated, fuel } = store.row;
  const [view, call, begun, subject, end, waits, message] = await Promise.all([
    realViewOf(store),
    store.call(),
    store.read("begun"),
    store.subject(),
    store.read("end"),
    store.waits(),
    store.read("message"),
  ]);
  const { entries, changes } = await store.timeline();
  const found =
    call && (await entryAgain(call, await serving.registry(), begun).catch(() => undefined));
  const { servlet = "", arguments: first = "" } = subject?.about ?? {};
  return {
    view,
    created,
    updated,
    expires,
    fuel,
    called: {
      servlet: found?.tool?.servlet.name ?? servlet,
      name: subject?.ref.name ?? "",
      arguments: first,
      all: shownArguments(call && inputOf(call.ref), found),
    },
    changes,
    entries: entries.map(timelineEntry),
    hasJournal: call !== undefined && begun !== undefined,
    hasFailed: hasFailed(view),
    reason: reasonOf(view, waits, message),
    ...(end && "code" in end && { code: end.code }),
    ...wakesIn(view, waits),
  };
}

function timelineEntry({ what, at, words, answer }: JournalEntry): TimelineEntry {
  const outcome = outcomeOf(what, answer);
  return {
    what,
    at,
    ...(words !== undefined && { words }),
    ...(ANSWERED.test(what) && { answer: givenAnswer(answer) }),
    ...(outcome !== undefined && { outcome }),
  };
}

/** Answers given by callers themselves. Others may hold secrets or data that the servlet does not show callers. */
const ANSWERED = /^(elicitation|sampling|roots)\//;

const givenAnswer = (answer: string): string =>
  beginningOf(withoutSecrets(parsed(answer)), limits.pageCharacters);

function outcomeOf(what: string, answer: string): string | undefined {
  if (what.startsWith("http ")) {
    // The status comes first in a response; its body, which may be large, comes last.
    const { status } = parsed(`${answer.slice(0, answer.indexOf(","))}}`);
    return typeof status === "number" ? String(status) : "failed";
  }
  if (!ANSWERED.test(what) && !what.startsWith("call ")) return undefined;
  const all = Object.values(parsed(answer)).filter(isObject);
  if (all.some((one) => "failed" in one)) return "failed";
  const results = all.map(({ result }) => (isObject(result) ? result : {}));
  if (results.some(({ isError }) => isError === true)) return "failed";
  return results.map(({ action }) => textIn(action)).find((one) => one !== "");
}

/** The JSON object in a text; an empty one if there is none. */
function parsed(text: string): Json {
  const value = jsonIn(text);
  return isObject(value) ? value : {};
}
