/**
 * The headers in which a modern request repeats parts of its body, so that intermediaries can route it without
 * reading the body. They must be present and agree with it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */
import { Fault } from "../../core/errors.ts";
import { isObject, type Json, type Tool } from "../../core/model.ts";
import type { FoundRequest } from "../method.ts";
import { paramHeaders } from "../../servlets/param-headers.ts";

/** Throws `header_mismatch`. */
export function checkVersionHeader(given: string | undefined, version: string): void {
  agree("mcp-protocol-version", given, version);
}

/** Throws `header_mismatch`. */
export function checkHeaders(headers: Headers, { method, params, row }: FoundRequest): void {
  agree("mcp-method", headers.get("mcp-method"), method);
  const part = row.namedBy;
  const name = part === undefined ? undefined : params[part];
  if (typeof name !== "string") return;
  const given = headers.get("mcp-name");
  // FastMCP sends none with `tasks/*`. Its body names the task unambiguously.
  if (part === "taskId" && given === null) return;
  agree("mcp-name", given, name, decoded);
}

/**
 * Checks the `Mcp-Param-*` headers of a tool's call. A client that calls the tool by an alias, or through another tool,
 * may not know them, and sends none. Throws `header_mismatch`.
 */
export function checkParamHeaders(
  headers: Headers,
  tool: Tool,
  { name, arguments: args }: Json,
): void {
  for (const { header, path, type } of paramHeaders(tool)) {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
    const given = headers.get(header);
    if (value === undefined || value === null) {
      if (given !== null)
        throw mismatch(`${header} is present, but the body has no ${path.join(".")}`);
      continue;
    }
    if (given === null && name !== tool.name) continue;
    if (given === null) throw mismatch(`${header} is missing`);
    const text = decoded(given.trim(), header);
    const same =
      type === "integer"
        ? text.trim() !== "" && Number(text) === value
        : text === (typeof value === "string" ? value : JSON.stringify(value));
    if (!same) throw mismatch(`${header} is not what the body has as ${path.join(".")}`);
  }
}

function agree(
  header: string,
  given: string | null | undefined,
  expected: string,
  read: (value: string, header: string) => string = (value) => value,
): void {
  if (given === null || given === undefined) throw mismatch(`${header} is missing`);
  if (read(given.trim(), header) !== expected)
    throw mismatch(`${header} is not what the body says`);
}

/** A header's value, decoded if it is `=?base64?…?=`. */
function decoded(value: string, header: string): string {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) {
    // Characters other than visible ASCII, space and tab must be encoded.
    if (/[^\x20-\x7e\t]/.test(value))
      throw mismatch(`${header} has characters that must be encoded`);
    return value;
  }
  try {
    // `fromBase64` would skip white space.
    const base64 = value.slice(9, -2).replaceAll(/\s/g, "?");
    const bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw mismatch(`${header} is not valid base64 of UTF-8`);
  }
}

const mismatch = (fault: string) => new Fault("header_mismatch", `Header mismatch: ${fault}.`);
