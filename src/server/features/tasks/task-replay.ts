import type { TaskServing } from "./task-server.ts";
import { allReasons, perform } from "../../kernel/calls/engine.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { entryAgain } from "./task-call.ts";
import { limits } from "../../kernel/core/limits.ts";
import { ANONYMOUS, type Notification } from "../../kernel/core/model.ts";
import type { Pending, Recorded } from "../../kernel/core/record.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import { Registry } from "../../kernel/servlets/registry.ts";
import { Wait } from "../../kernel/core/suspension.ts";
import {
  endOf,
  type ReplayOutcome,
  type TaskCall,
  type TaskEnd,
} from "../../kernel/calls/task-object.ts";
import type { TaskStore } from "./task-store.ts";
import { beginningOf } from "../../kernel/core/text.ts";

/**
 * Registers a waiting task for operators, by its servlet, and for the person who answers if it was handed over. Never
 * throws: nothing depends on it.
 */
export async function noteWaiting(store: TaskStore, serving: TaskServing): Promise<void> {
  try {
    if (!store.exists || store.isOver) return;
    const { principal } = store.row;
    if (store.isHandedOver && principal !== ANONYMOUS.name)
      await serving.persons?.at(principal, async (one) => one.note(store.id, store.expires));
    const hash = (await store.read("begun"))?.head.hash;
    if (typeof hash === "string") await serving.noteWaiting(store.id, hash, store.expires);
  } catch (error) {
    report(error);
  }
}

async function outdatedEnd(store: TaskStore, registry: Registry): Promise<TaskEnd | undefined> {
  const begun = await store.read("begun");
  if (begun === undefined) return undefined;
  try {
    await registry.at(begun);
    return undefined;
  } catch (error) {
    if (Fault.from(error).code !== "invalid_params") throw error;
    // The advice depends on the requests in the whole record.
    const recorded = (await store.recorded())!;
    return registry.at(recorded).then(
      () => undefined,
      (why: unknown) => endOf(Fault.from(why)),
    );
  }
}

/** Checks whether a waiting task can continue with what is served. */
export class ContinuationCheck {
  readonly #store: TaskStore;
  readonly #serving: TaskServing;
  readonly #publish: () => void;
  /** The registry of the last successful check. */
  #known: Registry | undefined;

  constructor(store: TaskStore, serving: TaskServing, publish: () => void) {
    this.#store = store;
    this.#serving = serving;
    this.#publish = publish;
  }

  /** Ends a call whose build is gone, so that nobody answers it in vain. */
  async check(): Promise<void> {
    const registry = await this.#serving.registry();
    if (registry === this.#known || this.#store.status !== "input_required") return;
    const end = await outdatedEnd(this.#store, registry);
    if (end === undefined) this.#known = registry;
    else if (!this.#store.isOver) {
      await this.#store.end(end);
      this.#publish();
    }
  }
}

/** The reason why a task cannot continue with another build; undefined if it can, null if it is not waiting. */
export async function replayed(
  store: TaskStore,
  build: PreparedServlet,
  { deployment }: TaskServing,
): Promise<string | null | undefined> {
  if (!store.exists || store.isOver) return null;
  const [call, recorded] = [await store.call(), await store.recorded()];
  if (call === undefined || recorded?.pending === undefined) return null;
  const ofBuild = { ...recorded, head: { ...recorded.head, hash: build.hash } };
  const registry = new Registry({ servlets: [build] }, unobserved(deployment));
  try {
    return await perform<string | undefined>(
      await registry.resolve(call.ref),
      isolatedContext(call, ofBuild),
      {
        ended: () => "It would end without what it waits for.",
        waits: allReasons(({ recorded: { pending } = {} }) => {
          const { digest, what } = recorded.pending ?? {};
          if (pending?.digest === digest) return undefined;
          const other =
            pending?.what === what ? "the same with other content" : `"${pending?.what}"`;
          return `It waits for an answer to "${what}", and would ask for ${other}.`;
        }),
      },
    );
  } catch (error) {
    return Fault.from(error).message;
  }
}

/** Runs a call again from this record, without effects, and describes how the run ends. */
export async function replayRecord(
  call: Omit<TaskCall, "recorded">,
  recorded: Recorded,
  { registry }: { registry: Registry },
): Promise<ReplayOutcome> {
  const said: string[] = [];
  const notify = ({ params = {} }: Notification) => {
    const { message, data } = params;
    if (said.length < limits.shownEntries)
      said.push(beginningOf(JSON.stringify(message ?? data ?? ""), limits.pageCharacters));
  };
  try {
    // Servlets' lists need not be current here.
    const entry = await entryAgain(call, registry, recorded, unobserved);
    const context = isolatedContext(call, { ...recorded, notices: 0 });
    return await perform<ReplayOutcome>(
      entry,
      { ...context, notify },
      {
        ended: () => ({ end: "It would end here with a result.", said, fuel: 0 }),
        waits: allReasons(({ fuelUsed: fuel, recorded: { pending } = {} }) => ({
          end: nextIn(pending),
          said,
          fuel,
        })),
      },
    );
  } catch (error) {
    return { end: `It would fail: ${Fault.from(error).message}`, said, fuel: 0 };
  }
}

/** The next step of a replayed run, in words. */
function nextIn({ what, words }: Partial<Pending> = {}): string {
  if (what === "sleep") return "It would sleep, and then go on.";
  if (words !== undefined) return `It would ask you "${words}" and wait for the answer.`;
  return `It would ask for ${what ?? "input"} and wait for the answer.`;
}

/** The context of a run without effects, which stops at the first question that its record does not answer. */
function isolatedContext(call: Omit<TaskCall, "recorded">, recorded: Recorded): CallContext {
  const { principal, client, id, meta } = call;
  const stop = () => Promise.reject(new Wait({ kind: "task" }));
  return {
    principal,
    client,
    id,
    meta,
    recorded,
    signal: () => new AbortController().signal,
    notify: () => {},
    ask: stop,
    gate: stop,
  };
}

/** Such a run is neither logged nor counted, and its servlet starts without its state. */
const unobserved = ({ runners = [], ...deployment }: Deployment): Deployment => ({
  ...deployment,
  log: () => {},
  record: undefined,
  count: undefined,
  runners: runners.filter(({ hasState }) => hasState !== true),
});
