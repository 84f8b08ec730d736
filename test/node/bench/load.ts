import { connect } from "node:net";

/** Result of a load run. Times in milliseconds. */
export interface Measured {
  count: number;
  perSecond: number;
  p50: number;
  p99: number;
  bytes: number;
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
function wire({ headers, body, path = "/mcp" }: Load): Buffer {
  const bytes = Buffer.from(body);
  const lines = Object.entries({
    host: "localhost",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
    "content-length": String(bytes.length),
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`),
    bytes,
  ]);
}

/**
 * Sends one request over and over on keep-alive connections, each waiting for its answer, until `until`
 * says that it is enough. Fails on the first answer that `check` does not like.
 */
export async function drive(
  load: Load,
  until: (count: number, elapsedMs: number) => boolean,
  check: (body: string) => boolean,
): Promise<Measured> {
  const { turns = [{ headers: {} }] } = load;
  const times: number[] = [];
  let next = 0;
  let bytes = 0;
  const began = performance.now();
  const connection = (at: number) =>
    new Promise<void>((resolve, reject) => {
      const requests = turns.map((turn) =>
        wire({
          ...load,
          ...turn,
          headers: { ...load.headers, ...load.own?.[at], ...turn.headers },
        }),
      );
      const socket = connect(load.port, "127.0.0.1");
      socket.setNoDelay(true);
      let sent = 0;
      let received: Buffer[] = [];
      let length = 0;
      let expected: number | "chunked" = Infinity;
      const send = () => {
        received = [];
        length = 0;
        expected = Infinity;
        sent = performance.now();
        socket.write(requests[next++ % requests.length]!);
      };
      socket.on("connect", send);
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        received.push(chunk);
        length += chunk.length;
        if (expected === Infinity) expected = expectedLength(Buffer.concat(received));
        if (expected === "chunked" ? !chunk.subarray(-5).equals(LAST_CHUNK) : length < expected)
          return;
        const now = performance.now();
        times.push(now - sent);
        bytes += length;
        if (times.length % 512 === 1 && !check(Buffer.concat(received).toString())) {
          reject(new Error(`a wrong answer: ${Buffer.concat(received).toString().slice(0, 600)}`));
          socket.destroy();
        } else if (until(times.length, now - began)) {
          socket.end();
          resolve();
        } else if (load.pauseMs !== undefined) {
          setTimeout(send, load.pauseMs);
        } else {
          send();
        }
      });
    });
  await Promise.all(Array.from({ length: load.connections }, (_, at) => connection(at)));
  const seconds = (performance.now() - began) / 1000;
  times.sort((a, b) => a - b);
  return {
    count: times.length,
    perSecond: times.length / seconds,
    p50: times[Math.floor(times.length * 0.5)] ?? NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? NaN,
    bytes,
  };
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** How long the response is as a whole; Infinity until its head is there. */
function expectedLength(bytes: Buffer): number | "chunked" {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return Infinity;
  const head = bytes.subarray(0, end).toString();
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return length === undefined ? "chunked" : end + 4 + Number(length);
}
