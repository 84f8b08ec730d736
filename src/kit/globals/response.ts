import { Headers, type HeadersInit } from "./headers.ts";
import type { Blob } from "./blob.ts";
import type { FormData } from "./forms.ts";
import { lazy } from "./lazy.ts";
import type { ReadableStream } from "./streams.ts";
import { bufferOf, decodeUtf8, encodeUtf8, joinedBytes, wholeBuffer } from "./bytes.ts";

/** Text, bytes, `URLSearchParams`, a `Blob`, a form, or a stream. */
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
  /** JSON until first read: the headers of many bodies are never read. */
  #headers: Headers | string = "{}";
  #content: Bytes | ReadableStream<Bytes> | null = null;
  /** The stream of a body of bytes, made when `body` is first read. */
  #stream: ReadableStream<Bytes> | undefined;
  #used = false;

  constructor(body: BodyInit | null | undefined, headers: HeadersInit | undefined) {
    if (headers !== undefined) this.#headers = new Headers(headers);
    if (body === null || body === undefined) return;
    const { content, type } = bodyOf(body);
    this.#content = content;
    if (type !== undefined && !this.headers.has("content-type")) {
      this.headers.set("content-type", type);
    }
  }

  get headers(): Headers {
    if (typeof this.#headers === "string") this.#headers = Headers.received(this.#headers);
    return this.#headers;
  }

  /** A body's headers as JSON: see `Headers.json`. */
  static headersJson(body: Body): string {
    return typeof body.#headers === "string" ? body.#headers : Headers.json(body.#headers);
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

  /** A body's bytes or stream, without consuming it; null if it is empty. Throws if the body has been read. */
  static content(body: Body): Bytes | ReadableStream<Bytes> | null {
    const content = body.#content;
    const stream = content instanceof Uint8Array ? body.#stream : content;
    if (body.#used || stream?.locked === true) {
      throw new TypeError("The body has been read already.");
    }
    return content;
  }

  /** The bytes or stream for a copy of the body; a stream is split by `tee()`. */
  static copied(body: Body): Bytes | ReadableStream<Bytes> | null {
    const content = Body.content(body);
    if (content === null || content instanceof Uint8Array) return content;
    const [mine, other] = content.tee();
    body.#content = mine;
    return other;
  }

  /** Sets a body's headers, as JSON, and bytes from a server; the body owns the bytes. */
  static receive(body: Body, headers: string, content: ArrayBuffer | null): void {
    body.#headers = headers;
    if (content !== null) body.#content = new Uint8Array(content);
  }

  /** Consumes the body. Returns available bytes without a promise, which would cost more than a small body. */
  #taken(): Bytes | Promise<Bytes> {
    const content = Body.content(this);
    this.#used = content !== null;
    if (content === null) return new Uint8Array();
    return content instanceof Uint8Array ? content : collected(content);
  }

  async bytes(): Promise<Bytes> {
    return this.#taken();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const taken = this.#taken();
    return wholeBuffer(taken instanceof Uint8Array ? taken : await taken);
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
    const taken = this.#taken();
    return textOf(taken instanceof Uint8Array ? taken : await taken);
  }

  async json(): Promise<unknown> {
    const taken = this.#taken();
    return JSON.parse(textOf(taken instanceof Uint8Array ? taken : await taken));
  }
}

async function collected(stream: ReadableStream<Bytes>): Promise<Bytes> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) {
    if (!ArrayBuffer.isView(chunk)) throw new TypeError("A body's stream must give bytes.");
    chunks.push(bufferOf(chunk));
  }
  return joinedBytes(chunks);
}

function textOf(bytes: Bytes): string {
  const text = decodeUtf8(bytes, true);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

export interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

/** https://fetch.spec.whatwg.org/#response-class */
export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  #url = "";

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

  /** A response from the network. */
  static at(url: string, status: number, headers: string, body: ArrayBuffer | null): Response {
    const response = new Response(null, { status });
    Body.receive(response, headers, body);
    response.#url = url;
    return response;
  }

  get url(): string {
    return this.#url;
  }

  get type(): "default" {
    return "default";
  }

  get redirected(): false {
    return false;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    const copy = new Response(Body.copied(this), this);
    copy.#url = this.#url;
    return copy;
  }
}
