import { limits } from "../limits.ts";
import { isObject, type Answer, type Answers, type Ask, type Asks, type Json } from "../model.ts";
import { wrongForm } from "../schema/forms.ts";
import { GuestError, type Guest, type LogLevel } from "./guest.ts";
import { release } from "../parts.ts";
import { responseIn, responseText } from "./http-answers.ts";
import { request, type GuestResponse } from "./http.ts";
import { plainAnswer } from "./plain-answers.ts";
import { accessToken } from "./token.ts";

/**
 * A function that a guest imports: it is given the guest, then what the guest passed (i64 as bigint).
 * An `async` one suspends the guest until it settles.
 */
export type HostFunction = (guest: Guest, ...args: never[]) => unknown;
export type HostFunctions = Readonly<Record<string, HostFunction>>;

const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error"];

const encoder = new TextEncoder();

function logAt(level: LogLevel): HostFunction {
  return (guest, message: bigint) => {
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(guest.setup.logLevel)) {
      guest.log(level, guest.excerpt([guest.bytes(message)], limits.logCharacters));
    }
  };
}

function setVar(guest: Guest, key: string, value: Uint8Array | undefined): void {
  const size = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? 0 : bytes.length + encoder.encode(key).length;
  const before = guest.vars.get(key);
  const total = guest.varBytes - size(before) + size(value);
  if (total > limits.varBytes) {
    throw new GuestError(
      `The servlet's Extism variables are too large (limit ${limits.varBytes} bytes). Delete some, or store less.`,
    );
  }
  const entries = Number(value !== undefined) - Number(before !== undefined);
  guest.budget.hold(total - guest.varBytes + entries * limits.entryBytes);
  guest.varBytes = total;
  if (value === undefined) guest.vars.delete(key);
  else guest.vars.set(key, value.slice());
}

function config(guest: Guest, key: bigint): string | undefined {
  const name = guest.name(key, "config_get");
  const given = guest.setup.credentials?.config(name);
  if (given !== undefined) return given;
  const answer = guest.answerNow({ what: `config ${name}`, details: name }, () => {
    const { config: all } = guest.setup;
    return JSON.stringify(Object.hasOwn(all, name) ? all[name] : null);
  });
  return (JSON.parse(answer) as string | null) ?? undefined;
}

/**
 * The half of `extism:host/env` that needs the host; the kernel in the guest answers the other half.
 * https://extism.org/docs/concepts/host-functions and the functions of the reference runtime
 */
export const extismFunctions: HostFunctions = {
  config_get: (guest, key: bigint) => guest.put(config(guest, key) ?? ""),
  var_get: (guest, key: bigint) => guest.put(guest.vars.get(guest.name(key, "var_get")) ?? ""),
  var_set: (guest, key: bigint, value: bigint) =>
    setVar(guest, guest.name(key, "var_set"), value === 0n ? undefined : guest.bytes(value)),
  http_request: async (guest, head: bigint, body: bigint) =>
    httpRequest(guest, "http_request", head, body),
  http_status_code: (guest) => guest.http.status,
  http_headers: (guest) => guest.put(JSON.stringify(guest.http.headers)),
  log_trace: logAt("trace"),
  log_debug: logAt("debug"),
  log_info: logAt("info"),
  log_warn: logAt("warn"),
  log_error: logAt("error"),
  get_log_level: (guest) => LEVELS.indexOf(guest.setup.logLevel),
};

const isAskMethod = (method: unknown): method is Ask["method"] =>
  method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";

/** Asks the client, for all at once. The keys are the servlet's own, or `ask_1`, `ask_2`, … */
async function askClient(guest: Guest, asks: Asks): Promise<Answers> {
  if (Object.keys(asks).length === 0) return {};
  const what = Object.values(asks)
    .map(({ method }) => method)
    .join(", ");
  const live = async () =>
    JSON.stringify(await guest.wait((signal) => guest.setup.ask(asks, signal)));
  const details = JSON.stringify(asks);
  guest.pay(details.length * limits.formFuel);
  const wrong = wrongForm(asks, (states) => guest.pay(states * limits.patternStateFuel));
  if (wrong !== undefined) throw new GuestError(`The servlet asked for input, but ${wrong}.`);
  const answer = await guest.answer({ what, details }, live);
  const answers = JSON.parse(answer) as Answers;
  for (const [key, { method }] of Object.entries(asks)) logAnswer(guest, method, answers[key]);
  return answers;
}

/** Logs a request that failed, or that the user declined or cancelled. */
function logAnswer(guest: Guest, method: Ask["method"], answer: Answer | undefined): void {
  if (answer === undefined) return;
  if ("failed" in answer) guest.log("warn", `${method}: ${answer.failed}: ${answer.message}`);
  else if (answer.result["action"] === "decline") guest.log("info", `${method}: decline`);
  else if (answer.result["action"] === "cancel") guest.log("info", `${method}: cancel`);
}

/** `askClient` for guests that know results only. Throws `missing_capability` (see `plainAnswer`). */
async function plainAnswers(guest: Guest, asks: Asks): Promise<Record<string, Json>> {
  const answers = Object.entries(await askClient(guest, asks));
  return Object.fromEntries(answers.map(([key, answer]) => [key, plainAnswer(answer)]));
}

/** The key of a request for which the guest gave none. */
const nextKey = ({ journal }: Guest): string => `ask_${journal.position + 1}`;

async function askOne(guest: Guest, ask: Ask): Promise<Json> {
  const key = nextKey(guest);
  return (await plainAnswers(guest, { [key]: ask }))[key] ?? {};
}

/** Reads a request: `{method, params}`. */
function askIn(given: unknown, who: string): Ask {
  const { method, params } = isObject(given) ? given : {};
  if (isAskMethod(method)) return askOf(method, isObject(params) ? params : {});
  const known = "elicitation/create, sampling/createMessage or roots/list";
  throw new GuestError(`${who}: a request's method must be ${known}.`);
}

/** Reads several requests under the guest's own keys. */
const asksIn = (given: Json, who: string): Asks =>
  Object.fromEntries(Object.entries(given).map(([key, one]) => [key, askIn(one, who)]));

const asks =
  (method: Ask["method"], who: string): HostFunction =>
  async (guest, params: bigint) => {
    const ask = askOf(method, guest.json(params, who));
    return guest.put(JSON.stringify(await askOne(guest, ask)));
  };

/** The request in its wire shape. An elicitation's `timeout` is in ms. */
function askOf(method: Ask["method"], given: Json): Ask {
  if (method !== "elicitation/create") return { method, params: given };
  const { timeout, ...rest } = given;
  const params = { mode: "form", ...(withDashes(rest) as Json) };
  if (typeof timeout !== "number" || !(timeout > 0)) return { method, params };
  // JSON has no infinity, which 1e999 is.
  return { method, params, timeoutMs: Math.min(timeout, limits.taskMs) };
}

/** Servlets of hyper-mcp's interface write `"format": "date_time"`, at any depth. */
function withDashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDashes);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "format" && one === "date_time" ? "date-time" : withDashes(one),
    ]),
  );
}

/** The request of a guest that these blocks hold, for the host function `who`; a block of the response's body. */
async function httpRequest(guest: Guest, who: string, head: bigint, body: bigint) {
  const json = guest.json(head, who);
  const bytes = guest.bytesWithin(limits.httpBytes, body, "The body of the servlet's HTTP request");
  const { body: answer, ...rest } = await recordedRequest(guest, json, bytes);
  guest.http = rest;
  const block = guest.put(answer);
  release(answer);
  return block;
}

/**
 * A guest's HTTP request and what came of it, failures too. Throws the recorded failure as a `GuestError`.
 * The body may be a view of the guest's memory, which nobody writes while the guest waits.
 */
async function recordedRequest(guest: Guest, head: Json, body: Uint8Array): Promise<GuestResponse> {
  if (guest.budget.count("httpRequests") === undefined) {
    throw new GuestError(
      `The servlet made too many HTTP requests in one call (limit ${limits.httpRequests}). Split the work into several calls.`,
    );
  }
  const line = `http ${requestLine(head)}`;
  const what = guest.setup.credentials?.hide(line) ?? line;
  const question = { what, details: { head: JSON.stringify(head), body } };
  let got: GuestResponse | undefined;
  const live = async () => {
    try {
      got = await request(guest, head, body);
      return responseText(got);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      return JSON.stringify({ error: error.message });
    }
  };
  const recorded = await guest.answer(question, live);
  if (got !== undefined) return got;
  return responseIn(recorded);
}

/** Method and host: a path or a query may hold a secret. */
function requestLine({ url, method }: Json): string {
  const host = typeof url === "string" && URL.canParse(url) ? new URL(url).host : "";
  return `${typeof method === "string" ? method.toUpperCase() : "GET"} ${host}`;
}

const notifies =
  (method: string, who: string): HostFunction =>
  (guest, params: bigint) => {
    const notification = { method, params: guest.json(params, who) };
    guest.notify(notification, guest.bytes(params).length + limits.entryBytes);
  };

const changes =
  (method: string): HostFunction =>
  (guest) =>
    guest.notify({ method }, 0);

/** The token that the call has brought for the `id` or the `client_id` that a guest asks with. */
function callersToken({ setup }: Guest, { id, client_id, scopes = null }: Json): Json | undefined {
  const name = id ?? client_id;
  const token = typeof name === "string" ? setup.credentials?.token(name) : undefined;
  return token === undefined ? undefined : { access_token: token, expires_at: null, scopes };
}

/** What servlets import from `extism:host/user`: each takes and gives a block of JSON. */
export const userFunctions: HostFunctions = {
  create_elicitation: asks("elicitation/create", "create_elicitation"),
  create_message: asks("sampling/createMessage", "create_message"),
  list_roots: async (guest) =>
    guest.put(JSON.stringify(await askOne(guest, { method: "roots/list", params: {} }))),
  /** Several asks at once, under the guest's own keys: `{key: {method, params}}` → `{key: result}`. */
  request_input: async (guest, block: bigint) => {
    const asked = asksIn(guest.json(block, "request_input"), "request_input");
    return guest.put(JSON.stringify(await plainAnswers(guest, asked)));
  },
  /**
   * For guests that tell failures from results. One request: `{method, params}` → `{result}`, or
   * `{failed, method, message, requiredCapabilities?}` (see `AskFailure`). Or several: `{key: request}` →
   * `{key: answer}`; where one cannot be asked, others may have no answer.
   */
  ask_client: async (guest, block: bigint) => {
    const given = guest.json(block, "ask_client");
    const isOne = typeof given["method"] === "string";
    const key = nextKey(guest);
    const asked = asksIn(isOne ? { [key]: given } : given, "ask_client");
    const answers = await askClient(guest, asked);
    return guest.put(JSON.stringify(isOne ? answers[key] : answers));
  },
  notify_logging_message: notifies("notifications/message", "notify_logging_message"),
  notify_progress: notifies("notifications/progress", "notify_progress"),
  notify_resource_updated: notifies("notifications/resources/updated", "notify_resource_updated"),
  notify_url_elicitation_completed: notifies(
    "notifications/elicitation/complete",
    "notify_url_elicitation_completed",
  ),
  notify_tool_list_changed: changes("notifications/tools/list_changed"),
  notify_prompt_list_changed: changes("notifications/prompts/list_changed"),
  notify_resource_list_changed: changes("notifications/resources/list_changed"),
  /**
   * Extism's `http_request` for guests that go on when it fails: the status is 0 then, and the headers
   * are `{"error": why}`.
   */
  http_fetch: async (guest, head: bigint, body: bigint) => {
    try {
      return await httpRequest(guest, "http_fetch", head, body);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      guest.http = { status: 0, headers: { error: error.message } };
      return 0n;
    }
  },
  /** `null` is "no token". */
  get_access_token: async (guest, block: bigint) => {
    const asked = guest.json(block, "get_access_token");
    const brought = callersToken(guest, asked);
    if (brought !== undefined) return guest.put(JSON.stringify(brought));
    const token = await accessToken(asked, {
      request: (head, body) => recordedRequest(guest, head, body),
      elicit: (params) => askOne(guest, askOf("elicitation/create", params)),
      sleep: (ms) => guest.sleep(ms),
      now: () => guest.journal.now,
    });
    return guest.put(JSON.stringify(token));
  },
  get_keyring_secret: (guest, key: bigint) => {
    const { service, user } = guest.json(key, "get_keyring_secret");
    if (typeof service !== "string" || typeof user !== "string") return 0n;
    const secret = guest.setup.credentials?.secret(service, user);
    if (secret !== undefined) return guest.put(secret);
    const question = { what: `secret ${service}`, details: JSON.stringify([service, user]) };
    return guest.put(guest.answerNow(question, () => guest.setup.secret(service, user) ?? ""));
  },
  /** Servlets of before December 2024 ask here for config, and get it as JSON. */
  config_get: (guest, key: bigint) => {
    const value = config(guest, key);
    return value === undefined ? 0n : guest.put(JSON.stringify(value));
  },
};

/** What AssemblyScript calls before it traps: message and file are its strings, UTF-16 behind a length. */
export const assemblyScriptFunctions: HostFunctions = {
  abort: (guest, message: number, file: number, line: number, column: number) => {
    const read = (at: number): string => {
      if (at === 0) return "";
      const length = guest.memory.getUint32(at - 4, true);
      const most = 2 * limits.logCharacters;
      if (length > most && guest.setup.credentials !== undefined) return "a long message";
      return new TextDecoder("utf-16le").decode(guest.range(at, Math.min(length, most)));
    };
    guest.log("error", `abort: ${read(message)} (${read(file)}:${line}:${column})`);
    throw new WebAssembly.RuntimeError("unreachable");
  },
};
