/** The host functions of Extism: `extism:host/env`, without the memory. */
import { limits } from "../core/limits.ts";
import { GuestError, type Guest, type LogLevel } from "./guest.ts";
import type { HostFunction, HostFunctions } from "./host-function.ts";
import { httpRequest } from "./http-request.ts";

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

/** The value of a config key: the caller's, else the manifest's. */
export function config(guest: Guest, key: bigint): string | undefined {
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
  http_headers: (guest) => guest.put(guest.http.headers),
  log_trace: logAt("trace"),
  log_debug: logAt("debug"),
  log_info: logAt("info"),
  log_warn: logAt("warn"),
  log_error: logAt("error"),
  get_log_level: (guest) => LEVELS.indexOf(guest.setup.logLevel),
};
