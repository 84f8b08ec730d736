/** Tool calls made by a servlet. They run like any other call; their records are part of the outer call's. */
import { allReasons, perform, type Waiting } from "../../kernel/calls/engine.ts";
import { inputOf } from "../../kernel/calls/call-ref.ts";
import type { Asker, Asks } from "../../kernel/core/asks.ts";
import {
  type CallBatch,
  type CallChain,
  type CallContext,
  type CalledTools,
  type Confirmation,
  HOPS_META,
} from "../../kernel/core/call-context.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault, logError } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isChange, type CallToolResult, type Json } from "../../kernel/core/model.ts";
import {
  keyOfInner,
  forkOf,
  randomSeed,
  type InnerCall,
  type Keeper,
  type Recorded,
} from "../../kernel/core/record.ts";
import { isShortage, shortage, type WaitReason } from "../../kernel/core/suspension.ts";
import { afterSending, hasSentIn } from "../../kernel/core/unknown-outcome.ts";
import { abridged, printable, stringBytes, textIn } from "../../kernel/core/text.ts";
import type { ToolAnswer, ToolCall, ToolCallReason } from "../../kernel/core/tool-calls.ts";
import { mapValues } from "../../kernel/core/values.ts";
import { inSpan } from "../../kernel/observe/spans.ts";
import type { Deployment, FoundEntry, ToolCaller } from "../../kernel/servlets/deployment.ts";
import { keepsState } from "../../kernel/servlets/manifest.ts";
import { grants } from "../../kernel/servlets/scopes.ts";
import { isForModels } from "../../kernel/core/views.ts";
import type { Ending } from "../../kernel/wasm/call.ts";

type Outer = Parameters<NonNullable<Deployment["toolCaller"]>>[0];

/** The run whose guest makes calls, and the tools that its caller has. */
type Calling = Omit<Outer, "find"> & {
  call: { chain: CallChain };
  find: ReturnType<Outer["find"]>;
};

/** Share of the remaining fuel that inner calls get: the rest lets their caller report the outcome. */
const SHARE = 0.9;

/** How long a run caches its caller's tools, in ms: to list tools that depend on state costs as much as a call. */
const SEEN_MS = 1000;

/** Maximum number of calls in a question to the user, and the maximum of their characters together. */
const CALLS_SHOWN = 20;
const CALLS_CHARACTERS = 4000;

/** The reason why a call was not made. */
class Refusal extends Error {
  readonly reason: ToolCallReason;
  constructor(reason: ToolCallReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The tool caller of one run's guest. */
export function toolCallerOf(outer: Outer): ToolCaller {
  const { servlet, call } = outer;
  const left = { calls: limits.innerCalls };
  const chain: CallChain = {
    ...(call.chain ?? { place: crypto.randomUUID(), depth: 0, left, ask: call.ask }),
    keeping: [
      ...(call.chain?.keeping ?? []),
      ...(keepsState(servlet.manifest) ? [servlet.name] : []),
    ],
  };
  let inner = call.recorded?.inner;
  let isSingleUse = false;
  let open: Batch | undefined;
  /** The cached tools of the caller; a call may change them. */
  let seen: { find: Calling["find"]; until: number } | undefined;
  const { principal, session } = call;
  return {
    parts: {
      chain,
      async callTools(asked, signal) {
        if (seen === undefined || seen.until <= Date.now()) {
          const until = Date.now() + SEEN_MS;
          seen = { find: outer.find({ principal, session }), until };
        }
        const calling = { ...outer, call: { ...call, chain }, find: seen.find };
        if (asked.isTrial === true) return confirmationOf(calling, asked, signal);
        const known = inner?.at === asked.at ? inner.calls : [];
        const batch = new Batch(calling, asked, known);
        inner = { at: asked.at, calls: batch.calls };
        open = batch;
        const called = await batch.run(signal);
        if (batch.hasCalled) seen = undefined;
        isSingleUse ||= batch.isSingleUse;
        if ("answers" in called) inner = undefined;
        return called;
      },
    },
    ended(ending: Ending) {
      if (ending.kind !== "suspended") return;
      const { recorded } = ending;
      ending.isSingleUse ||= isSingleUse;
      if (inner !== undefined && recorded?.entries.length === inner.at) recorded.inner = inner;
    },
    failed() {
      open?.stop();
    },
  };
}

/** Throws a `Refusal` for a tool that the servlet may not call now. */
function demandAllowed({ servlet, call, own }: Calling, found: FoundEntry, name: string): void {
  const { may_call: patterns = [] } = servlet.manifest;
  const { name: of } = found.servlet!;
  const { tool } = found.tool!;
  if (own?.has(found.servlet!) === true)
    throw new Refusal(
      "not-allowed",
      `The servlet ${servlet.name} may not call ${name}, which is a tool of the server itself: only clients may.`,
    );
  if (
    (tool !== undefined && !isForModels(tool)) ||
    !patterns.some((pattern) => grants(pattern, of, found.tool!.own))
  )
    throw new Refusal(
      "not-allowed",
      `The servlet ${servlet.name} may not call ${name}: \`may_call\` in its servlet.json does not have ${of}:${found.tool!.own}.`,
    );
  if (found.misfit !== undefined) throw new Refusal("bad-arguments", found.misfit);
  if (keepsState(found.servlet!.manifest) && call.chain.keeping.includes(of))
    throw new Refusal(
      "state-in-use",
      `${name} cannot be called here: this call is made from within a call of ${of}, whose state is in use until that has ended.`,
    );
}

/** True if the user must allow this call first. */
function isConfirmed({ servlet }: Calling, { tool }: FoundEntry): boolean {
  const { confirm_calls: which } = servlet.manifest;
  const { destructiveHint, readOnlyHint } = tool?.tool?.annotations ?? {};
  if (which === undefined || readOnlyHint === true) return false;
  return which === "writes" || destructiveHint !== false;
}

/** The calls that the user must allow, except those that are refused anyway. */
async function confirmationOf(
  outer: Calling,
  { calls }: CallBatch,
  signal: AbortSignal,
): Promise<Confirmation> {
  const { servlet, call, find } = outer;
  const { chain } = call;
  const asked: ToolCall[] = [];
  const servlets: [key: string, servlet: string][] = [];
  const unasked = new Set<string>();
  for (const [key, one] of Object.entries(calls).slice(0, Math.max(0, chain.left.calls))) {
    signal.throwIfAborted();
    const ref = { kind: "tool", name: one.name, input: one.arguments } as const;
    let found: FoundEntry;
    try {
      found = await find(ref);
      demandAllowed(outer, found, one.name);
    } catch {
      continue;
    }
    // A snippet and the server's `call_tool` stand for another tool, with arguments of its own.
    const { subject = one.name } = found;
    const called = subject === one.name ? one.arguments : (inputOf(found.ref) as Json);
    if (!isConfirmed(outer, found)) {
      if (subject === one.name) unasked.add(subject);
      continue;
    }
    asked.push({ name: subject, arguments: called });
    servlets.push([key, found.servlet!.name]);
  }
  const question = asked.length === 0 ? "" : questionOf(servlet.name, asked);
  return { question, servlets: Object.fromEntries(servlets), unasked: [...unasked] };
}

/** The question whether a servlet may make these calls. Control and invisible characters in it are escaped. */
function questionOf(servlet: string, calls: readonly ToolCall[]): string {
  const shown = calls.slice(0, CALLS_SHOWN);
  const most = Math.floor(CALLS_CHARACTERS / shown.length);
  const lines = shown.map((one) =>
    abridged(printable(`${one.name} ${JSON.stringify(one.arguments)}`), most),
  );
  const others = Map.groupBy(calls.slice(CALLS_SHOWN), ({ name }) => printable(name));
  if (others.size > 0) {
    const counted = [...others].map(([name, all]) => `${name} (${all.length})`).join(", ");
    lines.push(`and ${calls.length - CALLS_SHOWN} more: ${abridged(counted, CALLS_CHARACTERS)}`);
  }
  const list = lines.map((line) => `- ${line}`);
  return [`${servlet} wants to call:`, ...list, "Allow it?"].join("\n");
}

const runIsOver = () => new Fault("cancelled", "The run that made this call is over.");

/** Calls that are made together. */
class Batch {
  /** The progress of each call. */
  readonly calls: InnerCall[];
  isSingleUse = false;
  /** True once a call was made rather than refused. */
  hasCalled = false;
  readonly #outer: Calling;
  readonly #asked: CallBatch;
  readonly #keys: readonly string[];
  readonly #reasons: (WaitReason | undefined)[] = [];
  readonly #stop = new AbortController();
  /** True once no call runs; messages of a guest in another isolate may still arrive. */
  #isOver = false;
  /** Indexes of the calls that may have sent a request that must not be sent twice. */
  readonly #sent = new Set<number>();
  #fuelUsed = 0;
  /** Size of all results so far. */
  #bytes: number;
  #time: number;

  constructor(outer: Calling, asked: CallBatch, known: readonly InnerCall[]) {
    this.#outer = outer;
    this.#asked = asked;
    this.#time = asked.time;
    this.#keys = Object.keys(asked.calls);
    this.calls = this.#keys.map((_, nth) => known[nth] ?? {});
    const given = known.flatMap(({ answer }) =>
      answer && "result" in answer ? [answer.result] : [],
    );
    this.#bytes = given.reduce((bytes, result) => bytes + bytesOf(result), 0);
  }

  /** Stops the running calls and stores nothing more of them: their run is gone, and another may follow. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop.abort(runIsOver());
  }

  /** Runs the calls until each has ended or waits. Throws a `Fault` that ends the outer call. */
  async run(gone: AbortSignal): Promise<Exclude<CalledTools, Confirmation>> {
    const signal = AbortSignal.any([gone, this.#stop.signal]);
    const next = this.#keys.keys();
    let failure: unknown;
    const worker = async () => {
      for (const nth of next) {
        if (failure !== undefined || this.calls[nth]!.answer !== undefined) continue;
        try {
          await this.#one(nth, signal);
        } catch (error) {
          // The other calls must end too: a suspended guest is never abandoned.
          failure ??= error;
          this.#stop.abort(error);
        }
      }
    };
    await Promise.all(Array.from({ length: limits.innerTogether }, worker));
    this.#isOver = true;
    if (failure !== undefined) throw failure;
    const used = { fuelUsed: Math.min(this.#fuelUsed, this.#asked.fuel), time: this.#time };
    const reason = mergedReason(this.#reasons, this.#keys.length);
    if (reason !== undefined) return { reason, ...used };
    const answers = this.#keys.map((key, nth) => [key, this.calls[nth]!.answer!] as const);
    return { answers: Object.fromEntries(answers), ...used };
  }

  async #one(nth: number, signal: AbortSignal): Promise<void> {
    const known = this.calls[nth]!;
    const { returned } = known;
    // It waits as before: its servlet is called again once its questions are answered.
    if (returned !== undefined && returned.responses === undefined)
      return this.#waits(nth, { kind: "input", asks: returned.asks, given: {} }, returned);
    const key = this.#keys[nth]!;
    const asked = this.#asked.calls[key]!;
    const ended = (answer: ToolAnswer) => (this.calls[nth] = { answer });
    try {
      const found = await this.#found(asked, known);
      // Since the question, the tool may have moved to another servlet, or the caller may have gained access to it.
      if (isConfirmed(this.#outer, found) && this.#asked.allowed?.[key] !== found.servlet!.name)
        throw new Refusal(
          "declined",
          `The user was not asked whether to allow ${asked.name}, which could not be called then. Call it again.`,
        );
      const start = () => ({
        name: `call ${found.servlet!.name}`,
        attributes: {
          "edge_servlets.servlet": found.servlet!.name,
          "gen_ai.tool.name": asked.name,
        },
      });
      this.hasCalled = true;
      const context = await this.#contextOf(nth, found, signal);
      // Wrapped, so that a servlet's result cannot be mistaken for a suspended call.
      const run = await inSpan(this.#outer.call.trace, start, () =>
        perform<{ result: Json } | { waiting: Waiting }>(found, context, {
          ended: (result) => ({ result }),
          waits: allReasons((waiting) => ({ waiting })),
        }),
      );
      if ("waiting" in run) this.#interrupted(nth, run.waiting, found);
      else ended(this.#within(run.result as CallToolResult));
    } catch (error) {
      if (error instanceof Refusal) {
        ended({ failed: error.reason, message: error.message });
        return;
      }
      const fault = Fault.from(error);
      // There may be room later: an outer call that can wait is run again.
      if (isShortage(fault) && this.#outer.call.gate !== undefined) {
        this.#reasons[nth] = shortage();
        return;
      }
      if (ENDING.has(fault.code)) throw error;
      if (fault.cause !== undefined) logError(fault.cause);
      const hasSent =
        this.#sent.has(nth) || known.returned !== undefined || hasSentIn(known.recorded);
      ended({ failed: "failed", message: afterSending({ hasSent }, fault).message });
    }
  }

  /** The tool, if it may be called. Throws a `Refusal`. */
  async #found(
    { name, arguments: input }: ToolCall,
    { recorded, pinned }: InnerCall,
  ): Promise<FoundEntry> {
    const { call, find } = this.#outer;
    const { chain } = call;
    if (chain.depth >= limits.innerDepth)
      throw new Refusal(
        "too-deep",
        `Servlets call each other too deeply (limit ${limits.innerDepth} calls within each other).`,
      );
    if (--chain.left.calls < 0)
      throw new Refusal(
        "too-many",
        `The servlets made too many calls in one call (limit ${limits.innerCalls}). Split the work into several calls.`,
      );
    const ref = { kind: "tool", name, input, ...(pinned && { pinned }) } as const;
    const found = await find(ref, recorded).catch((error: unknown): never => {
      const { code, message } = Fault.from(error);
      if (code === "insufficient_scope") throw new Refusal("insufficient-scope", message);
      if (code === "invalid_params" && recorded === undefined)
        throw new Refusal("unknown-tool", message);
      throw error;
    });
    demandAllowed(this.#outer, found, name);
    return found;
  }

  async #contextOf(nth: number, found: FoundEntry, signal: AbortSignal): Promise<CallContext> {
    const { call } = this.#outer;
    const { id, principal, client, link, session, trace, chain, gate, sending } = call;
    const { recorded, returned, rounds = 0 } = this.calls[nth]!;
    const { responses, state } = returned ?? {};
    const { at, seed, time, fuel, waitMs } = this.#asked;
    const [own, fork] = [randomSeed(seed), forkOf(seed)];
    const place = `${at}.${nth}`;
    const open = this.calls.filter(({ answer }) => answer === undefined).length;
    const share = ((fuel - this.#fuelUsed) * SHARE) / Math.min(open, limits.innerTogether);
    const rest = Math.max(0, Math.floor(share));
    return {
      id,
      principal,
      client,
      session,
      trace,
      // Progress belongs to the client's own call.
      meta: call.meta[HOPS_META] === undefined ? {} : { [HOPS_META]: call.meta[HOPS_META] },
      signal: () => signal,
      notify(notice) {
        if (isChange(notice)) call.notify({ ...notice, isInner: true });
      },
      ask: askingFor(found.servlet!.name, chain.ask),
      ...(link && { link }),
      ...(gate && { gate }),
      sending: () => {
        this.#sent.add(nth);
        return sending?.();
      },
      ...(responses && { input: { responses, ...(state !== undefined && { state }) } }),
      ...(recorded && { recorded }),
      begun: {
        seed: (await hexDigest(JSON.stringify([own, nth, rounds, responses ?? null]))) + fork,
        time,
      },
      share: { fuel: rest, waitMs },
      spent: (used) => void (this.#fuelUsed += Math.min(used, rest)),
      chain: { ...chain, place: `${chain.place}/${place}`, depth: chain.depth + 1 },
      keeper: this.#keeper(place, recorded),
    };
  }

  /** Stores the record of an inner call in the outer call's. */
  #keeper(place: string, recorded: Recorded | undefined): Keeper {
    const { keeper } = this.#outer.call;
    const { intents = [], entries = [] } = recorded ?? {};
    const within = (further?: string) => (further === undefined ? place : `${place}/${further}`);
    const passed = ({ at }: { at: number }) => void (this.#time = Math.max(this.#time, at));
    entries.forEach(passed);
    const demandRunning = () => {
      if (this.#isOver) throw runIsOver();
    };
    return {
      isVolatile: keeper?.isVolatile ?? keeper === undefined,
      async begin(head, further) {
        demandRunning();
        await keeper?.begin(head, within(further));
      },
      ...(keeper?.intend && {
        async intend(position, key, method, further) {
          demandRunning();
          const isRepeated = await keeper.intend!(position, key, method, within(further));
          return isRepeated || (method === "once" && intents.some((one) => one.key === key));
        },
      }),
      async keep(position, entry, notices, further) {
        demandRunning();
        passed(entry);
        await keeper?.keep(position, entry, notices, within(further));
      },
    };
  }

  #interrupted(nth: number, waiting: Waiting, { ref, servlet }: FoundEntry): void {
    const { reason, recorded, state } = waiting;
    const { rounds = 0 } = this.calls[nth]!;
    const { pinned } = ref.kind === "tool" ? ref : {};
    const pins = pinned && { pinned };
    if (recorded !== undefined || reason.kind !== "input") {
      this.calls[nth] = { ...(recorded && { recorded }), rounds, ...pins };
      return this.#waits(nth, reason, waiting);
    }
    const asks = toldBy(servlet!.name, reason.asks);
    const isSingleUse = waiting.isSingleUse && ({ isSingleUse: true } as const);
    const returned = { asks, ...(state !== undefined && { state }), ...isSingleUse };
    this.calls[nth] = { returned, rounds: rounds + 1, ...pins };
    this.#waits(nth, { ...reason, asks }, waiting);
  }

  #waits(nth: number, reason: WaitReason, { isSingleUse }: { isSingleUse?: boolean }): void {
    this.#reasons[nth] = reason;
    this.isSingleUse ||= isSingleUse === true;
  }

  /** The result, or an error result if all results together are too large for one record. */
  #within(result: CallToolResult): ToolAnswer {
    this.#bytes += bytesOf(result);
    if (this.#bytes <= limits.hostBytes) return { result };
    return {
      failed: "failed",
      message:
        "The results of the calls that were made together are too large. Make fewer at once.",
    };
  }
}

const bytesOf = (result: CallToolResult): number => stringBytes(JSON.stringify(result));

/** Codes of faults that end the outer call, since the inner call is not their cause. */
const ENDING: ReadonlySet<string> = new Set([
  "cancelled",
  "conflict",
  "internal",
  "storage_full",
  "too_many",
]);

/** The asks, with questions to the user prefixed by the servlet that asks. */
const toldBy = (servlet: string, asks: Asks): Asks =>
  mapValues(asks, (one) => {
    if (one.method !== "elicitation/create") return one;
    const message = `${servlet}: ${textIn(one.params["message"])}`;
    return { ...one, params: { ...one.params, message } };
  });

const askingFor =
  (servlet: string, ask: Asker): Asker =>
  (asks, signal) =>
    ask(toldBy(servlet, asks), signal);

/** The reason why calls that were made together wait; undefined if each has ended. */
function mergedReason(
  reasons: readonly (WaitReason | undefined)[],
  count: number,
): WaitReason | undefined {
  const all = reasons.filter((one) => one !== undefined);
  const first =
    all.find(({ kind }) => kind === "earlier") ?? all.find(({ kind }) => kind === "task");
  if (first !== undefined) return first;
  const asking = reasons.flatMap((one, nth) => (one?.kind === "input" ? [{ ...one, nth }] : []));
  if (asking.length > 0) {
    const renamed = <T>(nth: number, values: Readonly<Record<string, T>>) =>
      Object.entries(values).map(([key, one]) => [keyOfInner(key, nth, count), one] as const);
    return {
      kind: "input",
      asks: Object.fromEntries(asking.flatMap(({ nth, asks }) => renamed(nth, asks))),
      given: Object.fromEntries(asking.flatMap(({ nth, given }) => renamed(nth, given))),
    };
  }
  const until = (one: WaitReason) => ("until" in one ? one.until : Infinity);
  return all.toSorted((a, b) => until(a) - until(b))[0];
}
