/** One event of a stream: the message that it brings, if it brings one. */
export interface Event {
  id?: string;
  message?: any;
}

/** An event stream that is read event by event. */
export class EventStream {
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #gone: AbortController;
  #text = "";

  constructor(response: Response, gone: AbortController) {
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    this.#gone = gone;
  }

  /** Undefined where the server has closed the stream. */
  async next(): Promise<Event | undefined> {
    const end = this.#text.indexOf("\n\n");
    if (end < 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
      return this.next();
    }
    const lines = this.#text.slice(0, end).split("\n");
    this.#text = this.#text.slice(end + 2);
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [id, data] = [field("id"), field("data")];
    if (id === undefined && data === undefined) return this.next();
    return { ...(id && { id }), ...(data && { message: JSON.parse(data) as unknown }) };
  }

  /** All messages until the server closes the stream. */
  async rest(): Promise<any[]> {
    const event = await this.next();
    if (event === undefined) return [];
    return event.message ? [event.message, ...(await this.rest())] : this.rest();
  }

  /** Breaks the connection. */
  drop(): void {
    this.#gone.abort();
  }
}

interface Sending {
  signal?: AbortSignal | null;
  accept?: string;
}

/** A session of a client that does nothing by itself. */
export class RawSession {
  readonly #url: URL;
  readonly #headers: Record<string, string>;

  private constructor(url: URL, headers: Record<string, string>) {
    this.#url = url;
    this.#headers = headers;
  }

  /** Begins a session of a client that sends these headers with each request. */
  static async begin(
    url: URL,
    capabilities: object,
    version = "2025-11-25",
    headers: Record<string, string> = {},
  ): Promise<RawSession> {
    const nobody = new RawSession(url, headers);
    const params = {
      protocolVersion: version,
      capabilities,
      clientInfo: { name: "raw", version: "1" },
    };
    const response = await nobody.post({ id: 0, method: "initialize", params });
    await response.text();
    const session = new RawSession(url, {
      ...headers,
      "mcp-session-id": response.headers.get("mcp-session-id")!,
      "mcp-protocol-version": version,
    });
    await session.post({ method: "notifications/initialized" });
    return session;
  }

  post(
    message: object,
    { signal = null, accept = "application/json, text/event-stream" }: Sending = {},
  ): Promise<Response> {
    return fetch(this.#url, {
      method: "POST",
      headers: {
        ...this.#headers,
        "content-type": "application/json",
        accept,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
    });
  }

  async call(id: number, name: string, args: object): Promise<EventStream> {
    const params = { name, arguments: args, _meta: { progressToken: `of ${id}` } };
    const gone = new AbortController();
    return new EventStream(await this.post({ id, method: "tools/call", params }, gone), gone);
  }

  get(lastEventId?: string, gone = new AbortController()): Promise<Response> {
    const headers = new Headers({ ...this.#headers, accept: "text/event-stream" });
    if (lastEventId !== undefined) headers.set("last-event-id", lastEventId);
    return fetch(this.#url, { headers, signal: gone.signal });
  }

  /** Reads on behind this event; undefined where that stream is over. */
  async resume(lastEventId: string): Promise<EventStream | undefined> {
    const gone = new AbortController();
    const response = await this.get(lastEventId, gone);
    if (response.status === 405) return undefined;
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return new EventStream(response, gone);
  }

  /** Gives the status. */
  async answer(id: number, result: object): Promise<number> {
    return (await this.post({ id, result })).status;
  }
}
