import type { Serving } from "../builds/serving.ts";
import { Fault, report } from "../errors.ts";
import type { CallContext } from "../call-context.ts";
import { findAgain } from "../mcp/methods.ts";
import { ANONYMOUS } from "../model.ts";
import type { Recorded } from "../record.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import type { Deployment } from "../servlets/deployment.ts";
import { Registry } from "../servlets/registry.ts";
import { Suspended, Wait } from "../suspension.ts";
import { endOf, type TaskCall, type TaskEnd } from "./task-object.ts";
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

/** The end of a task whose build is gone; undefined while it can go on. */
export async function outdatedEnd(
  store: TaskStore,
  registry: Registry,
): Promise<TaskEnd | undefined> {
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

/**
 * Why a call that waits could not go on with another build of its servlet; undefined if it could. It is run from its
 * record up to where it waits, and can do nothing in the world.
 */
async function replay(
  call: TaskCall,
  recorded: Recorded,
  { build, deployment }: { build: PreparedServlet; deployment: Deployment },
): Promise<string | undefined> {
  const { principal, client, id, meta } = call;
  const stop = () => Promise.reject(new Wait({ kind: "task" }));
  const context: CallContext = {
    ...{ principal, client, id, meta },
    recorded: { ...recorded, head: { ...recorded.head, hash: build.hash } },
    signal: () => new AbortController().signal,
    notify: () => {},
    ask: stop,
    gate: stop,
  };
  try {
    const registry = new Registry({ servlets: [build] }, { ...deployment, record: undefined });
    const outcome = await (await findAgain(call, registry)).run(context);
    if (!(outcome instanceof Suspended)) return "It would end without what it waits for.";
    const { pending } = outcome.recorded ?? {};
    if (pending?.digest === recorded.pending?.digest) return undefined;
    return `It waits for an answer to "${recorded.pending?.what}", and would ask for ${pending?.what === recorded.pending?.what ? "the same with other content" : `"${pending?.what}"`}.`;
  } catch (error) {
    return Fault.from(error).message;
  }
}
