import { isObject } from "../server/kernel/core/model.ts";
import { showsViews } from "../server/kernel/core/views.ts";
import { ask, type AskAnswer, AskError, requestOne, resultsOf } from "./asks.ts";
import { fetch } from "./globals/fetch.ts";
import { makeCall, tools, type ToolCallResult } from "./calls.ts";
import { hostFor, running, tell } from "./host.ts";
import type { InputOf, OutputOf } from "./infer.ts";
import { jsonOrText } from "./json.ts";
import * as members from "./members.ts";
import { objectSchemaOf, parsed, ToolError } from "./schema.ts";
import { addTimer } from "./timers.ts";
import type {
  Client,
  InputRequest,
  LoggingLevel,
  Root,
  SampleParams,
  SampleResult,
} from "./types.ts";

/** Set by the compiler (esbuild's `define`): false if no file of the servlet mentions `fetch`. */
declare const SERVLET_FETCH: boolean | undefined;

type Json = Record<string, unknown>;

/**
 * The user's response to a form or page; it has `content` only with `accept`.
 *
 * @example
 * const schema = { type: "object", properties: { name: { type: "string" } } } as const;
 * const answer: ElicitResult<{ name?: string }> = await context.elicit({ message: "Who?", schema });
 * return answer.action === "accept" ? `Hello ${answer.content.name}` : "Never mind";
 */
export type ElicitResult<Content = Record<string, unknown>> =
  | { action: "accept"; content: Content }
  | { action: "decline"; content?: undefined }
  | { action: "cancel"; content?: undefined };

/** A value that a form can ask for. */
type Field = string | number | boolean | readonly string[];

/** The names of the members that a form cannot ask for. */
type Nested<T> = T extends object
  ? {
      [K in keyof T]-?: unknown extends T[K] ? never : NonNullable<T[K]> extends Field ? never : K;
    }[keyof T]
  : never;

/** The schema itself if it describes a flat object; otherwise a type that no schema matches and whose key says why. */
type Form<S> = [Nested<InputOf<S>>] extends [never]
  ? S
  : { "a form asks for texts, numbers, booleans and choices, not for": Nested<InputOf<S>> };

type Members = typeof members;

/** An AbortSignal that never aborts: if the client disconnects, the host ends the call. */
interface NeverAborts {
  readonly aborted: false;
  readonly reason: undefined;
  throwIfAborted(): void;
  addEventListener(type: string, listener: unknown, options?: unknown): void;
  removeEventListener(type: string, listener: unknown, options?: unknown): void;
}

/**
 * The functions of the host for a handler. Requests to the client wait for its answer, for up to a day, and throw an
 * `AskError` if there is no usable answer.
 *
 * @example
 * async function greeting({ client, progress, sleep }: Context) {
 *   progress(1, 2, "thinking");
 *   await sleep(10); // ms
 *   return `Hello ${client.principal ?? "stranger"}`;
 * }
 * return greeting(context);
 */
export interface Context extends Members {
  /** The request's id. */
  readonly id: string | number;
  /** The request's `_meta`. */
  readonly meta: Record<string, unknown>;
  readonly client: Client;
  readonly signal: NeverAborts;
  /**
   * The answers to an `input_required` result that this handler returned before. Throws an `AskError` if one of its requests
   * failed.
   */
  readonly inputResponses: Record<string, unknown> | undefined;
  /** The `requestState` of an `input_required` result that this handler returned before. */
  readonly requestState: string | undefined;
  /**
   * Asks the user to fill in a form: a flat object of strings, numbers, booleans and choices. After `timeout`, in ms, the form
   * counts as cancelled. `view` names a view of the servlet that replaces the form if the client supports views.
   */
  elicit<const S>(params: {
    message: string;
    schema: S & Form<S>;
    view?: string;
    timeout?: number;
  }): Promise<ElicitResult<OutputOf<S>>>;
  /** Asks the user to open an https page, for data that must not pass through the client. */
  elicitUrl(params: {
    message: string;
    url: string | { toString(): string };
    elicitationId?: string;
    timeout?: number;
  }): Promise<ElicitResult>;
  /**
   * A secret of the caller, such as a password. The user enters it on a page of the server, the first time or, with `replace`,
   * each time; it is stored for this servlet and this caller. Undefined if the user does not give one.
   */
  askSecret(params: {
    name: string;
    message?: string;
    replace?: boolean;
    timeout?: number;
  }): Promise<string | undefined>;
  /** Asks the client's model. */
  sample(params: SampleParams): Promise<SampleResult>;
  /** The folders and files that the user lets the server work on. */
  roots(): Promise<Root[]>;
  /**
   * Makes several requests to the client at once; the answers have the same keys. If a request fails, the `AskError` has the
   * other answers.
   */
  requestInput<K extends string>(
    requests: Record<K, InputRequest>,
  ): Promise<Record<K, Record<string, unknown>>>;
  /**
   * Calls a tool of another servlet, by its name in the server's list, with the rights of the caller; `may_call` in
   * servlet.json must allow it. Concurrent calls are sent together. Throws a `ToolCallError` if the call is not made or its
   * result is not valid; a tool that reports an error gives a result with `isError`.
   */
  callTool<T = Record<string, unknown>>(name: string, args?: object): Promise<ToolCallResult<T>>;
  /** `callTool` as a function for each tool; cast it to `CallableTools` for the types of a servlet of the project. */
  readonly tools: typeof tools;
  /** Reports the call's progress to the client, if it has asked for progress. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message to the client. Use `console` for the server's log. */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
  /** `fetch`, for the hosts that the manifest allows. */
  readonly fetch: typeof fetch;
  /** A value of the manifest's `env_vars`, or a credential of the call for its `requirements`. */
  config(key: string): string | undefined;
  /**
   * A secret that the manifest allows, or a secret of the call; without `user` also the secret that `askSecret` has stored under
   * this name. Undefined if there is none.
   */
  secret(service: string, user?: string): string | undefined;
  /** Waits; the servlet uses no memory during a long sleep. */
  sleep(ms: number): Promise<void>;
  /** Discards the call's changes to the servlet's memory and files. */
  discardChanges(): void;
  /** Discards the servlet's memory: the next call starts with new memory. Files are kept. */
  resetState(): void;
}

const nothing = (): void => {};

const NEVER: NeverAborts = {
  aborted: false,
  reason: undefined,
  throwIfAborted: nothing,
  addEventListener: nothing,
  removeEventListener: nothing,
};

/** The context of the running call: an instance runs one call at a time. Methods do not use `this`. */
export const context: Context = {
  ...members,

  get id() {
    return given("context")["id"] as string | number;
  },
  get meta() {
    return member(given("context"), "_meta");
  },
  get client() {
    const client = member(given("context"), "client");
    const capabilities = member(client, "capabilities");
    return { ...client, capabilities, views: showsViews(capabilities) };
  },
  get signal() {
    return NEVER;
  },
  get inputResponses() {
    const { inputResponses, inputAnswers } = given("request");
    if (isObject(inputAnswers)) return resultsOf(inputAnswers as Record<string, AskAnswer>);
    return isObject(inputResponses) ? inputResponses : undefined;
  },
  get requestState() {
    return given("request")["requestState"] as string | undefined;
  },

  async elicit({
    schema,
    view,
    ...rest
  }: {
    message: string;
    schema: unknown;
    view?: string;
    timeout?: number;
  }): Promise<ElicitResult<never>> {
    const requestedSchema = objectSchemaOf(schema, "input", "The schema of a form");
    const method = "elicitation/create";
    const shown = view !== undefined && { _meta: { ui: { resourceUri: view } } };
    const answer = requestOne(method, { mode: "form", ...rest, requestedSchema, ...shown });
    if (answer["action"] !== "accept") return declined(answer);
    try {
      const what = "The user's answer does not fit";
      const content = await parsed(schema, answer["content"] ?? {}, what);
      return { action: "accept", content: content as never };
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      throw new AskError({ failed: "unusable-answer", method, message: error.message });
    }
  },
  async elicitUrl(params) {
    const url = String(params.url);
    const answer = requestOne("elicitation/create", { mode: "url", ...params, url });
    return answer["action"] === "accept"
      ? { action: "accept", content: member(answer, "content") }
      : declined(answer);
  },
  async askSecret(params) {
    const answer = requestOne("elicitation/create", { mode: "secret", ...params });
    return answer["action"] === "accept" ? String(member(answer, "content")["secret"]) : undefined;
  },
  async sample(params) {
    return requestOne("sampling/createMessage", params) as unknown as SampleResult;
  },
  async roots() {
    const { roots } = requestOne("roots/list", {});
    return Array.isArray(roots) ? roots : [];
  },
  async requestInput<K extends string>(requests: Record<K, InputRequest>) {
    return resultsOf(ask("requestInput()", requests) as Record<string, AskAnswer>);
  },

  callTool: makeCall,
  tools,

  progress(progress, total, message) {
    const { progressToken } = context.meta;
    if (progressToken === undefined) return;
    tell("notify_progress", { progressToken, progress, total, message });
  },
  log(level, data, logger) {
    tell("notify_logging_message", { level, data: jsonOrText(data), logger });
  },
  get fetch() {
    if (typeof SERVLET_FETCH === "undefined" || SERVLET_FETCH) return fetch;
    throw new Error("This servlet was built without fetch.");
  },
  config(key) {
    return hostFor("config()").config(key);
  },
  secret(service, user) {
    return tell("get_keyring_secret", { service, user }) || undefined;
  },
  sleep(ms) {
    return new Promise((resolve) => void addTimer(resolve, ms, false));
  },

  discardChanges: () => void tell("discard_changes"),
  resetState: () => void tell("reset_state"),
};

const given = (key: string): Json => member(running.input, key);

function member(value: Json, key: string): Json {
  const found = value[key];
  return isObject(found) ? found : {};
}

const declined = ({ action }: Json): { action: "decline" } | { action: "cancel" } =>
  action === "decline" ? { action } : { action: "cancel" };
