/**
 * Calls that ask their client for input and resume with its next request: their record is sealed into the
 * `requestState` that the client returns.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { sha256 as digester } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Waiting } from "../../kernel/calls/engine.ts";
import { canonicalJson, hexDigest, sha256 } from "../../kernel/core/digest.ts";
import { Fault, type FaultCode } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import type { Answers, Asks } from "../../kernel/core/asks.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import {
  innerStateOf,
  withRecordedAnswer,
  type JournalEntry,
  type Recorded,
} from "../../kernel/core/record.ts";
import {
  dated,
  fittingAnswers,
  inputRequests,
  isComplete,
  isOverdue,
  unanswered,
} from "../../kernel/asks/answers.ts";
import { hashText } from "../../kernel/core/parts.ts";
import type { StoredResumption } from "./resumption.ts";
import type { StateVault } from "./state-vault.ts";
import type {
  WaitingRequest,
  Carried,
  Exchange,
  FoundRequest,
  RunInput,
} from "../../kernel/mcp/method.ts";
import { CHECK, stateRefused } from "../../kernel/mcp/modern/resume.ts";

/** The content of a sealed `requestState`. */
interface State {
  /** Digest of the method, the subject and the arguments. */
  call: string;
  principal: string;
  /** The profile at whose endpoint the call began; absent at `/mcp`. */
  profile?: string | undefined;
  /** The arguments that the profile gave the call when it began. */
  pinned?: Json;
  /** Unix time in ms. */
  until: number;
  asks: Asks;
  given: Answers;
  once: boolean;
  /** How often the client was asked. */
  rounds: number;
  recorded?: Recorded;
  /** The `requestState` of the servlet itself. */
  state?: string;
  /** See `CallContext`. */
  fuelUsed: number;
  /** The `traceparent` of the request that asked, if it was recorded. */
  trace?: string;
  /** 32 bytes in hex, if the servlet has returned: the randomness of the next call follows from it and the answers. */
  seed?: string;
}

/** Seals calls into states, and opens them. */
export const carriedBy = (vault: StateVault): Carried => ({
  resume: (request, exchange, run) => resume(request, { ...exchange, vault }, run),
  ask: (waiting, { request, call, ...of }, exchange) =>
    inputRequired(request, { ...exchange, vault }, { ...stateOf(waiting, call), ...of }),
});

/** The parts of an exchange that sealing needs, with the vault. */
type Sealing = Pick<Exchange, "principal" | "countStored"> & { vault: StateVault };

/**
 * Continues a call with `run`. A retry with the same state and answers repeats no side effect. Throws
 * `invalid_params` for a state or answers that do not fit the call.
 */
async function resume(
  request: Parameters<Carried["resume"]>[0],
  by: Sealing,
  run: (runInput: RunInput) => Promise<Json>,
): Promise<Json> {
  const { sealed, responses } = request;
  const { vault, principal, countStored } = by;
  const opened = await vault.open(sealed);
  if (opened === undefined) throw stateRefused("was altered or has expired", CHECK);
  const state = stateIn(opened);
  if (state.until < Date.now()) throw stateRefused("has expired", CHECK);
  if (state.principal !== principal.name) throw stateRefused("belongs to another caller");
  if (state.profile !== principal.profile) throw stateRefused("belongs to another endpoint");
  if (state.call !== (await digest(request))) throw stateRefused("belongs to another call");
  const { asks, given: before, recorded, once, rounds, state: own, seed, fuelUsed } = state;
  const link = state.trace;
  const open = unanswered(asks, before);
  const answers = { ...before, ...fittingAnswers(open, responses, Date.now(), before) };
  const next = recorded && withRecordedAnswer(recorded, JSON.stringify(answers), Date.now());
  const sent = Object.entries(responses).filter(([key]) => Object.hasOwn(open, key));
  const resumption = vault.resumption(sealed, {
    name: () => nameOf(recorded ?? sealed, { ...before, ...Object.fromEntries(sent) }),
    until: state.until,
    recorded: next,
    countStored,
  });
  const goOn = async (): Promise<Json> => {
    if (!isComplete(asks, answers)) {
      const { call: _, principal: _name, profile: _profile, until: _until, ...same } = state;
      return inputRequired(request, by, { ...same, given: answers });
    }
    // The first request may have been in time where its retry is late.
    const isLate = sent.some(([key]) => isOverdue(open[key]!, Date.now()));
    const earlier = isLate ? await resumption.earlier() : undefined;
    const record = earlier?.kind === "earlier" ? earlier.recorded : next;
    const input = {
      responses: answers,
      ...(own !== undefined && { state: own }),
      ...(seed !== undefined && { seed: await hexDigest(canonicalJson([seed, answers])) }),
    };
    const isTask = earlier?.kind === "task";
    const going = {
      rounds,
      resumption,
      isTask,
      fuelUsed,
      ...(link !== undefined && { link }),
      ...(principal.profile !== undefined && { pinned: state.pinned ?? {} }),
    };
    return run({ ...going, ...(record ? { recorded: record } : { input }) });
  };
  const going = async () => {
    try {
      return await goOn();
    } finally {
      await resumption.release();
    }
  };
  return once ? onlyOnce(resumption, going) : going();
}

/** The state from its opened values: the inverse of `inputRequired`. */
function stateIn([first, ...entries]: unknown[]): State {
  const state = first as State;
  const { recorded } = state;
  return recorded
    ? { ...state, recorded: { ...recorded, entries: entries as JournalEntry[] } }
    : state;
}

/** Gives all requests with the same answers to a single-use state the same outcome. */
async function onlyOnce(resumption: StoredResumption, goOn: () => Promise<Json>): Promise<Json> {
  const claimed = await resumption.claim();
  if (claimed === undefined)
    throw stateRefused("was used before, with other answers, or has expired", CHECK);
  const outcome = claimed.outcome ?? (await resumption.settle(await outcomeOf(goOn)));
  const { result, code, message, ...details } = outcome;
  if (isObject(result)) return result;
  throw new Fault(code as FaultCode, String(message), details);
}

/** The answer or the servlet's failure. Rethrows other failures, since a retry may succeed. */
async function outcomeOf(goOn: () => Promise<Json>): Promise<Json> {
  try {
    return { result: await goOn() };
  } catch (error) {
    const { code, message, data, ownCode } = Fault.from(error);
    if (code !== "servlet_error" && code !== "servlet_failed") throw error;
    return { code, message, data, ownCode };
  }
}

/** Digest of a waiting call (its record, or the sealed state if it has none) and of the answers to it. */
async function nameOf(waiting: Recorded | string, given: Answers): Promise<string> {
  if (typeof waiting === "string")
    return (await sha256(canonicalJson([waiting, given]))).toBase64();
  // Of `[seed, [[digest, answer], …], given]` as JSON: the entries may be large, and are hashed one by one.
  const hash = digester.create().update(utf8ToBytes(`[${JSON.stringify(waiting.head.seed)},[`));
  for (const [nth, { digest: asked, answer }] of waiting.entries.entries()) {
    if (nth > 0) hash.update(utf8ToBytes(","));
    hashText(hash, JSON.stringify([asked, answer]));
  }
  return hash
    .update(utf8ToBytes(`],${innerStateOf(waiting)}${canonicalJson(given)}]`))
    .digest()
    .toBase64();
}

/** The result that asks the client for input. */
async function inputRequired(
  request: FoundRequest,
  { vault, principal, countStored }: Sealing,
  state: Omit<State, "call" | "principal" | "profile" | "until">,
): Promise<Json> {
  if (state.rounds > limits.inputRounds) {
    throw new Fault(
      "servlet_failed",
      `The servlet asked for input too often in one call (limit ${limits.inputRounds}). Report this to its author.`,
    );
  }
  const until = Date.now() + limits.stateMs;
  const call = await digest(request);
  const asks = dated(state.asks, Date.now());
  const { recorded } = state;
  const { name, profile } = principal;
  const whole = { ...state, asks, call, principal: name, profile, until };
  // Entries may be large, so each is a value of its own.
  const values = [
    { ...whole, ...(recorded && { recorded: { ...recorded, entries: [] } }) },
    ...(recorded?.entries ?? []),
  ];
  const requestState = await vault.seal(values, { until, once: state.once, countStored });
  return {
    resultType: "input_required",
    ...(Object.keys(state.asks).length > 0 && {
      inputRequests: inputRequests(unanswered(state.asks, state.given)),
    }),
    requestState,
  };
}

/** The state of a call that waits for its client. */
function stateOf(
  { reason, recorded, state, isSingleUse, fuelUsed }: Waiting<"input">,
  { trace }: WaitingRequest["call"],
): Omit<State, "call" | "principal" | "profile" | "until" | "rounds"> {
  const { asks, given } = reason;
  const seed = crypto.getRandomValues(new Uint8Array(32)).toHex();
  const goesOn = recorded ? { recorded } : { seed };
  const own = state === undefined ? {} : { state };
  const place = trace?.isRecorded === true ? trace.traceparent : undefined;
  const traced = place === undefined ? {} : { trace: place };
  return { asks, given, once: isSingleUse, fuelUsed, ...goesOn, ...own, ...traced };
}

/** Digest of method and parameters; retries differ only in id and `_meta`, which it leaves out. */
const digest = async ({ row, params }: FoundRequest): Promise<string> =>
  (await sha256(canonicalJson(row.ref!(params)))).toBase64();
