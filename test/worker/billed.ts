/** Counts what Cloudflare bills for a Worker's Durable Objects. `/billed` of the Worker gives the counts so far. */
import { DurableObject } from "cloudflare:workers";
import type { Billed } from "../node/bench/cost/measured.ts";

type Method = (...all: any[]) => unknown;
type Class = new (ctx: DurableObjectState, env: object) => DurableObject;

const counts = {
  requests: 0,
  asked: 0,
  rung: 0,
  objectMs: 0,
  rowsRead: 0,
  rowsWritten: 0,
  loaded: 0,
};
const storedBytes = new Map<string, number>();
/** Ids of the objects with an alarm. */
const withAlarm = new Set<string>();
const idOf = new WeakMap<object, string>();

function billed(): Billed {
  const { asked, rung, loaded, ...others } = counts;
  const alarms = rung + withAlarm.size;
  const bytes = storedBytes.values().reduce((sum, one) => sum + one, 0);
  return {
    ...others,
    objectRequests: asked + alarms,
    alarms,
    storedBytes: bytes,
    dynamicWorkers: loaded,
  };
}

/** Replaces methods of the platform's class by ones that call `count` with the arguments and the result. */
function watch<K extends string>(
  { prototype }: { prototype: object },
  names: readonly K[],
  count: (name: K, self: object, given: any[], result: any) => void,
): void {
  for (const name of names) {
    const method = (prototype as Record<K, Method>)[name];
    const watched = function (this: object, ...given: unknown[]) {
      const result = method.apply(this, given);
      if (result instanceof Promise)
        return result.then((value: unknown) => (count(name, this, given, value), value));
      count(name, this, given, result);
      return result;
    };
    Object.defineProperty(prototype, name, { value: watched });
  }
}

const sizeOf = (keys: unknown): number => {
  if (Array.isArray(keys)) return keys.length;
  return typeof keys === "object" && keys !== null ? Object.keys(keys).length : 1;
};

/** Each key that is read or written is a row: https://developers.cloudflare.com/durable-objects/platform/pricing/ */
function countKeys(name: string, _self: object, [keys]: unknown[], result: unknown): void {
  if (name === "list") counts.rowsRead += [...(result as Iterable<unknown>)].length;
  else if (name === "get") counts.rowsRead += sizeOf(keys);
  else counts.rowsWritten += sizeOf(keys);
}

let isWatching = false;

/** Counts the rows of a storage, and where alarms are set. All objects have the same classes for theirs. */
function watchStorage(storage: DurableObjectStorage): void {
  if (isWatching) return;
  isWatching = true;
  const classOf = (one: object) => ({ prototype: Object.getPrototypeOf(one) as object });
  watchStatements(Object.getPrototypeOf(storage.sql) as SqlStorage);
  watch(classOf(storage.kv), ["get", "put", "delete"], countKeys);
  watch(classOf(storage), ["get", "put", "delete", "list"], countKeys);
  watch(classOf(storage), ["setAlarm", "deleteAlarm", "deleteAll"], (name, self) => {
    const id = idOf.get(self)!;
    if (name === "setAlarm") {
      counts.rowsWritten++;
      withAlarm.add(id);
    } else withAlarm.delete(id);
  });
}

/** Counts the rows of each statement: of several in one text, the platform's cursor has those of the last. */
function watchStatements(prototype: SqlStorage): void {
  const { exec } = prototype;
  prototype.exec = function (this: SqlStorage, text: string, ...given: any[]) {
    const texts = given.length > 0 ? [text] : text.split(";").filter((one) => one.trim() !== "");
    const cursors = texts.map((one) => exec.call(this, one, ...given));
    // By then its rows are read: what runs statements is not asynchronous.
    queueMicrotask(() => {
      for (const { rowsRead, rowsWritten } of cursors) {
        counts.rowsRead += rowsRead;
        counts.rowsWritten += rowsWritten;
      }
    });
    return cursors.at(-1) as never;
  };
}

/** An object that works; it is billed from the beginning of its first work to the end of its last. */
class Activity {
  #open = 0;
  #since = 0;

  begin(): void {
    if (this.#open++ === 0) this.#since = Date.now();
  }

  end(): void {
    if (--this.#open === 0) counts.objectMs += Date.now() - this.#since;
  }
}

/** The class behind one that counts: the object's calls of its own methods are not requests. */
function counted(Plain: Class): Class {
  class Counted extends DurableObject {
    readonly #inner: DurableObject;
    readonly #activity = new Activity();

    constructor(ctx: DurableObjectState, env: { LOADER?: WorkerLoader }) {
      super(ctx, env as never);
      watchStorage(ctx.storage);
      idOf.set(ctx.storage, String(ctx.id));
      this.#inner = new Plain(
        ctx,
        env.LOADER ? { ...env, LOADER: countedLoader(env.LOADER) } : env,
      );
    }

    async work(name: string, given: unknown[]): Promise<unknown> {
      const { storage, id } = this.ctx;
      if (name === "alarm") {
        counts.rung++;
        withAlarm.delete(String(id));
      } else if (name === "webSocketMessage") counts.asked += 1 / 20;
      else if (!name.startsWith("webSocket")) counts.asked++;
      this.#activity.begin();
      try {
        return this.#untilClosed(
          await (this.#inner as unknown as Record<string, Method>)[name]!(...given),
        );
      } finally {
        storedBytes.set(String(id), storage.sql.databaseSize);
        this.#activity.end();
        if (name === "webSocketClose") this.#activity.end();
      }
    }

    /** The result, whose stream or WebSocket keeps the object at work until it is closed. */
    #untilClosed(result: unknown): unknown {
      if (!(result instanceof Response)) return result;
      if (result.webSocket) this.#activity.begin();
      if (result.body === null) return result;
      this.#activity.begin();
      const closed = () => this.#activity.end();
      const passing = new TransformStream({ flush: closed, cancel: closed });
      return new Response(result.body.pipeThrough(passing), result);
    }
  }
  // The package `agents` has the handlers in each object, not in the class.
  const names = new Set(["fetch", "alarm", "webSocketMessage", "webSocketClose", "webSocketError"]);
  let of = Plain.prototype as object;
  for (; of !== DurableObject.prototype; of = Object.getPrototypeOf(of) as object)
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of)))
      if (typeof value === "function" && name !== "constructor") names.add(name);
  for (const name of names)
    Object.defineProperty(Counted.prototype, name, {
      value(this: Counted, ...given: unknown[]) {
        return this.work(name, given);
      },
    });
  return Counted as unknown as Class;
}

const countedLoader = (loader: WorkerLoader): WorkerLoader =>
  new Proxy(loader, {
    get(target, name) {
      if (name === "load") counts.loaded++;
      const member = target[name as keyof WorkerLoader] as Method;
      return member.bind(target);
    },
  });

/** The classes of a Worker's Durable Objects, whose use is counted. */
export const countedClasses = (classes: Record<string, unknown>): Record<string, unknown> =>
  new Proxy(classes, { get: (all, name: string) => counted(all[name] as Class) });

/** The Worker, with the counts at `/billed`. */
export const countedWorker = (worker: { fetch: Method }) => ({
  fetch(request: Request, ...others: unknown[]) {
    if (new URL(request.url).pathname === "/billed") return Response.json(billed());
    counts.requests++;
    return worker.fetch(request, ...others);
  },
});
