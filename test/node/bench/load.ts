/** Load on servers of this machine, on keep-alive connections; with nothing between that takes time itself. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** Result of a load run. Times in milliseconds. */
export interface Measured {
  count: number;
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
}

/** The requests of a load run, and their server. */
export interface Load {
  port: number;
  /** `/mcp` where it is left out. */
  path?: string;
  headers: Record<string, string>;
  body: string;
  connections: number;
  /** Extra headers of each connection, by its number. */
  own?: Record<string, string>[];
  /** Extra headers of successive requests. */
  turns?: { headers: Record<string, string>; body?: string }[];
  /** Between an answer and the connection's next request. */
  pauseMs?: number;
}

/** A whole HTTP request, ready to be written over and over. */
export function wire({
  method = "POST",
  path = "/mcp",
  headers,
  body,
}: {
  method?: string;
  path?: string;
  headers: Record<string, string>;
  body: string;
}): Buffer {
  const bytes = Buffer.from(body);
  const lines = Object.entries({
    host: "localhost",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
    "content-length": String(bytes.length),
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`),
    bytes,
  ]);
}

/** A keep-alive connection to a server, for one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer[] = [];
  #length = 0;
  #expected: number | "chunked" = Infinity;
  #headLength = 0;
  #answered: { resolve: (answer: Buffer) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#answered?.reject(error));
    socket.on("close", () => this.#answered?.reject(new Error("The server closed a connection.")));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Sends a request; gives the whole answer, with its head. */
  send(request: Buffer): Promise<Buffer> {
    this.#received = [];
    this.#length = 0;
    this.#expected = Infinity;
    return new Promise((resolve, reject) => {
      this.#answered = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.end();
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#length += chunk.length;
    if (this.#expected === Infinity) {
      this.#expected = expectedLength(this.#whole());
      this.#headLength = this.#whole().indexOf(HEAD_END) + HEAD_END.length;
    }
    const isWhole =
      this.#expected === "chunked"
        ? this.#endsWith(LAST_CHUNK, chunk)
        : this.#length >= this.#expected;
    if (!isWhole) return;
    const { resolve } = this.#answered!;
    this.#answered = undefined;
    resolve(this.#whole());
  }

  #endsWith(end: Buffer, chunk: Buffer): boolean {
    // A head may end like a last chunk.
    if (this.#length < this.#headLength + end.length) return false;
    const bytes = chunk.length < end.length ? this.#whole() : chunk;
    return bytes.subarray(-end.length).equals(end);
  }

  #whole(): Buffer {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0]!;
  }
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const HEAD_END = "\r\n\r\n";

/** How long the response is as a whole; Infinity until its head is there. */
function expectedLength(bytes: Buffer): number | "chunked" {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return Infinity;
  const head = bytes.subarray(0, end).toString();
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return end + HEAD_END.length + Number(length);
  return /^HTTP\/1.1 204 /.test(head) ? end + HEAD_END.length : "chunked";
}

/** The parts of a whole answer. */
export function partsOf(answer: Buffer): { status: number; head: string; body: string } {
  const end = answer.indexOf(HEAD_END);
  const head = answer.subarray(0, end).toString();
  const body = answer.subarray(end + HEAD_END.length);
  const isChunked = /^transfer-encoding: chunked$/im.test(head);
  return {
    status: Number(head.slice(9, 12)),
    head,
    body: (isChunked ? unchunked(body) : body).toString(),
  };
}

function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const end = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.subarray(at, end).toString(), 16);
    if (!(length > 0)) return Buffer.concat(chunks);
    chunks.push(body.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}

/**
 * Lets users act over and over, each on a connection of its own, until `until` says that it is enough. `act` gives how
 * long it took in ms, or undefined where its time is not to be counted.
 */
export async function repeat(
  { port, connections }: Pick<Load, "port" | "connections">,
  act: (connection: Connection, user: number) => Promise<number | undefined>,
  until: (count: number, elapsedMs: number) => boolean,
): Promise<Measured> {
  const times: number[] = [];
  let count = 0;
  const began = performance.now();
  const user = async (at: number) => {
    const connection = await Connection.open(port);
    do {
      const took = await act(connection, at);
      count += 1;
      if (took !== undefined) times.push(took);
    } while (!until(count, performance.now() - began));
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, (_, at) => user(at)));
  const seconds = (performance.now() - began) / 1000;
  times.sort((a, b) => a - b);
  const percentile = (share: number) => times[Math.floor(times.length * share)] ?? NaN;
  return {
    count,
    perSecond: count / seconds,
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
  };
}

/** One answer in so many is checked. */
const CHECKED = 512;

/**
 * Sends one request over and over on keep-alive connections, each waiting for its answer, until `until`
 * says that it is enough. Fails on the first answer that `check` does not like.
 */
export function drive(
  load: Load,
  until: (count: number, elapsedMs: number) => boolean,
  check: (body: string) => boolean,
): Promise<Measured> {
  const { turns = [{ headers: {} }], pauseMs } = load;
  const requests = Array.from({ length: load.connections }, (_, at) =>
    turns.map((turn) =>
      wire({ ...load, ...turn, headers: { ...load.headers, ...load.own?.[at], ...turn.headers } }),
    ),
  );
  let next = 0;
  return repeat(
    load,
    async (connection, at) => {
      const nth = next++;
      if (pauseMs !== undefined && nth >= load.connections) await pause(pauseMs);
      const sent = performance.now();
      const answer = await connection.send(requests[at]![nth % turns.length]!);
      const took = performance.now() - sent;
      if (nth % CHECKED === 0 && !check(answer.toString()))
        throw new Error(`a wrong answer: ${answer.toString().slice(0, 600)}`);
      return took;
    },
    until,
  );
}
