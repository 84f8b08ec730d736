/// <reference types="@cloudflare/vitest-plugin/types" />
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import { CallerTokens } from "../../../src/server/kernel/storage/caller-tokens.ts";
import { sealerOf } from "../../../src/server/kernel/storage/vault.ts";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import "../../../src/server/features/transfers/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  as,
  callOf,
  clock,
  limited,
  prepare,
  send,
  serverOf,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";

/** Callers of a server with the servlet `transferring`, and what they send and fetch. */

export { callOf, clock, limited, prepare, type Json };

const some = { ...bundle, servlets: bundle.servlets.filter(({ name }) => name === "transferring") };

let callers = 0;
/** The name of a caller that no test has used. */
export const newCaller = (): string => `sender${++callers}-${crypto.randomUUID().slice(0, 8)}`;

export const ORIGIN = "https://files.example";

/** A server of which these are callers; with `hasBucket` the bytes are in a bucket. */
export async function serverFor(
  names: readonly string[],
  {
    hasBucket = false,
    bundle: other = {},
    ...variables
  }: { hasBucket?: boolean; bundle?: Partial<Bundle> } & Json = {},
) {
  const keys: Json = {};
  for (const name of names) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
    keys[name] = new Uint8Array(digest).toHex();
  }
  return serverOf(
    { ...some, ...other },
    {
      LINKS: "off",
      PUBLIC_URL: ORIGIN,
      API_KEYS: JSON.stringify(keys),
      ...(!hasBucket && { TRANSFERS_BUCKET: undefined }),
      ...variables,
    },
  );
}

/** A caller of a server. */
export interface Sender {
  name: string;
  sent: Sent;
  /** The result of a tool; throws the error of a request that fails. */
  call(tool: string, args?: Json): Promise<any>;
  /** The result of a request. */
  ask(method: string, params?: Json): Promise<any>;
  /** The answer to a request, of which it may fail. */
  send(method: string, params?: Json): ReturnType<typeof send>;
  /** Calls `upload_file`: the URI of the file, and the URL to which it is sent. */
  begin(name: string, size: number, mimeType?: string): Promise<{ uri: string; url: string }>;
  /** A request without credentials. */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** Sends a whole file, and returns its URI. */
  upload(name: string, bytes: Uint8Array | string, mimeType?: string): Promise<string>;
}

export function senderOf(server: Awaited<ReturnType<typeof serverFor>>, name: string): Sender {
  const sent = { ...as(name), server, capabilities: {} };
  const fetch: Sender["fetch"] = async (url, init) => server.fetch(new Request(url, init));
  const own: Sender = {
    name,
    sent,
    fetch,
    send: (method, params = {}) => send(method, params, sent),
    async ask(method, params = {}) {
      const { result, error } = await send(method, params, sent);
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    },
    async call(tool, args = {}) {
      const { result, error } = await callOf(tool, args, sent);
      if (result === undefined) throw new Error(JSON.stringify(error));
      return result;
    },
    async begin(file, size, mimeType) {
      const args = { name: file, size, ...(mimeType !== undefined && { mimeType }) };
      const { structuredContent, content } = await own.call("upload_file", args);
      if (structuredContent === undefined) throw new Error(content[0].text);
      return { uri: structuredContent.file.uri, url: structuredContent.transfer.url };
    },
    async upload(file, given, mimeType) {
      const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given;
      const { uri, url } = await own.begin(file, bytes.length, mimeType);
      const response = await put(own, url, bytes);
      if (response.status !== 201) throw new Error(await response.text());
      return uri;
    },
  };
  return own;
}

export async function sender(of: Parameters<typeof serverFor>[1] = {}, name = newCaller()) {
  return senderOf(await serverFor([name], of), name);
}

/** Sends bytes as curl does: with their length, and with a range if they are a part. */
export const put = (
  { fetch }: Sender,
  url: string,
  bytes: Uint8Array,
  { range, ...headers }: Record<string, string> = {},
) =>
  fetch(url, {
    method: "PUT",
    body: bytes,
    headers: {
      "content-length": String(bytes.length),
      ...(range !== undefined && { "content-range": range }),
      ...headers,
    },
  });

/** A body of which the sender decides when it goes on, and the request that sends it. */
export function slowly({ fetch }: Sender, url: string, init: { headers: Record<string, string> }) {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) });
  const response = fetch(url, { method: "PUT", body, duplex: "half", ...init } as RequestInit);
  return { controller, response };
}

/** Bytes that are all different from their neighbours. */
export const bytesOf = (length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, at) => at % 251);

/** The object of a caller. */
export async function objectOf({ name }: { name: string }) {
  const tokens = new CallerTokens(sealerOf(readSettings(env, []), env)!, "files");
  return env.TRANSFERS!.getByName(`caller ${await tokens.placeOf(name)}`);
}

/** True if a part of a file of a caller was admitted, and has not arrived. */
export const isArriving = async (of: { name: string }): Promise<boolean> =>
  runInDurableObject(
    (await objectOf(of)) as never,
    (_instance: unknown, { storage }: DurableObjectState) =>
      storage.sql
        .exec<{ count: number }>(
          "SELECT COUNT(*) AS count FROM stored_files WHERE isWhole = 0 AND expires >= made + ?",
          2 * 3_600_000,
        )
        .one().count > 0,
  );

/** Rings the alarm of a caller's object. */
export const ring = async (of: { name: string }) => runDurableObjectAlarm(await objectOf(of));

/** Ends a caller's object, as the platform may at any time. */
export async function die(of: { name: string }) {
  const object = await objectOf(of);
  await runInDurableObject(object as never, (_instance: unknown, state: DurableObjectState) =>
    state.abort("gone"),
  ).catch(() => {});
}

/** How many rows each table of a caller's object has. */
export async function rowsOf(of: { name: string }): Promise<Record<string, number>> {
  return runInDurableObject(
    (await objectOf(of)) as never,
    (_instance: unknown, { storage }: DurableObjectState) => {
      const tables = storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
        )
        .toArray();
      return Object.fromEntries(
        tables.map(({ name }) => [
          name,
          storage.sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM ${name}`).one().count,
        ]),
      );
    },
  );
}

/** The keys of a caller's files in the bucket. */
export async function keysOf(of: { name: string }): Promise<string[]> {
  const prefix = (await objectOf(of)).id.toString();
  const { objects } = await env.TRANSFERS_BUCKET!.list({ prefix });
  return objects.map(({ key }) => key);
}
