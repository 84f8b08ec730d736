import { limits } from "../limits.ts";
import { isObject, type Ask, type Json } from "../model.ts";
import { GuestError, type Guest, type LogLevel } from "./guest.ts";
import { request } from "./http.ts";

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
      guest.log(level, guest.text(message));
    }
  };
}

function setVar(guest: Guest, key: string, value: Uint8Array | undefined): void {
  const size = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? 0 : bytes.length + encoder.encode(key).length;
  const total = guest.varBytes - size(guest.vars.get(key)) + size(value);
  if (total > limits.varBytes) {
    throw new GuestError(`The servlet's variables take more than ${limits.varBytes} bytes.`);
  }
  guest.varBytes = total;
  if (value === undefined) guest.vars.delete(key);
  else guest.vars.set(key, value);
}

const config = (guest: Guest, key: bigint): string | undefined => {
  const name = guest.text(key);
  return Object.hasOwn(guest.setup.config, name) ? guest.setup.config[name] : undefined;
};

/**
 * The half of `extism:host/env` that needs the host; the kernel in the guest answers the other half.
 * https://extism.org/docs/concepts/host-functions and the functions of the reference runtime
 */
export const extismFunctions: HostFunctions = {
  config_get: (guest, key: bigint) => guest.put(config(guest, key) ?? ""),
  var_get: (guest, key: bigint) => guest.put(guest.vars.get(guest.text(key)) ?? ""),
  var_set: (guest, key: bigint, value: bigint) =>
    setVar(guest, guest.text(key), value === 0n ? undefined : guest.bytes(value).slice()),
  http_request: async (guest, head: bigint, body: bigint) => {
    guest.http = await request(guest, guest.json(head, "http_request"), guest.bytes(body));
    return guest.put(guest.http.body);
  },
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

const asks =
  (method: Ask["method"], who: string): HostFunction =>
  async (guest, params: bigint) => {
    const ask = { method, params: guest.json(params, who) };
    return guest.put(JSON.stringify(await guest.wait((signal) => guest.setup.ask(ask, signal))));
  };

const notifies =
  (method: string, who: string): HostFunction =>
  (guest, params: bigint) =>
    guest.notify({ method, params: guest.json(params, who) });

const changes =
  (method: string): HostFunction =>
  (guest) =>
    guest.notify({ method });

/** What servlets import from `extism:host/user`: each takes and gives a block of JSON. */
export const userFunctions: HostFunctions = {
  create_elicitation: asks("elicitation/create", "create_elicitation"),
  create_message: asks("sampling/createMessage", "create_message"),
  list_roots: async (guest) => {
    const ask: Ask = { method: "roots/list", params: {} };
    return guest.put(JSON.stringify(await guest.wait((signal) => guest.setup.ask(ask, signal))));
  },
  /** Several asks at once, under the guest's own keys: `{key: {method, params}}` → `{key: result}`. */
  request_input: async (guest, asked: bigint) => {
    const answers = Object.entries(guest.json(asked, "request_input")).map(
      async ([key, one]): Promise<[string, Json]> => {
        const { method, params } = isObject(one) ? one : {};
        if (!isAskMethod(method)) throw new GuestError(`request_input cannot ask for ${key}.`);
        const ask: Ask = { method, params: isObject(params) ? params : {} };
        return [key, await guest.wait((signal) => guest.setup.ask(ask, signal))];
      },
    );
    return guest.put(JSON.stringify(Object.fromEntries(await Promise.all(answers))));
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
      guest.http = await request(guest, guest.json(head, "http_fetch"), guest.bytes(body));
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      guest.http = { status: 0, headers: { error: error.message }, body: new Uint8Array() };
    }
    return guest.put(guest.http.body);
  },
  /** `null` is "no token". */
  get_access_token: (guest) => guest.put("null"),
  get_keyring_secret: (guest, key: bigint) => {
    const { service, user } = guest.json(key, "get_keyring_secret");
    return guest.put(guest.setup.secret(String(service), String(user)) ?? "");
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
      return new TextDecoder("utf-16le").decode(guest.range(at, length));
    };
    guest.log("error", `abort: ${read(message)} (${read(file)}:${line}:${column})`);
    throw new WebAssembly.RuntimeError("unreachable");
  },
};
