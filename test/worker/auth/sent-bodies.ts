import { expect } from "vitest";
import { modern } from "../server.ts";
import { serverOf, type Server } from "./key-holders.ts";

/** Requests whose bodies say how much of them was read. */

const ORIGIN = "http://localhost:8787";

/** A body that says how much of it was read. `rest` is what it does after its text. */
export function bodyOf(text: string, rest: "ends" | "hangs" | "goes on" = "ends") {
  const read = { bytes: 0, isCancelled: false };
  const { promise: end, resolve: close } = Promise.withResolvers<void>();
  const source: UnderlyingSource<Uint8Array> = {
    pull(controller) {
      if (read.bytes === 0 || rest === "goes on") {
        const chunk = new TextEncoder().encode(text);
        read.bytes += chunk.length;
        return controller.enqueue(chunk);
      }
      if (rest === "ends") return controller.close();
      return end.then(() => controller.close());
    },
    cancel() {
      read.isCancelled = true;
    },
  };
  return { read, close, stream: new ReadableStream(source, { highWaterMark: 0 }) };
}

export interface Sent {
  body: BodyInit;
  headers?: Record<string, string>;
  method?: string;
  path?: string;
}

export const fetchOf = (
  server: Server,
  { body, headers = {}, method = "POST", path = "/mcp" }: Sent,
) => Promise.resolve(server.fetch(new Request(new URL(path, ORIGIN), { method, headers, body })));

export const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** A call of a tool with a body of some more than `bytes` bytes. */
export function call(key: string, name: string, args: object, bytes = 0): Sent {
  const { body, headers } = modern("tools/call", { name, arguments: args, more: "" });
  const text = JSON.stringify(body).replace('"more":""', `"more":"${"x".repeat(bytes)}"`);
  return { body: text, headers: { ...JSON_HEADERS, ...headers, authorization: `Bearer ${key}` } };
}

export const waiting = (key: string, bytes: number) => call(key, "wait", { seconds: 0.3 }, bytes);
export const greeting = (key: string, bytes: number) => call(key, "greet", { name: "Ada" }, bytes);

/** A request of which so many bytes have come and no more; the function that it returns ends it. */
export async function hanging(
  server: Server,
  sent: Sent,
  bytes: number,
): Promise<() => Promise<void>> {
  const { read, stream, close } = bodyOf(" ".repeat(bytes), "hangs");
  const response = fetchOf(server, {
    ...sent,
    headers: { ...JSON_HEADERS, ...sent.headers },
    body: stream,
  });
  await expect.poll(() => read.bytes).toBe(bytes);
  return async () => {
    close();
    await (await response).text();
  };
}

/** One byte of somebody else's that is in flight: a body that is alone always has room. */
export const other = (server: Server) =>
  hanging(server, { body: "", headers: { "cf-connecting-ip": "192.0.2.1" }, path: "/nope" }, 1);

export const JSON_TYPE = "application/json";
export const FORM_TYPE = "application/x-www-form-urlencoded";

/** How a route answers 150 bytes while 200 fit and somebody else's body is in flight: with 503, before it reads any. */
export async function sentBeyondRoom(path: string, type: string, variables: object = {}) {
  const key = crypto.randomUUID();
  const LIMITS = '{"bodiesBytes":200}';
  const server = await serverOf({ [key]: { scopes: ["operator"] } }, { LIMITS, ...variables });
  const end = await other(server);
  const { read, stream } = bodyOf("{");
  const headers = {
    "content-type": type,
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${key}`,
    "otc-api-key": key,
    "content-length": "150",
  };
  const { status, headers: answered } = await fetchOf(server, { body: stream, headers, path });
  await end();
  return { status, read: read.bytes, retry: answered.get("retry-after") };
}
export const REFUSED = { status: 503, read: 0, retry: "1" };

/** How the server answers a long body, and how much of it was read. */
export async function sentUnread(
  path: string,
  method: string,
  { isKnown = false, variables = {} }: { isKnown?: boolean; variables?: object } = {},
) {
  const key = crypto.randomUUID();
  const server = await serverOf({ [key]: {} }, variables);
  const { read, stream } = bodyOf("{");
  const headers = {
    "content-type": JSON_TYPE,
    accept: JSON_TYPE,
    "content-length": "4000000",
    ...(isKnown && { authorization: `Bearer ${key}`, "otc-api-key": key }),
  };
  const { status } = await fetchOf(server, { body: stream, headers, method, path });
  return { status, read: read.bytes };
}
