import type { Serving } from "../builds/serving.ts";
import { callerKey } from "../callers.ts";
import { Fault, report } from "../errors.ts";
import { limits } from "../limits.ts";
import { targetAgain } from "../mcp/task-call.ts";
import { storageQuota } from "../quotas.ts";
import { printable } from "../text.ts";
import type { Listed } from "./listed-calls.ts";
import type { Profiles } from "./profiles.ts";
import { shownArguments } from "./task-person.ts";
import { rehearsed } from "./task-replay.ts";
import type { Look, Looked, Story } from "./task-object.ts";
import type { Subject } from "./task-rows.ts";
import type { TaskStore } from "./task-store.ts";
import { realViewOf } from "./task-view.ts";
import { tasksOf } from "./tasks.ts";

/** A task in the console of its caller. */

/** Keeps the list in the console up to date: one message at a time, of which each says how the task was when it was sent. */
export class Listing {
  readonly #store: TaskStore;
  #profiles: Profiles | undefined;
  #latest: Promise<{ by: string; listed: Listed } | undefined> | undefined;
  #sending: Promise<void> | undefined;
  #told = "";

  /** Without profiles there is no console. */
  constructor(store: TaskStore, profiles: Profiles | undefined) {
    this.#store = store;
    this.#profiles = profiles;
  }

  /** Settles when the console knows how the task is now. Never throws. */
  async tell(): Promise<void> {
    const profiles = this.#profiles;
    if (profiles === undefined || !this.#store.exists) return;
    const { status, updated } = this.#store.row;
    if (this.#told !== `${status} ${updated}`) {
      this.#told = `${status} ${updated}`;
      this.#latest = listedOf(this.#store).catch((error: unknown) => void report(error));
      this.#sending ??= this.#send(profiles);
    }
    await this.#sending;
  }

  /** Nothing more is told of a task that its caller wants forgotten, once this has settled. */
  async end(): Promise<void> {
    this.#profiles = undefined;
    this.#latest = undefined;
    await this.#sending;
  }

  /** Takes the task out of the list: nothing of it is stored any more. Never throws. */
  async leave(): Promise<void> {
    const profiles = this.#profiles;
    const subject = await this.#store.subject().catch((error: unknown) => void report(error));
    await this.end();
    if (profiles && subject?.lister !== undefined)
      await profiles.unlist(subject.lister, this.#store.id);
  }

  async #send(profiles: Profiles): Promise<void> {
    while (this.#latest !== undefined) {
      const latest = this.#latest;
      this.#latest = undefined;
      const { by, listed } = (await latest) ?? {};
      if (by !== undefined && listed !== undefined) await profiles.list(by, listed);
    }
    this.#sending = undefined;
  }
}

async function listedOf(store: TaskStore): Promise<{ by: string; listed: Listed } | undefined> {
  const { id, expires: until } = store;
  const { created, updated } = store.row;
  const [subject, view] = await Promise.all([store.subject(), realViewOf(store)]);
  if (subject?.lister === undefined) return undefined;
  const { method, params, lister: by } = subject;
  const { status, statusMessage: waits } = view;
  const name = printable(nameIn({ method, params })).slice(0, limits.pageCharacters);
  const listed: Listed = { id, kind: "call", name, status, created, updated, until };
  // It names each of thousands of questions.
  const words = typeof waits === "string" && { waits: waits.slice(0, limits.pageCharacters) };
  return { by, listed: { ...listed, ...words } };
}

/** The name or URI of what is called, or the method of a call without one. */
function nameIn({ method, params: { name, uri } }: Subject): string {
  const named = name ?? uri;
  return typeof named === "string" ? named : method;
}

/** What a caller looks at, replays or forks of its own task. Throws `invalid_params`, `too_many`. */
export async function looked(
  store: TaskStore,
  look: Look,
  { serving, env }: { serving: Serving; env: object },
): Promise<Looked> {
  if (look.what === "story") return { story: await storyOf(store, serving) };
  const call = await store.call();
  const recorded = await store.recorded();
  if (call === undefined || recorded === undefined || look.entries > recorded.entries.length) {
    throw new Fault(
      "invalid_params",
      "The journal of this call does not reach so far, or it is gone: it stays for an hour after the call has ended.",
    );
  }
  const { pending: _pending, intents: _intents, ...begun } = recorded;
  const entries = recorded.entries.slice(0, look.entries);
  const from = { ...begun, entries };
  if (look.what === "replay") {
    return { replay: await rehearsed(call, from, { registry: await serving.registry() }) };
  }
  const { owner: _owner, input: _input, link, ...rest } = call;
  const { principal } = rest;
  const tasks = tasksOf(env)?.(principal, (bytes) =>
    storageQuota(env)(callerKey(principal), bytes),
  );
  const linked = { link: link ?? { origin: look.origin, isTyped: false } };
  // Its client knows nothing of it, so what it asks is answered on pages.
  const client = { ...rest.client, capabilities: {} };
  const fork = { ...rest, ...linked, client, recorded: { ...from, notices: 0 } };
  const { taskId } = await tasks!.create(fork, undefined, { id: look.id, isRetried: true });
  return { fork: taskId };
}

async function storyOf(store: TaskStore, serving: Serving): Promise<Story> {
  const { expires } = store;
  const { created, updated, fuel } = store.row;
  const [view, call, begun, subject] = await Promise.all([
    realViewOf(store),
    store.call(),
    store.read("begun"),
    store.subject(),
  ]);
  const { entries, changes } = await store.story();
  const found =
    call && (await targetAgain(call, await serving.registry(), begun).catch(() => undefined));
  return {
    view,
    created,
    updated,
    expires,
    fuel,
    called: {
      servlet: found?.tool?.servlet.name ?? "",
      name: subject === undefined ? "" : nameIn(subject),
      arguments: shownArguments(call?.params["arguments"]),
    },
    changes,
    entries: entries.map(({ what, at, answer }) => ({
      ...{ what, at, characters: answer.length },
      ...(ANSWERED.test(what) && { answer: answer.slice(0, limits.pageCharacters) }),
    })),
    hasJournal: call !== undefined && begun !== undefined,
  };
}

/** What callers have answered themselves. Other answers may have secrets, or what the servlet keeps from its callers. */
const ANSWERED = /^(elicitation|sampling|roots)\//;
