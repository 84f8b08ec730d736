import { Headers, type HeadersInit } from "./headers.ts";
import { bufferOf, decodeUtf8, encodeUtf8 } from "./text.ts";

/** Text, bytes, or URLSearchParams. */
export type BodyInit = string | ArrayBuffer | ArrayBufferView | { toString(): string };

/** A body as bytes, and the content type that it implies. */
function bodyOf(body: BodyInit): { bytes: Uint8Array<ArrayBuffer>; type?: string } {
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) {
    return { bytes: bufferOf(body).slice() };
  }
  const form = Object.prototype.toString.call(body) === "[object URLSearchParams]";
  return {
    bytes: encodeUtf8(String(body)),
    type: `${form ? "application/x-www-form-urlencoded" : "text/plain"};charset=UTF-8`,
  };
}

/** The body of a Request or Response, which can be read once. */
export class Body {
  readonly headers: Headers;
  #bytes: Uint8Array<ArrayBuffer> | null = null;
  #used = false;

  constructor(body: BodyInit | null | undefined, headers: HeadersInit | undefined) {
    this.headers = new Headers(headers);
    if (body === null || body === undefined) return;
    const { bytes, type } = bodyOf(body);
    this.#bytes = bytes;
    if (type !== undefined && !this.headers.has("content-type")) {
      this.headers.set("content-type", type);
    }
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  /** A body's bytes, without using them up; null where it has none. */
  static content(body: Body): Uint8Array<ArrayBuffer> | null {
    if (body.#used) throw new TypeError("The body has been read already.");
    return body.#bytes;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = Body.content(this);
    this.#used = bytes !== null;
    return bytes ?? new Uint8Array();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = await this.bytes();
    return byteLength === buffer.byteLength
      ? buffer
      : buffer.slice(byteOffset, byteOffset + byteLength);
  }

  async text(): Promise<string> {
    const text = decodeUtf8(await this.bytes(), true);
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

const PLACES = /* @__PURE__ */ new WeakMap<Response, string>();

/** https://fetch.spec.whatwg.org/#response-class, without streams. */
export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly type = "default";
  readonly redirected = false;

  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    super(body, init.headers);
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
  }

  static json(value: unknown, init: ResponseInit = {}): Response {
    const response = new Response(JSON.stringify(value), init);
    if (!new Headers(init.headers).has("content-type")) {
      response.headers.set("content-type", "application/json");
    }
    return response;
  }

  /** A response of the network. */
  static at(url: string, body: ArrayBuffer, init: ResponseInit): Response {
    const response = new Response(body, init);
    PLACES.set(response, url);
    return response;
  }

  get url(): string {
    return PLACES.get(this) ?? "";
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    const copy = new Response(Body.content(this), this);
    PLACES.set(copy, this.url);
    return copy;
  }
}
