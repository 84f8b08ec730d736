import { gzipSync } from "node:zlib";
import type { Chance } from "./chance.ts";
import { LEGACY, MODERN, type Draft, type Json, type Sent } from "./draft.ts";
import { METHODS, oddValue, TEXTS, written } from "./odd.ts";

/** Requests, and what they are made of, with something changed in them. */

interface Place {
  holder: Json;
  key: string;
}

/** All places of a value, its root being a member of `holder`. */
function placesOf(holder: Json, found: Place[] = []): Place[] {
  for (const key of Object.keys(holder)) {
    if (found.length > 500) break;
    found.push({ holder, key });
    const value: unknown = holder[key];
    if (typeof value === "object" && value !== null) placesOf(value, found);
  }
  return found;
}

/** Another value, a little different. */
export function changedTree(value: unknown, chance: Chance): unknown {
  const root: Json = { root: structuredClone(value) };
  const places = placesOf(root);
  const { holder, key } = chance.pick(places);
  const other = chance.pick(places);
  const old: unknown = holder[key];
  switch (chance.below(9)) {
    case 0:
      if (key !== "root") delete holder[key];
      break;
    case 1:
      holder[chance.pick(TEXTS).slice(0, 100)] = old;
      break;
    case 2:
      if (typeof old === "object" && old !== null && !Array.isArray(old)) {
        const name = chance.pick([...TEXTS, ...METHODS, "task", "_meta", "cursor", "requestState"]);
        (old as Json)[name] = oddValue(chance);
      } else holder[key] = oddValue(chance);
      break;
    case 3:
      holder[key] = structuredClone(other.holder[other.key]);
      break;
    case 4:
      holder[key] = chance.of(0.5) ? [old, old] : { [key]: old };
      break;
    case 5:
      if (typeof old === "string") holder[key] = changedText(old, chance);
      else holder[key] = oddValue(chance);
      break;
    default:
      holder[key] = oddValue(chance);
  }
  return root["root"];
}

/** Text that is cut, doubled, or has another character. */
export function changedText(text: string, chance: Chance, other: string = text): string {
  const at = chance.below(text.length + 1);
  switch (chance.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(at);
    case 2:
      return text.slice(0, at) + other.slice(at);
    case 3:
      return text + other;
    case 4:
      return text.slice(0, at) + chance.pick(TEXTS) + text.slice(at);
    default:
      return (
        text.slice(0, at) +
        chance.pick(["A", "z", "0", "_", "-", "=", "+", "/", "\0", "é"]) +
        text.slice(at + 1)
      );
  }
}

const BYTES = [[0], [0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf], [0x0a], [0x5c]];

function changedBytes(bytes: Buffer, chance: Chance): Buffer {
  const at = chance.below(bytes.length + 1);
  const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (chance.below(10)) {
    case 0:
      return head;
    case 1:
      return Buffer.concat([head, Buffer.from(chance.pick(BYTES)), tail.subarray(1)]);
    case 2:
      return Buffer.concat([Buffer.from(chance.pick(BYTES)), bytes]);
    case 3:
      return Buffer.concat([
        bytes,
        Buffer.from(chance.pick(["\0", "}", ",", "null", "\n\n", "{}"])),
      ]);
    case 4:
      return gzipSync(bytes);
    case 5:
      return Buffer.from(bytes.toString(), "utf16le");
    case 6: {
      const twice = `{"${chance.pick(["id", "method", "params", "jsonrpc", "__proto__"])}":${written(oddValue(chance))},`;
      return Buffer.from(bytes.toString().replace("{", () => twice));
    }
    case 7:
      return Buffer.from(
        `[${`${bytes.toString()},`.repeat(chance.pick([0, 1, 5, 49, 50]))}${bytes.toString()}]`,
      );
    case 8:
      return chance.of(0.05)
        ? Buffer.concat([bytes, Buffer.alloc(9 << 20, 0x20)])
        : Buffer.alloc(0);
    default:
      return Buffer.concat([head, Buffer.from(chance.pick(BYTES)), tail]);
  }
}

const HEADERS = [
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "accept",
  "content-type",
  "origin",
  "host",
  "authorization",
  "mcp-session-id",
  "last-event-id",
  "mcp-param-through",
  "mcp-param-count",
  "content-encoding",
  "cookie",
  "cf-connecting-ip",
  "x-forwarded-host",
  "idempotency-key",
];

const HEADER_VALUES = [
  MODERN,
  ...LEGACY,
  "*/*",
  "application/json",
  "text/event-stream",
  "text/html",
  "text/*",
  "application/json; charset=latin1",
  "application/json;",
  "text/plain",
  "application/*;q=0",
  "http://localhost",
  "http://evil.example",
  "https://a.example",
  "null",
  "file://",
  "localhost",
  "evil.example",
  "[::1]",
  "127.0.0.1:1",
  "Bearer",
  "Bearer x",
  "Basic eDp5",
  "Bearer a b",
  "0".repeat(64),
  "f".repeat(64),
  "0-0-0",
  "gzip",
  "\xff\xfe",
  "=?base64?Zm9v?=",
  "=?base64?/w==?=",
  "e30",
  "a, b",
  "x".repeat(4000),
];

function changedHeaders(headers: Draft["headers"], chance: Chance): Draft["headers"] {
  const key = chance.pick(chance.of(0.6) ? Object.keys(headers) : HEADERS);
  const { [key]: old = "", ...rest } = headers;
  switch (chance.below(6)) {
    case 0:
      return rest;
    case 1:
      return { ...rest, [key]: changedText(old, chance) };
    case 2:
      return { ...rest, [key]: `${old}, ${old}` };
    case 3:
      return { ...rest, [key]: `=?base64?${Buffer.from(old).toString("base64")}?=` };
    case 4:
      return { ...rest, [key]: chance.pick(TEXTS).slice(0, 2000) };
    default:
      return { ...rest, [key]: chance.pick(HEADER_VALUES) };
  }
}

const VERBS = ["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH", "POST"];
const PATHS = [
  "/",
  "/mcp",
  "/mcp/",
  "/MCP",
  "//mcp",
  "/mcp?x=1",
  "/mcp/../mcp",
  "/tools",
  "/tools/call",
  "/health",
  "/favicon.ico",
  "/.well-known/oauth-protected-resource",
  "/%00",
  "/%ff",
  "/tools/greet",
  "/mcp%2f",
  `/${"a".repeat(3000)}`,
  "/?x=%0d%0a",
  "/__proto__",
  "/sse",
];

/** The request with so many things changed in it. */
export function changed(draft: Draft, times: number, chance: Chance): Sent {
  let { method, path, headers, body } = draft;
  const onBytes: number[] = [];
  for (let nth = 0; nth < times; nth++) {
    const what = chance.below(100);
    if (what < 55 && body !== undefined) body = changedTree(body, chance);
    else if (what < 80) headers = changedHeaders(headers, chance);
    else if (what < 95) onBytes.push(nth);
    else if (what < 98) method = chance.pick(VERBS);
    else path = chance.pick(PATHS);
  }
  let bytes: Buffer | undefined =
    body === undefined ? undefined : Buffer.from(typeof body === "string" ? body : written(body));
  for (const _ of onBytes) bytes = bytes && changedBytes(bytes, chance);
  return {
    as: draft.as,
    method,
    path,
    headers: sendable(headers),
    body: method === "GET" || method === "HEAD" ? undefined : bytes,
    isChunked: chance.of(0.15),
  };
}

/** Leaves out headers that are not valid in HTTP: they never reach the Worker. */
function sendable(headers: Draft["headers"]): Draft["headers"] {
  const { host = "localhost", ...rest } = headers;
  const named = Object.entries(rest).filter(([name]) => /^[a-z-]+$/.test(name));
  return {
    ...Object.fromEntries(
      named.map(([name, value]) => [name, value.replace(/[^\t\x20-\x7e\x80-\xff]/g, "")]),
    ),
    host: /^([\w.-]+|\[[\da-f:]+\])(:\d{1,4})?$/.test(host) ? host : "localhost",
  };
}
