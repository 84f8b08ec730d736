import { inputOf } from "../../kernel/calls/call-ref.ts";
import { fittingAnswers, isOverdue, unanswered } from "../../kernel/asks/answers.ts";
import { callPageUrl } from "../../kernel/servlets/links.ts";
import { entryAgain } from "./task-call.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { Answers, Asks } from "../../kernel/core/asks.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { shownArguments } from "../../kernel/calls/shown-arguments.ts";
import type { HandedOver } from "../../kernel/calls/task-object.ts";
import type { TaskStore } from "./task-store.ts";
import { realViewOf } from "./task-view.ts";

/** The real state of a call that was handed over. */
export async function handedOverOf(
  store: TaskStore,
  registry: () => Promise<Registry>,
): Promise<HandedOver> {
  const { updated } = store.row;
  const [view, waits, call] = await Promise.all([realViewOf(store), store.waits(), store.call()]);
  const url = callPageUrl(call?.link?.origin ?? "", store.id);
  const state = { view, updated, expires: store.expires, url };
  if (call === undefined || store.isOver) return { ...state, asks: {} };
  const begun = await store.read("begun");
  const found = await entryAgain(call, await registry(), begun).catch(() => undefined);
  const called = {
    servlet: found?.tool?.servlet.name ?? "",
    tool: call.ref.name,
    arguments: shownArguments(inputOf(call.ref), found),
  };
  return {
    ...state,
    called,
    asks: waits?.kind === "input" ? unanswered(waits.asks, waits.given) : {},
  };
}

/** A person's answer to one ask. */
export class PersonAnswer {
  readonly #key: string;
  readonly #result: Json;
  /** True if the ask was open and its deadline had not passed. */
  isInTime = false;

  constructor(key: string, result: Json) {
    this.#key = key;
    this.#result = result;
  }

  /** The checked answer, if this ask is open. Throws `invalid_params`. */
  fitting(open: Asks, given: Answers): Answers {
    const ask = Object.hasOwn(open, this.#key) ? open[this.#key] : undefined;
    if (ask === undefined) return {};
    const now = Date.now();
    this.isInTime = !isOverdue(ask, now);
    const asks = { [this.#key]: ask };
    return fittingAnswers(asks, { [this.#key]: { result: this.#result } }, now, given);
  }
}

/** Wakes those who wait for a change of a task. */
export class ChangeSignal {
  #next = Promise.withResolvers<void>();

  tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Settles when the task is over, is gone or has changed after `since`, and after `ms` at the latest. */
  async until(store: TaskStore, { since, ms }: { since: number; ms: number }): Promise<void> {
    // A timer and no deadline, since the clock may be set back. Set only if there is something to wait for.
    let late: Promise<boolean> | undefined;
    let isLate = ms <= 0;
    while (store.exists && !store.isOver && store.row.updated <= since && !isLate) {
      late ??= scheduler.wait(ms).then(() => true);
      isLate = (await Promise.race([this.#next.promise, late])) === true;
    }
  }
}
