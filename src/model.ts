/** The neutral shapes that rooms hand each other. They follow the newest MCP; eras and dialects translate. */
import type {
  CallToolResultSchema,
  CompleteResultSchema,
  ContentBlockSchema,
  GetPromptResultSchema,
  LoggingLevelSchema,
  PromptSchema,
  ReadResourceResultSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from "@modelcontextprotocol/core";
import type { z } from "zod";

export type Json = Record<string, unknown>;

export type Tool = z.infer<typeof ToolSchema>;
export type Resource = z.infer<typeof ResourceSchema>;
export type ResourceTemplate = z.infer<typeof ResourceTemplateSchema>;
export type Prompt = z.infer<typeof PromptSchema>;
export type ContentBlock = z.infer<typeof ContentBlockSchema>;
export type CallToolResult = z.infer<typeof CallToolResultSchema>;
export type ReadResourceResult = z.infer<typeof ReadResourceResultSchema>;
export type GetPromptResult = z.infer<typeof GetPromptResultSchema>;
export type CompleteResult = z.infer<typeof CompleteResultSchema>;
export type LoggingLevel = z.infer<typeof LoggingLevelSchema>;

/** The lists of one servlet, or of all. */
export interface Lists {
  tools: Tool[];
  resources: Resource[];
  resourceTemplates: ResourceTemplate[];
  prompts: Prompt[];
}

/** Who is calling: `anonymous`, or the name of what they proved to hold. */
export interface Principal {
  readonly name: string;
  /** Granted scopes; absent for full access. */
  readonly scopes?: readonly string[];
  /** The network of an anonymous caller, where it is known. */
  readonly address?: string;
}

/** The principal of unauthenticated callers. */
export const ANONYMOUS: Principal = { name: "anonymous" };

/**
 * The caller key: what allowances and namespaces are counted by. Anonymous callers are told apart by their
 * address; undefined for those that have none, who are not counted.
 */
export function callerKey({ name, address }: Principal): string | undefined {
  if (name !== ANONYMOUS.name) return name;
  return address === undefined ? undefined : `address ${address}`;
}

/** Quota checks of one caller. Both throw `too_many`. */
export interface CallerQuota {
  /** Counts a call, or a call of the named tool; absent if calls are not limited. */
  admit?: ((tool?: string) => Promise<void>) | undefined;
  /** Counts an object that outlives the request, and its bytes: a session, a task, a state, a recorded call. */
  keep(bytes?: number): Promise<void>;
}

/** An MCP notification that a servlet sends during a call. */
export interface Notification {
  method: string;
  params?: Json;
}

/** An MCP request that a servlet makes to the client during a call. */
export interface Ask {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params: Json;
  /** How long the user has to answer, from when the client can see it. */
  timeoutMs?: number;
  /** Unix time in ms after which the user has cancelled; absent until the client can see the ask. */
  deadline?: number;
}

export const isAskMethod = (method: unknown): method is Ask["method"] =>
  method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";

/** A client's answer, or why there is none that a servlet can use. */
export type Answer = { result: Json } | AskFailure;

/** A request that got no usable answer. It is never a decision of the user: `decline` and `cancel` are results. */
export interface AskFailure {
  failed: "cannot-ask" | "client-error" | "unusable-answer";
  method: Ask["method"];
  /** For the servlet and its caller. */
  message: string;
  /**
   * The capabilities that the client lacks. Present where the call of a servlet that does not handle
   * the failure ends with `missing_capability`.
   */
  requiredCapabilities?: Json;
}

/** Requests made together, and their answers, under the same keys. */
export type Asks = Readonly<Record<string, Ask>>;
export type Answers = Readonly<Record<string, Answer>>;

/**
 * Answers what a guest asks of the client. Rejects with a `Fault` that ends the call, with a `Wait`
 * that interrupts it, and soon after `signal` aborts.
 */
export type Asker = (asks: Asks, signal: AbortSignal) => Promise<Answers>;

/** Thrown to a guest whose call cannot go on here and now: it is unwound, and run again later. */
export class Wait {
  readonly reason: WaitReason;
  constructor(reason: WaitReason) {
    this.reason = reason;
  }
}

export type WaitReason =
  /** For answers of the client; `given` are those that it has sent already. */
  | { kind: "input"; asks: Asks; given: Answers }
  /** Until a Unix time in ms. */
  | { kind: "sleep"; until: number }
  /** Until a Unix time in ms, for room in an isolate: the question that the run ended at is asked again. */
  | { kind: "retry"; until: number }
  /** For nothing: the call goes on at once, as a task. */
  | { kind: "task" }
  /** For nothing: an earlier run of the same request has sent something, so the call goes on from its record. */
  | { kind: "earlier"; recorded: Recorded };

/** Goes up when what a guest asks, or how it is recorded, changes for the same servlet. */
export const JOURNAL_VERSION = 2;

/** A call as it was begun; every run of it is given the same. */
export interface Head {
  /** Of this format: `JOURNAL_VERSION` of the server that began it. */
  version: number;
  /** SHA-256 of the servlet, in hex: another build may ask for other things. */
  hash: string;
  /** The guest's input, to the byte: a later request of the same call has another id and `_meta`. */
  input: string;
  /** 32 bytes in hex; all random numbers of the guest follow from it and the entries. */
  seed: string;
  /** Unix time in ms. */
  time: number;
}

/** One answer that a guest was given. */
export interface Entry {
  /** Readable label of the question: `http GET api.example.com`. */
  what: string;
  /** SHA-256 of the whole question, in hex. */
  digest: string;
  answer: string;
  /** Unix time in ms when the answer came. */
  at: number;
}

/** All that is needed to run a call again up to where it was, without doing anything twice. */
export interface Recorded {
  head: Head;
  entries: readonly Entry[];
  /** How many notifications have been sent. */
  notices: number;
  /** The question that the run ended at, without an answer. */
  pending?: Pick<Entry, "what" | "digest">;
  /** HTTP requests without an answer that may have been sent, and must not be sent twice. */
  intents?: readonly Announced[];
}

/** An HTTP request that its call has announced: at this place among the entries, under this key. */
export interface Announced {
  position: number;
  key: string;
}

/** The call with the answer to what it waits for. */
export function answered(recorded: Recorded, answer: string, at: number): Recorded {
  const { pending, entries, ...rest } = recorded;
  if (pending === undefined) return recorded;
  const newest = entries.at(-1)?.at ?? rest.head.time;
  return { ...rest, entries: [...entries, { ...pending, answer, at: Math.max(at, newest) }] };
}

/** A call that has been interrupted: its guest is gone, and it can be run again. */
export class Suspended {
  readonly reason: WaitReason;
  /** The `requestState` of a servlet that *returned* a request for input and will be called again. */
  readonly state: string | undefined;
  /** Absent where the servlet has returned. */
  readonly recorded: Recorded | undefined;
  /** Fuel that the runs of the call have used so far. */
  readonly fuelUsed: number;
  /** True if the call may be resumed only once (`single_use_state`). */
  isSingleUse = false;

  constructor(reason: WaitReason, fuelUsed: number, recorded?: Recorded, state?: string) {
    this.reason = reason;
    this.recorded = recorded;
    this.state = state;
    this.fuelUsed = fuelUsed;
  }
}

/** The result of a call, or its suspension. */
export type Outcome<T> = T | Suspended;

/**
 * Credentials of the caller for one call. Only its guest sees them; they never reach a log, error, journal or
 * table.
 */
export interface CallCredentials {
  /** By id. */
  secrets: ReadonlyMap<string, string>;
  /** Access tokens by the id of what they are for. */
  tokens: ReadonlyMap<string, string>;
  userId?: string;
}

/**
 * A tool as Open Tool Calling describes it.
 * https://github.com/OpenToolCalling/Specification/blob/main/spec/http/1.0/openapi.json
 */
export interface ToolDefinition {
  /** `Toolkit.Tool@x.y.z` */
  id: string;
  name: string;
  description: string;
  version: string;
  input_schema: { parameters: Json };
  output_schema: Json | null;
  requirements?: Requirements;
}

/** Requirements of a tool besides its input. */
export interface Requirements {
  authorization?: { id: string; oauth2?: { scopes?: string[] } }[];
  secrets?: { id: string }[];
  user_id?: boolean;
}

/** The client as it describes itself. */
export interface Client {
  /** The revision of MCP that the client speaks; absent where nobody asked. */
  protocolVersion?: string;
  capabilities: Json;
  name?: string;
  version?: string;
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
export interface Trace {
  traceparent: string;
  tracestate?: string;
}

/** Context of a call, from the request that made it. */
export interface CallContext {
  /** The request's id, as the client gave it. */
  id: string | number;
  /** The request's `_meta`, as the client gave it. */
  meta: Json;
  principal: Principal;
  client: Client;
  /** The name or URI of what is called, for the log. */
  subject?: string;
  /** W3C trace context of the request, which goes on with the servlet's own: https://www.w3.org/TR/trace-context */
  trace?: Trace | undefined;
  /** Aborts when nobody waits for the result any more. */
  signal(): AbortSignal;
  /**
   * What the client has sent to what it was asked, or, where that is `unasked`, will be. With the seed of what
   * is random in it (32 bytes in hex), the same call is the same in each retry.
   */
  input?: { responses: Answers; state?: string; unasked?: true; seed?: string };
  /** An earlier run of this call, which this one goes on from. */
  recorded?: Recorded;
  /** Fuel that earlier runs of this call have used. */
  fuelUsed?: number;
  /** Credentials that the caller provided for this call. */
  credentials?: CallCredentials;
  /** Stores the journal; absent if it stays in memory. */
  keeper?: Keeper;
  /**
   * Called before a guest asks for anything that may take long (`ms` where that is known). Throws a
   * `Wait` where the call should not go on here, a `Fault` where it should not go on at all.
   */
  gate?(ms: number): void;
  /** Called before an HTTP request is sent that must not be sent twice. */
  sending?(): void;
  /** Delivers a notification of the servlet. Never throws. */
  notify(notification: Notification): void;
  ask: Asker;
}

/** An HTTP request that is about to be sent. */
export interface Intent {
  /** The value of its `Idempotency-Key`. */
  key: string;
  /** Has an earlier run stopped while it sent this request, which must not be sent twice? */
  isRepeated: boolean;
}

/** Stores a call's journal entries before the servlet sees them. */
export interface Keeper {
  /** Called before anything else, where the call is new. */
  begin(head: Head): Promise<void>;
  /**
   * Called before an HTTP request is sent; `key` identifies it. Resolves to whether an earlier run may
   * have sent it; always false for one that is repeatable. Absent where no request is ever repeated.
   */
  intend?(position: number, key: string, isRepeatable: boolean): Promise<boolean>;
  /** `notices` is how many notifications were sent before. */
  keep(position: number, entry: Entry, notices: number): Promise<void>;
}

/** Is this a JSON object (no array, not null)? */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
