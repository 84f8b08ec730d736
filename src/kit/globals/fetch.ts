import { hostFor } from "../host.ts";
import { wholeBuffer } from "./bytes.ts";
import type { HeadersInit } from "./headers.ts";
import { Body, type BodyInit, Response } from "./response.ts";

/** A request, a URL object, or a URL as text. */
export type RequestInfo = Request | string | { readonly href: string };

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  signal?: { readonly aborted: boolean; readonly reason?: unknown } | null;
  /** The caller's account for the request: the host adds its access token, for the hosts that the manifest names. */
  account?: string;
  /** Members of the host's request that only the kit sets. */
  host?: object;
  /** Ignored: the host follows redirects to the hosts that the manifest allows. */
  redirect?: string;
  /** This and the following members are for browsers, and ignored. */
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

/** https://fetch.spec.whatwg.org/#request-class, without the members that have no effect here. */
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

/** `fetch`, for the hosts that the manifest allows. The servlet is blocked until the response is complete. */
export async function fetch(input: RequestInfo, init?: RequestInit): Promise<Response> {
  if (typeof input === "string" && init === undefined) return sent(input, "GET", "{}");
  const request = new Request(input, init);
  if (request.signal?.aborted) throw request.signal.reason;
  const { url, method } = request;
  const headers = Body.headersJson(request);
  const content = Body.content(request);
  if (init?.host !== undefined) {
    const own = `${headers},${JSON.stringify(init.host).slice(1, -1)}`;
    return sent(url, method, own, content === null ? undefined : await request.arrayBuffer());
  }
  if (content === null) return sent(url, method, headers);
  if (content instanceof Uint8Array) return sent(url, method, headers, wholeBuffer(content));
  hostFor("fetch()");
  // Made before `await`, so that its stack leads to the caller's line.
  const failed = new TypeError();
  return sent(url, method, headers, await request.arrayBuffer(), failed);
}

/** Sends a request, with headers as JSON, and after them any further members of the request; throws `failed` if there is no response. */
function sent(
  url: string,
  method: string,
  headers: string,
  body?: ArrayBuffer,
  failed?: TypeError,
): Response {
  const host = hostFor("fetch()");
  const head = `{"url":${JSON.stringify(url)},"method":${JSON.stringify(method)},"headers":${headers}}`;
  const content = host.http(head, body);
  const status = host.httpStatus();
  const fields = host.httpHeaders();
  // A failed request has the status 0, and its reason in place of the headers.
  if (status === 0) {
    const { error: value } = JSON.parse(fields) as { error: string };
    throw Object.defineProperty(failed ?? new TypeError(), "message", {
      value,
      writable: true,
      configurable: true,
    });
  }
  return Response.at(url, status, fields, hasNoBody(status) ? null : content);
}
