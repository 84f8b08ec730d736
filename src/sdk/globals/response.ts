import { Headers, type HeadersInit } from "./headers.ts";
import type { Blob } from "./blob.ts";
import type { FormData } from "./forms.ts";
import { lazy } from "./lazy.ts";
import type { ReadableStream } from "./streams.ts";
import { bufferOf, decodeUtf8, encodeUtf8, joinedBytes } from "./bytes.ts";

/** Text, bytes, URLSearchParams, a Blob, a form, or a stream. */
export type BodyInit =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | FormData
  | ReadableStream<Uint8Array<ArrayBuffer>>
  | { toString(): string };

type Bytes = Uint8Array<ArrayBuffer>;

/** A body's bytes, or a stream of them, and the content type that it implies. */
function bodyOf(body: BodyInit): { content: Bytes | ReadableStream<Bytes>; type?: string } {
  if (typeof body === "string") {
    return { content: encodeUtf8(body), type: "text/plain;charset=UTF-8" };
  }
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) {
    return { content: bufferOf(body).slice() };
  }
  const tag: string = Object.prototype.toString.call(body);
  switch (tag) {
    case "[object Blob]":
    case "[object File]": {
      const content = lazy("blob").Blob.content(body as Blob);
      const { type } = body as Blob;
      return { content, ...(type !== "" && { type }) };
    }
    case "[object FormData]": {
      const { bytes, type } = lazy("forms").encodeForm(body as FormData);
      return { content: bytes, type };
    }
    case "[object ReadableStream]":
      return { content: body as ReadableStream<Bytes> };
    default: {
      // oxlint-disable-next-line no-base-to-string
      const [content, charset] = [encodeUtf8(String(body)), ";charset=UTF-8"];
      const isForm = tag === "[object URLSearchParams]";
      return {
        content,
        type: `${isForm ? "application/x-www-form-urlencoded" : "text/plain"}${charset}`,
      };
    }
  }
}

/** The body of a Request or Response, which can be read once. */
export class Body {
  readonly headers: Headers;
  #content: Bytes | ReadableStream<Bytes> | null = null;
  /** Of bytes: made when it is asked for. */
  #stream: ReadableStream<Bytes> | undefined;
  #used = false;

  constructor(body: BodyInit | null | undefined, headers: HeadersInit | undefined) {
    this.headers = new Headers(headers);
    if (body === null || body === undefined) return;
    const { content, type } = bodyOf(body);
    this.#content = content;
    if (type !== undefined && !this.headers.has("content-type")) {
      this.headers.set("content-type", type);
    }
  }

  get body(): ReadableStream<Bytes> | null {
    const content = this.#content;
    if (content === null || !(content instanceof Uint8Array)) return content;
    this.#stream ??= new (lazy("streams").ReadableStream)<Bytes>({
      pull: (controller) => {
        this.#used = true;
        if (content.length > 0) controller.enqueue(content);
        controller.close();
      },
      cancel: () => void (this.#used = true),
    });
    return this.#stream;
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  /** A body's bytes or stream, without using it up; null where it has none. */
  static content(body: Body): Bytes | ReadableStream<Bytes> | null {
    const content = body.#content;
    const stream = content instanceof Uint8Array ? body.#stream : content;
    if (body.#used || stream?.locked === true) {
      throw new TypeError("The body has been read already.");
    }
    return content;
  }

  /** The bytes or stream of a copy of the body; a stream goes on as two. */
  static copied(body: Body): Bytes | ReadableStream<Bytes> | null {
    const content = Body.content(body);
    if (content === null || content instanceof Uint8Array) return content;
    const [mine, other] = content.tee();
    body.#content = mine;
    return other;
  }

  async bytes(): Promise<Bytes> {
    const content = Body.content(this);
    this.#used = content !== null;
    if (content === null) return new Uint8Array();
    if (content instanceof Uint8Array) return content;
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) {
      if (!ArrayBuffer.isView(chunk)) throw new TypeError("A body's stream must give bytes.");
      chunks.push(bufferOf(chunk));
    }
    return joinedBytes(chunks);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = await this.bytes();
    return byteLength === buffer.byteLength
      ? buffer
      : buffer.slice(byteOffset, byteOffset + byteLength);
  }

  async blob(): Promise<Blob> {
    const type = this.headers.get("content-type") ?? "";
    return new (lazy("blob").Blob)([await this.bytes()], { type });
  }

  async formData(): Promise<FormData> {
    const type = this.headers.get("content-type") ?? "";
    return lazy("forms").decodeForm(await this.bytes(), type);
  }

  async text(): Promise<string> {
    const text = decodeUtf8(await this.bytes(), true);
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

export interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

const PLACES = /* @__PURE__ */ new WeakMap<Response, string>();

/** https://fetch.spec.whatwg.org/#response-class */
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
  static at(url: string, body: ArrayBuffer | null, init: ResponseInit): Response {
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
    const copy = new Response(Body.copied(this), this);
    PLACES.set(copy, this.url);
    return copy;
  }
}
