/**
 * The part of a call that stays where the call was made, while its guest runs in the Durable Object of its state:
 * the guest's questions and journal go back by RPC.
 */
import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { RpcTarget, waitUntil } from "cloudflare:workers";
import {
  CALL_FUNCTIONS,
  type CallFunctions,
  type RunContext,
} from "../../kernel/core/call-context.ts";
import { clientHasLeft, Fault, orAborted } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { Notification } from "../../kernel/core/model.ts";
import type { Keeper, Recorded } from "../../kernel/core/record.ts";
import type { ServletRef } from "../../kernel/servlets/bundle.ts";
import type { CallParts } from "../../kernel/servlets/setup.ts";

/** The functions of a call that its guest may call from another object or isolate, with those that store its journal. */
type Functions = Required<CallFunctions & Pick<Keeper, "begin" | "intend" | "keep">>;
type FunctionName = keyof Functions;
/** The number of arguments that cross, and whether the call's signal follows them. The caller may be hostile. */
const PARAMETERS: Readonly<Record<FunctionName, { count: number; hasSignal?: true }>> = {
  ask: { count: 1, hasSignal: true },
  lookUp: { count: 1, hasSignal: true },
  callTools: { count: 1, hasSignal: true },
  callHost: { count: 1, hasSignal: true },
  gate: { count: 1 },
  sending: { count: 0 },
  begin: { count: 1 },
  intend: { count: 3 },
  keep: { count: 3 },
};

/** The functions that a call has. */
function functionsOf(call: RunContext): Partial<Functions> {
  const { keeper } = call;
  const all: Partial<Functions> = {};
  for (const name of CALL_FUNCTIONS) if (call[name]) all[name] = call[name] as never;
  if (keeper === undefined) return all;
  all.begin = keeper.begin.bind(keeper);
  all.keep = keeper.keep.bind(keeper);
  if (keeper.intend) all.intend = keeper.intend.bind(keeper);
  return all;
}

/** The functions of a call's context, for the object in which its guest runs. */
export class CallHooks extends RpcTarget implements RemoteHooks {
  readonly #call: RunContext;
  readonly #functions: Partial<Functions>;
  readonly #signal: () => AbortSignal;

  /** `signal` returns the call's signal; it is called when the call first waits. */
  constructor(call: RunContext, signal: () => AbortSignal) {
    super();
    this.#call = call;
    this.#functions = functionsOf(call);
    this.#signal = signal;
  }

  /**
   * Calls the function with this name. `now` is the guest's time. Its clock may be ahead of this one, and a guest
   * that sleeps must see the whole time pass. A lead beyond `clockSlackMs` means that a clock was set back, and is
   * limited to that.
   */
  call(name: FunctionName, args: unknown[], now: number): Promise<Settled<unknown>> {
    return this.#waiting((signal) => {
      // The name is neither repeated nor logged: a hostile isolate could choose it a thousand times in a call.
      if (typeof name !== "string" || !Object.hasOwn(this.#functions, name))
        throw new Fault("invalid_params", "The call has no such function.");
      const { count, hasSignal } = PARAMETERS[name];
      const given = args.slice(0, count);
      const ahead = Math.min(Math.max(0, now - Date.now()), limits.clockSlackMs);
      const [ms] = given;
      if (name === "gate" && typeof ms === "number" && ms > 0 && ahead > 0) given[0] = ms + ahead;
      const work = this.#functions[name] as (...all: unknown[]) => unknown;
      return work(...given, ...(hasSignal ? [signal] : []));
    });
  }
  /** Answers at once: proves to the guest's object that the call is still alive, so its answers may still come. */
  isThere(): Promise<Settled<void>> {
    return this.#waiting(() => {});
  }
  async notify(notification: Notification): Promise<void> {
    this.#call.notify(notification);
  }

  /** Does work that the guest waits for. From now on the guest is cancelled when its result is no longer wanted. */
  #waiting<T>(work: (signal: AbortSignal) => Promise<T> | T): Promise<Settled<T>> {
    return settled(() => work(this.#signal()));
  }
}

/**
 * Cancels the guest of a call, which runs in another object or isolate, when its result is no longer wanted. It watches the
 * call's signal only from the first `watch`: signal, listeners and timers would take a tenth of the time of a call that never
 * waits.
 */
export class DepartureWatch {
  readonly #signal: () => AbortSignal;
  readonly #cancel: () => Promise<void>;
  readonly #unwanted = Promise.withResolvers<never>();
  #watched: AbortSignal | undefined;

  /** `signal` returns the call's signal; `cancel` cancels the guest. */
  constructor(signal: () => AbortSignal, cancel: () => Promise<void>) {
    this.#signal = signal;
    this.#cancel = cancel;
  }

  /** Returns the call's signal, and watches it from now on. */
  readonly watch = (): AbortSignal => {
    if (this.#watched === undefined) {
      this.#watched = this.#signal();
      this.#watched.addEventListener("abort", this.#leave, { once: true });
      if (this.#watched.aborted) this.#leave();
    }
    return this.#watched;
  };

  /**
   * Settles as `run` does, or throws `cancelled` once the watched signal aborts. It does not await the guest's end, because
   * a request whose client has left ends at once.
   */
  async during<T>(run: Promise<T>): Promise<T> {
    try {
      return await Promise.race([run, this.#unwanted.promise]);
    } finally {
      this.#watched?.removeEventListener("abort", this.#leave);
    }
  }

  readonly #leave = () => {
    waitUntil(this.#cancel().catch(() => {}));
    this.#unwanted.promise.catch(() => {});
    this.#unwanted.reject(clientHasLeft(this.#watched));
  };
}

/**
 * The hook's answer. Throws `unavailable` if it does not come: the call's request is gone, and others wait for
 * the state that it holds.
 */
async function answered<T>(answer: Promise<Settled<T>>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(gone()), limits.hookMs);
  try {
    return unsettled(await Promise.race([answer, late.promise]));
  } finally {
    clearTimeout(timer);
  }
}

const gone = () =>
  new Fault(
    "unavailable",
    "The request that made this call is gone, so the call was stopped. Nothing was changed. Call again.",
  );

/** The answer of a hook that may take long. Throws as `answered`, and once the signal aborts. */
async function answeredLater<T>(
  answer: Promise<Settled<T>>,
  hooks: RemoteHooks,
  signal: AbortSignal,
): Promise<T> {
  const given = orAborted(answer, signal);
  given.catch(() => {});
  for (;;) {
    const pause = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => pause.resolve(undefined), limits.hookMs);
    const first = await Promise.race([given, pause.promise]).finally(() => clearTimeout(timer));
    if (first !== undefined) return unsettled(first);
    await answered(hooks.isThere());
  }
}

/** Functions that may take as long as the call. Any other must answer within `limits.hookMs`. */
const LONG: ReadonlySet<FunctionName> = new Set(["callTools", "callHost"]);

/**
 * The context of a guest whose call is in another isolate: its functions call `hooks` by RPC. `sent` collects pending
 * notifications.
 */
export function contextOf(
  hooks: RemoteHooks,
  { functions }: HookSupport,
  sent: Promise<unknown>[],
): Omit<RunContext, "signal"> {
  const remote: Record<string, (...args: unknown[]) => Promise<unknown>> = {};
  for (const name of functions)
    remote[name] = (...args) => {
      const signal = args.at(-1);
      if (!(signal instanceof AbortSignal)) return answered(hooks.call(name, args, Date.now()));
      const answer = hooks.call(name, args.slice(0, -1), Date.now());
      return LONG.has(name) ? answeredLater(answer, hooks, signal) : answered(answer);
    };
  const { begin, intend, keep, ...own } = remote as unknown as Partial<Functions>;
  return {
    ...(own as CallFunctions),
    // Fails if the request that made the call is gone; then nobody receives it.
    notify: (notification) => void sent.push(hooks.notify(notification).catch(() => {})),
    keeper: begin && keep && { begin, keep, ...(intend && { intend }) },
  };
}

/**
 * The signal of a run whose call is in another object or isolate. The call's own signal is watched from the first `get`; the
 * signal also aborts if the call cannot be reached.
 */
export class RemoteSignal {
  readonly #hooks: RemoteHooks;
  #stop: AbortController | undefined;

  constructor(hooks: RemoteHooks) {
    this.#hooks = hooks;
  }

  readonly get = (): AbortSignal => {
    if (this.#stop === undefined) {
      this.#stop = new AbortController();
      this.#hooks.isThere().catch(() => this.abort());
    }
    return this.#stop.signal;
  };

  /** True if the run was aborted, also before the first `get`. */
  get isAborted(): boolean {
    return this.#stop?.signal.aborted === true;
  }

  abort(): void {
    this.#stop ??= new AbortController();
    this.#stop.abort();
  }
}

/** The hooks of a call in another object or isolate. */
export interface RemoteHooks {
  call(name: FunctionName, args: unknown[], now: number): Promise<Settled<unknown>>;
  isThere(): Promise<Settled<void>>;
  notify(notification: Notification): Promise<void>;
}

/** The functions that a call provides to a remote guest, and whether it may be replayed. */
export interface HookSupport {
  /** The only functions that are called. */
  functions: FunctionName[];
  /** True if the call may be run again from its record. */
  repeats: boolean;
}

export const hookSupportOf = (call: RunContext): HookSupport => ({
  functions: Object.keys(functionsOf(call)) as FunctionName[],
  repeats: call.keeper !== undefined && call.keeper.isVolatile !== true,
});

/** A run of a servlet's export in another isolate. */
export interface RemoteRun {
  /** Unique; used to cancel the run. */
  id: string;
  export: string;
  input: string;
  recorded?: Recorded | undefined;
  seed?: string | undefined;
  /** When its record begins, if not later, in Unix ms. */
  time?: number | undefined;
  there: HookSupport;
}

/** A run in the state of the servlet's scope. */
export interface StatefulRun extends RemoteRun {
  servlet: ServletRef;
  call: CallParts;
  /** Timeout for its turn in the state where an outer call already holds another one, in ms. */
  patienceMs?: number | undefined;
}

/** An import into the state of a servlet. */
export interface StateImport {
  servlet: ServletRef;
  /** The caller whose state it is; absent if it is not that of one caller. */
  caller?: string;
  /** True for files alone, without the memory. */
  filesOnly: boolean;
}
