import { settled, unsettled, type Settled } from "../core/settled.ts";
/**
 * The part of a call that stays where it was made, while its guest runs in the Durable Object of its state:
 * what it asks and stores goes back by RPC.
 */
import { RpcTarget, waitUntil } from "cloudflare:workers";
import type { Answer, Answers, Asks } from "../core/asks.ts";
import type { AskedCalls, CallContext, CalledTools } from "../core/call-context.ts";
import { clientHasLeft, Fault, orAborted } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Json, Notification } from "../core/model.ts";
import type { JournalEntry, JournalHead, Keeper, MethodClass, Recorded } from "../core/record.ts";
import type { ServletRef } from "../servlets/bundle.ts";
import type { CallParts } from "../servlets/setup.ts";

/** The parts of its call's context that a guest's run needs. */
export type RunContext = Pick<
  CallContext,
  "signal" | "notify" | "ask" | "lookUp" | "gate" | "sending" | "keeper" | "callTools"
>;

/** The functions of a call's context, for the object in which its guest runs. */
export class CallHooks extends RpcTarget {
  readonly #call: RunContext;
  readonly #signal: () => AbortSignal;

  /** `signal` returns the call's signal; it is called when the call first waits. */
  constructor(call: RunContext, signal: () => AbortSignal) {
    super();
    this.#call = call;
    this.#signal = signal;
  }

  ask(asks: Asks): Promise<Settled<Answers>> {
    return this.#waiting((signal) => this.#call.ask(asks, signal));
  }
  lookUp(params: Json): Promise<Settled<Answer>> {
    return this.#waiting((signal) => this.#call.lookUp!(params, signal));
  }
  /**
   * `now` is the time where the guest runs. That clock may be ahead of this one, and a guest that sleeps must see the whole
   * time pass. A lead of more than `clockSlackMs` means that a clock was set back, and counts as that.
   */
  gate(ms: number, now: number): Promise<Settled<void>> {
    const ahead = ms > 0 ? Math.min(Math.max(0, now - Date.now()), limits.clockSlackMs) : 0;
    return this.#waiting(() => this.#call.gate?.(ms + ahead));
  }
  sending(): Promise<Settled<void>> {
    return this.#waiting(() => this.#call.sending?.());
  }
  callTools(asked: AskedCalls): Promise<Settled<CalledTools>> {
    return this.#waiting((signal) => this.#call.callTools!(asked, signal));
  }
  /** Answers at once: proves to the guest's object that the call is still alive, so its answers may still come. */
  isThere(): Promise<Settled<void>> {
    return this.#waiting(() => {});
  }
  async notify(notification: Notification): Promise<void> {
    this.#call.notify(notification);
  }
  begin(head: JournalHead): Promise<Settled<void>> {
    return this.#waiting(() => this.#call.keeper?.begin(head));
  }
  intend(position: number, key: string, method: MethodClass): Promise<Settled<boolean>> {
    return this.#waiting(
      async () => (await this.#call.keeper?.intend?.(position, key, method)) ?? false,
    );
  }
  keep(position: number, entry: JournalEntry, notices: number): Promise<Settled<void>> {
    return this.#waiting(() => this.#call.keeper?.keep(position, entry, notices));
  }

  /** Does work that the guest waits for. From then on, the guest is cancelled when its result is no longer wanted. */
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
 * The hook's answer. Throws `unavailable` where it does not come: who has made the call is gone, and others wait for
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

/** The answer of a hook that may take long. Throws `unavailable` as `answered`, and rejects once the signal aborts. */
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

/** The part of a call's context that is somewhere else. `sent` collects what is on its way there. */
export const contextOf = (hooks: RemoteHooks, there: HooksThere, sent: Promise<unknown>[]) => ({
  // It fails where who has made the call is gone: then nobody hears of it.
  notify: (notification: Notification) =>
    void sent.push(hooks.notify(notification).catch(() => {})),
  ask: (asks: Asks) => answered(hooks.ask(asks)),
  lookUp: (params: Json) => answered(hooks.lookUp(params)),
  ...(there.gate && { gate: (ms: number) => answered(hooks.gate(ms, Date.now())) }),
  ...(there.sending && { sending: () => answered(hooks.sending()) }),
  ...(there.callTools && {
    callTools: (asked: AskedCalls, signal: AbortSignal) =>
      answeredLater(hooks.callTools(asked), hooks, signal),
  }),
  keeper: keeperOf(hooks, there),
});

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

/** The hooks of a call that is somewhere else. */
export interface RemoteHooks {
  ask(asks: Asks): Promise<Settled<Answers>>;
  lookUp(params: Json): Promise<Settled<Answer>>;
  gate(ms: number, now: number): Promise<Settled<void>>;
  sending(): Promise<Settled<void>>;
  callTools(asked: AskedCalls): Promise<Settled<CalledTools>>;
  isThere(): Promise<Settled<void>>;
  notify(notification: Notification): Promise<void>;
  begin(head: JournalHead): Promise<Settled<void>>;
  intend(position: number, key: string, method: MethodClass): Promise<Settled<boolean>>;
  keep(position: number, entry: JournalEntry, notices: number): Promise<Settled<void>>;
}

/** Which hooks a call has: those that it lacks are not called. */
export interface HooksThere {
  gate: boolean;
  sending: boolean;
  callTools: boolean;
  keeper: boolean;
  intend: boolean;
  /** True if the call may be run again from its record. */
  repeats: boolean;
}

export const hooksThere = ({ gate, sending, callTools, keeper }: RunContext): HooksThere => ({
  gate: gate !== undefined,
  sending: sending !== undefined,
  callTools: callTools !== undefined,
  keeper: keeper !== undefined,
  intend: keeper?.intend !== undefined,
  repeats: keeper !== undefined && keeper.isVolatile !== true,
});

function keeperOf(hooks: RemoteHooks, there: HooksThere): Keeper | undefined {
  if (!there.keeper) return undefined;
  return {
    begin: (head) => answered(hooks.begin(head)),
    keep: (position, entry, notices) => answered(hooks.keep(position, entry, notices)),
    ...(there.intend && {
      intend: (position: number, key: string, method: MethodClass) =>
        answered(hooks.intend(position, key, method)),
    }),
  };
}

/** A run of a servlet's export in another isolate. */
export interface RemoteRun {
  /** Unique, to cancel it by. */
  id: string;
  export: string;
  input: string;
  recorded?: Recorded | undefined;
  seed?: string | undefined;
  /** When its record begins, if not later, in Unix ms. */
  time?: number | undefined;
  there: HooksThere;
}

/** A run in the state of the servlet's scope. */
export interface StatefulRun extends RemoteRun {
  servlet: ServletRef;
  call: CallParts;
  /** How long it waits for its turn, where the calls around it have the state of theirs. */
  patienceMs?: number | undefined;
}

/** An import into the state of a servlet. */
export interface StateImport {
  servlet: ServletRef;
  /** For whom it is kept; absent where that is not one caller. */
  caller?: string;
  /** Files alone, without the memory. */
  filesOnly: boolean;
}
