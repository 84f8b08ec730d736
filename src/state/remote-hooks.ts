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
  readonly #signal: AbortSignal;

  constructor(call: RunContext, signal: AbortSignal) {
    super();
    this.#call = call;
    this.#signal = signal;
  }

  ask(asks: Asks): Promise<Settled<Answers>> {
    return settled(() => this.#call.ask(asks, this.#signal));
  }
  lookUp(params: Json): Promise<Settled<Answer>> {
    return settled(() => this.#call.lookUp!(params, this.#signal));
  }
  /**
   * `now` is the time where the guest runs. That clock may be ahead of this one, and a guest that sleeps must see the whole
   * time pass. A lead of more than `clockSlackMs` means that a clock was set back, and counts as that.
   */
  gate(ms: number, now: number): Promise<Settled<void>> {
    const ahead = ms > 0 ? Math.min(Math.max(0, now - Date.now()), limits.clockSlackMs) : 0;
    return settled(() => this.#call.gate?.(ms + ahead));
  }
  sending(): Promise<Settled<void>> {
    return settled(() => this.#call.sending?.());
  }
  callTools(asked: AskedCalls): Promise<Settled<CalledTools>> {
    return settled(() => this.#call.callTools!(asked, this.#signal));
  }
  /** Answers at once: whoever waits for another hook's answer knows that it may still come. */
  async isThere(): Promise<Settled<void>> {
    return { value: undefined };
  }
  async notify(notification: Notification): Promise<void> {
    this.#call.notify(notification);
  }
  begin(head: JournalHead): Promise<Settled<void>> {
    return settled(() => this.#call.keeper?.begin(head));
  }
  intend(position: number, key: string, method: MethodClass): Promise<Settled<boolean>> {
    return settled(async () => (await this.#call.keeper?.intend?.(position, key, method)) ?? false);
  }
  keep(position: number, entry: JournalEntry, notices: number): Promise<Settled<void>> {
    return settled(() => this.#call.keeper?.keep(position, entry, notices));
  }
}

/**
 * Has the guest of a call run somewhere else. Throws `cancelled` as soon as nobody wants the result: the guest is told,
 * and its end is not awaited, as a request whose client has left comes to its own end at once.
 */
export async function elsewhere<T>(
  signal: AbortSignal,
  { run, cancel }: { run(): Promise<T>; cancel(): Promise<void> },
): Promise<T> {
  if (signal.aborted) throw new Fault("cancelled", "The call was cancelled before it began.");
  const unwanted = Promise.withResolvers<never>();
  const stop = () => {
    waitUntil(cancel().catch(() => {}));
    unwanted.reject(clientHasLeft(signal));
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([run(), unwanted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
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
