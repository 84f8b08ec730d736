import { hostFor } from "../host.ts";
import { Headers, type HeadersInit } from "./headers.ts";
import { Body, type BodyInit, Response } from "./response.ts";

/** A request, a URL, or its text. */
export type RequestInfo = Request | string | { readonly href: string };

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  signal?: { readonly aborted: boolean; readonly reason?: unknown } | null;
  /** The caller's account that the request uses: the host adds its access token, at the hosts that the manifest names. */
  account?: string;
  /** Ignored: the host follows redirects to the hosts that the manifest allows. */
  redirect?: string;
  /** Ignored, as these are for browsers. */
  cache?: string;
  credentials?: string;
  duplex?: string;
  integrity?: string;
  keepalive?: boolean;
  mode?: string;
  priority?: string;
  referrer?: string;
  referrerPolicy?: string;
}

/** https://fetch.spec.whatwg.org/#request-class, as far as it makes a difference here. */
export class Request extends Body {
  readonly url: string;
  readonly method: string;
  readonly signal: RequestInit["signal"];

  constructor(input: RequestInfo, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined;
    super(init.body ?? (from && Body.content(from)), init.headers ?? from?.headers);
    this.url =
      typeof input === "string" ? input : input instanceof Request ? input.url : input.href;
    this.method = (init.method ?? from?.method ?? "GET").toUpperCase();
    if (init.account !== undefined) this.headers.set("authorization", `account ${init.account}`);
    this.signal = init.signal ?? from?.signal ?? null;
    if (Body.content(this) !== null && (this.method === "GET" || this.method === "HEAD")) {
      throw new TypeError(`A request with ${this.method} has no body.`);
    }
  }

  clone(): Request {
    const { method, headers, signal = null } = this;
    return new Request(this.url, { method, headers, signal, body: Body.copied(this) });
  }
}

/** https://fetch.spec.whatwg.org/#null-body-status */
const hasNoBody = (status: number) => status === 204 || status === 205 || status === 304;

/** HTTP, to the hosts that the manifest allows. The servlet stands still until the response is whole. */
export async function fetch(input: RequestInfo, init?: RequestInit): Promise<Response> {
  // Its stack leads to the caller's line, which the stack after an `await` does not.
  const failed = new TypeError();
  const request = new Request(input, init);
  if (request.signal?.aborted) throw request.signal.reason;
  const { url, method } = request;
  const host = hostFor("fetch()");
  const headers = Object.fromEntries(request.headers);
  const sent = Body.content(request) === null ? undefined : await request.arrayBuffer();
  const content = host.http(JSON.stringify({ url, method, headers }), sent);
  const status = host.httpStatus();
  const fields = JSON.parse(host.httpHeaders() || "{}") as Record<string, string>;
  // A failed request has the status 0, and its reason in place of the headers.
  if (status === 0) {
    const value = fields["error"] ?? `fetch failed: ${url}`;
    throw Object.defineProperty(failed, "message", { value, writable: true, configurable: true });
  }
  const body = hasNoBody(status) ? null : content;
  return Response.at(url, body, { status, headers: Headers.received(fields) });
}
