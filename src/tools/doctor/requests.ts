/** Requests to the checked server: plain HTTP, as clients send it. */
import { jsonIn, shortened, textIn } from "../../server/kernel/core/text.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { shownUrl } from "./address.ts";
import { quoted, Unreachable } from "./finding.ts";

/** Timeout of a request, in ms. */
const TIMEOUT = 10_000;
/** Longest part of a response that is read, in characters. */
const MOST = 4_000_000;

export interface HttpReply {
  status: number;
  headers: Headers;
  text: string;
}

interface Sending extends RequestInit {
  timeoutMs?: number;
  /** True once enough of the response is read. */
  isEnough?(text: string): boolean;
}

/** Requests a URL without following redirects. Throws `Unreachable`. */
export async function send(url: URL | string, sending: Sending = {}): Promise<HttpReply> {
  const { timeoutMs = TIMEOUT, isEnough, ...init } = sending;
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(new Error(TOO_SLOW)), timeoutMs);
  try {
    const response = await fetch(url, { redirect: "manual", ...init, signal: gone.signal });
    const { status, headers } = response;
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (isEnough?.(text) === true || text.length > MOST) break;
    }
    return { status, headers, text };
  } catch (error) {
    throw new Unreachable(whyUnreachable(error, new URL(url), timeoutMs));
  } finally {
    clearTimeout(timer);
    gone.abort();
  }
}

const TOO_SLOW = "too slow";

/** What the error codes and messages of Node's `fetch` mean, and what to do. */
const FAILURES: Readonly<Record<string, string>> = {
  "bad port":
    "browsers and Node refuse this port, which belongs to another protocol. Serve at another one",
  ENOTFOUND:
    "the name does not resolve. Check its spelling; for a new domain, add its DNS record and wait some minutes",
  EAI_AGAIN: "the name server does not answer. Check this machine's connection, and try again",
  ECONNREFUSED: "nothing listens there. Start the server, and check the port",
  EHOSTUNREACH: "this machine has no route to it. Check the address, and the firewall",
  ENETUNREACH: "this machine has no route to it. Check the address, and the network",
  ECONNRESET:
    "the connection was closed without an answer. Check that https is served there, and the log of the server or proxy",
  UND_ERR_SOCKET:
    "the connection was closed before the answer was complete. See the log of the server or proxy",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "no https is served there. Give the URL with http:// if the server is on this machine; else set up https",
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    "no https is served there. Give the URL with http:// if the server is on this machine; else set up https",
};

function whyUnreachable(error: unknown, url: URL, timeoutMs: number): string {
  const { cause = error } = error as Error;
  const { code = "", message } = cause as Error & { code?: string };
  const isSlow = message === TOO_SLOW || /TIMEDOUT|TIMEOUT/.test(code);
  const why = isSlow
    ? `there was no complete answer within ${timeoutMs / 1000} s. Check that the server runs, and that no firewall drops the request`
    : (FAILURES[code] ??
      FAILURES[message] ??
      `the request fails (${message || code}). Check the URL and the server`);
  return `${shownUrl(url)}: ${why}.`;
}

/** The JSON object of a reply; undefined for anything else. */
export function objectIn({ text }: HttpReply): Json | undefined {
  const value = jsonIn(text);
  return isObject(value) ? value : undefined;
}

/** The message of an error reply in the server's own words; empty if it has none. */
export function wordsIn(reply: HttpReply): string {
  const { error, error_description: description, message } = objectIn(reply) ?? {};
  const own = isObject(error) ? error["message"] : (description ?? error ?? message);
  if (typeof own === "string" && own !== "") return ` It says ${quoted(own)}.`;
  const isPage = /html/.test(reply.headers.get("content-type") ?? "");
  const text = isPage ? "" : shortened(reply.text.trim(), 500);
  return text === "" ? "" : ` It says ${quoted(text)}.`;
}

/** The target of a redirect; undefined for any other reply. */
export function redirectOf({ status, headers }: HttpReply, from: URL | string): URL | undefined {
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location === null ? undefined : (URL.parse(location, from) ?? undefined);
}

/** A key as a header. */
export const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

/** The answer to a JSON-RPC request. */
export interface RpcReply extends HttpReply {
  /** The message with the request's id; undefined if there is none. */
  message?: { result?: Json; error?: { code: unknown; message: string } } | undefined;
}

const POSTED = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Posts a JSON-RPC message to the endpoint, and reads until its answer is there. Throws `Unreachable`. */
export async function post(
  endpoint: URL,
  body: Json,
  { headers, timeoutMs }: { headers?: Record<string, string>; timeoutMs?: number } = {},
): Promise<RpcReply> {
  const reply = await send(endpoint, {
    method: "POST",
    headers: { ...POSTED, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    isEnough: (text) => messageIn(text, body["id"]) !== undefined,
  });
  // A stream may end without an empty line.
  return { ...reply, message: messageIn(`${reply.text}\n\n`.trimStart(), body["id"]) };
}

/** The message with this id in a body: JSON, or the events of a stream so far. */
function messageIn(text: string, id: unknown): RpcReply["message"] {
  if (id === undefined) return undefined;
  const whole = text.startsWith("{") ? [text] : [];
  const events = text
    .split(/\r?\n\r?\n/)
    .slice(0, -1)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length))
        .join("\n"),
    );
  for (const one of [...whole, ...events]) {
    const message = jsonIn(one);
    if (!isObject(message) || message["id"] !== id || "method" in message) continue;
    const { result, error } = message;
    if (isObject(error))
      return { error: { code: error["code"], message: textIn(error["message"]) } };
    return isObject(result) ? { result } : {};
  }
  return undefined;
}
