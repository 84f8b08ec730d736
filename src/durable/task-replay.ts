import type { Serving } from "../builds/serving.ts";
import { Fault, report } from "../errors.ts";
import type { CallContext } from "../call-context.ts";
import { findAgain } from "../mcp/methods.ts";
import { targetAgain } from "../mcp/task-call.ts";
import { limits } from "../limits.ts";
import { ANONYMOUS, type Notification } from "../model.ts";
import type { Recorded } from "../record.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { Registry } from "../servlets/registry.ts";
import { Suspended, Wait } from "../suspension.ts";
import { endOf, type Rehearsal, type TaskCall, type TaskEnd } from "./task-object.ts";
import type { TaskStore } from "./task-store.ts";

/**
 * Notes that a task waits: for operators, by its servlet, and for the person who answers, if it was handed over. Never
 * throws: nothing depends on it.
 */
export async function noteWaiting(store: TaskStore, serving: Serving): Promise<void> {
  try {
    if (!store.exists || store.isOver) return;
    const { principal } = store.row;
    if (store.isHandedOver && principal !== ANONYMOUS.name)
      await serving.profiles?.at(principal, async (one) => one.note(store.id, store.expires));
    const hash = (await store.read("begun"))?.head.hash;
    if (typeof hash === "string") await serving.noteWaiting(store.id, hash, store.expires);
  } catch (error) {
    report(error);
  }
}

async function outdatedEnd(store: TaskStore, registry: Registry): Promise<TaskEnd | undefined> {
  const hash = (await store.read("begun"))?.head.hash;
  try {
    if (hash !== undefined) await registry.at(hash);
    return undefined;
  } catch (error) {
    const fault = Fault.from(error);
    if (fault.code !== "invalid_params") throw error;
    return endOf(fault);
  }
}

/** Whether a task that waits can go on with what is served. */
export class GoingOn {
  readonly #store: TaskStore;
  readonly #serving: Serving;
  readonly #publish: () => void;
  /** The registry with which it can. */
  #known: Registry | undefined;

  constructor(store: TaskStore, serving: Serving, publish: () => void) {
    this.#store = store;
    this.#serving = serving;
    this.#publish = publish;
  }

  /** Ends a call whose build is gone, so that its user is not asked in vain. */
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

/** Why a task could not go on with another build; undefined if it could, null if it does not wait. */
export async function replayed(
  store: TaskStore,
  build: PreparedServlet,
  { deployment }: Serving,
): Promise<string | null | undefined> {
  if (!store.exists || store.isOver) return null;
  const [call, recorded] = [await store.call(), await store.recorded()];
  if (call === undefined || recorded?.pending === undefined) return null;
  return replay(call, recorded, { build, deployment });
}

/** Why a call that waits could not go on with another build of its servlet; undefined if it could. */
async function replay(
  call: TaskCall,
  recorded: Recorded,
  { build, deployment }: { build: PreparedServlet; deployment: Deployment },
): Promise<string | undefined> {
  const ofBuild = { ...recorded, head: { ...recorded.head, hash: build.hash } };
  const registry = new Registry({ servlets: [build] }, { ...deployment, ...UNSEEN });
  try {
    const outcome = await (await findAgain(call, registry)).run(without(call, ofBuild));
    if (!(outcome instanceof Suspended)) return "It would end without what it waits for.";
    const { pending } = outcome.recorded ?? {};
    if (pending?.digest === recorded.pending?.digest) return undefined;
    return `It waits for an answer to "${recorded.pending?.what}", and would ask for ${pending?.what === recorded.pending?.what ? "the same with other content" : `"${pending?.what}"`}.`;
  } catch (error) {
    return Fault.from(error).message;
  }
}

/** Where a call goes that is run again from this record. */
export async function rehearsed(
  call: Omit<TaskCall, "recorded">,
  recorded: Recorded,
  { registry }: { registry: Registry },
): Promise<Rehearsal> {
  const said: string[] = [];
  const notify = ({ params = {} }: Notification) => {
    const { message, data } = params;
    if (said.length < limits.shownEntries)
      said.push(JSON.stringify(message ?? data ?? "").slice(0, limits.pageCharacters));
  };
  try {
    // Lists of servlets may come from elsewhere: those that are known will do.
    const target = await targetAgain(call, registry, recorded, UNSEEN);
    const context = without(call, { ...recorded, notices: 0 });
    const outcome = await target.run({ ...context, notify });
    if (!(outcome instanceof Suspended))
      return { end: "It ends here with a result.", said, fuel: 0 };
    const { fuelUsed: fuel, recorded: { pending } = {} } = outcome;
    return {
      end: `It asks for ${pending?.what ?? "input"}, and would wait for the answer.`,
      said,
      fuel,
    };
  } catch (error) {
    return { end: `It fails: ${Fault.from(error).message}`, said, fuel: 0 };
  }
}

/** The context of a run that can do nothing in the world: it stops at the first question that its record does not answer. */
function without(call: Omit<TaskCall, "recorded">, recorded: Recorded): CallContext {
  const { principal, client, id, meta } = call;
  const stop = () => Promise.reject(new Wait({ kind: "task" }));
  return {
    ...{ principal, client, id, meta },
    recorded,
    signal: () => new AbortController().signal,
    notify: () => {},
    ask: stop,
    gate: stop,
  };
}

/** Such a run is neither logged nor counted, and what its servlet keeps is not there: it begins with nothing. */
const UNSEEN: Partial<Deployment> = {
  log: () => {},
  record: undefined,
  count: undefined,
  runStateful: undefined,
};
