import { createServer, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { buildWorker, freePort, residentMB, serve, stop, type Served } from "../workerd.ts";
import { median } from "./turns.ts";

/**
 * `npm run bench -- largeArgument`: what the host keeps of one call whose argument, or whose result, is as large as it
 * may be: V8's heap and its array buffers after collections, by the inspector, beyond those of an idle Worker, and the
 * most resident memory of the process meanwhile. The memory of guests is not counted.
 */
export async function benchLargeArgument(): Promise<void> {
  const held: ServerResponse[] = [];
  // It answers when it is asked to: until then its call waits.
  const world = createServer((request, response) => void (request.resume(), held.push(response)));
  await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve));
  const { port: internet } = world.address() as { port: number };
  const folder = await buildWorker("test/worker/index.ts", `.bundle/large-${process.pid}`);
  const inspector = await freePort();
  const options = { durable: true, variables: { SEASON: "any" }, internet, inspector } as const;
  const served = await serve(folder, options);
  try {
    const heap = await heapOf(inspector);
    for (let nth = 0; nth < 20; nth++) await called(served, "quiet");
    const text = "a".repeat(limits.bodyBytes - 4000);
    await called(served, "quiet", text);
    console.log(`an argument of ${inMB(text.length)}`);
    const idle = await heap();
    const show = async (what: string, size: number) => {
      const bytes = (await heap()) - idle;
      console.log(
        `  ${what.padEnd(28)} ${inMB(bytes)}, ${(bytes / size).toFixed(2)} times its size`,
      );
    };
    const waiting = called(served, "down", text);
    while (held.length === 0) await pause(5);
    await show("while its call waits", text.length);
    world.on("request", () => setImmediate(answerAll));
    const answerAll = () => held.splice(0).forEach((response) => response.end("ok"));
    answerAll();
    await waiting;
    await show("after its answer", text.length);
    console.log("a result of as many bytes as are read");
    const unread = await left(served.port, "fits");
    await show("while nobody reads it", unread.bytes);
    await unread.readAll();
    await show("after it was read", unread.bytes);
    const peaks: number[] = [];
    for (let nth = 0; nth < 5; nth++)
      peaks.push(await peakOf(served, () => called(served, "quiet", text)));
    console.log(
      `resident: at most ${median(peaks).toFixed(0)} MB more during a call with that argument`,
    );
  } finally {
    await stop(served);
    world.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const inMB = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1).padStart(5)} MB`;

const bodyOf = (way: string, text = "") =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: `hoard-${way}`, arguments: { text } },
  });

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Calls a tool of the hoarder, and reads its answer. */
async function called({ port }: Served, way: string, text?: string): Promise<void> {
  const url = `http://127.0.0.1:${port}/mcp`;
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: bodyOf(way, text) });
  const answer = await response.text();
  if (!answer.includes('"result"')) throw new Error(answer.slice(0, 500));
}

/** A call whose answer its client does not read before it is asked to. */
async function left(port: number, way: string) {
  const body = bodyOf(way);
  const lines = Object.entries({ ...HEADERS, host: "localhost", "content-length": body.length });
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
  await new Promise((resolve) => socket.once("readable", resolve));
  const first = socket.read() as Buffer;
  const bytes = Number(/content-length: (\d+)/i.exec(first.toString("latin1"))?.[1]);
  if (!(bytes > 0)) throw new Error(first.toString("latin1").slice(0, 500));
  const readAll = async () => {
    let read = first.length;
    for await (const chunk of socket) {
      read += (chunk as Buffer).length;
      if (read >= bytes) break;
    }
  };
  return { bytes, readAll };
}

/** The most resident memory that a process takes meanwhile, beyond what it has before, in MB. Linux alone has it. */
async function peakOf(served: Served, work: () => Promise<void>): Promise<number> {
  const { pid } = served.process;
  const before = await residentMB(served);
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  await work();
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024 - before;
}

/** Asks the Worker's isolate for the bytes that it holds after its garbage was collected: V8's heap, buffers, memories. */
export async function heapOf(inspector: number): Promise<() => Promise<number>> {
  const send = await inspectorAt(inspector);
  await send("HeapProfiler.enable");
  return async () => {
    await send("HeapProfiler.collectGarbage");
    const { usedSize = NaN, backingStorageSize = 0 } = await send("Runtime.getHeapUsage");
    return usedSize + backingStorageSize;
  };
}

/** Asks the Worker's isolate for the bytes that it has taken, garbage included: V8's heap, buffers, memories. */
export async function committedOf(inspector: number): Promise<() => Promise<number>> {
  const send = await inspectorAt(inspector);
  return async () => {
    const { totalSize = NaN, backingStorageSize = 0 } = await send("Runtime.getHeapUsage");
    return totalSize + backingStorageSize;
  };
}

/** Sends methods to the inspector of the Worker's isolate: https://chromedevtools.github.io/devtools-protocol/v8/Runtime/ */
async function inspectorAt(inspector: number) {
  const socket = new WebSocket(`ws://127.0.0.1:${inspector}/main`);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const waiting = new Map<number, (result: Record<string, number>) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
  });
  const send = (method: string) =>
    new Promise<Record<string, number>>((resolve) => {
      waiting.set(waiting.size, resolve);
      socket.send(JSON.stringify({ id: waiting.size - 1, method }));
    });
  await send("Runtime.enable");
  return send;
}
