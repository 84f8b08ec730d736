/**
 * `npm run bench -- heap`: the memory of an isolate with this repository's servlets, Python among them: V8's heap and the
 * backing stores of its array buffers, without the memories of Wasm instances. After its start, a call of each tool, and
 * 1,000 more calls.
 */
import { once } from "node:events";
import { join } from "node:path";
import * as z from "zod";
import { exampleOf } from "../../../src/schema/example.ts";
import { freePort, residentMB, serve, stop } from "../workerd.ts";
import { buildCheckout } from "./against.ts";
import { modern } from "./kinds.ts";

/** Tools that wait, ask or fetch. */
const LEFT_OUT = new Set([
  ...["run_code", "wait", "request_approval", "fetch_page", "rfc_report", "translate"],
  "get_result",
]);
const CALLS = 1000;
/** The most that V8 may hold, with the backing stores. */
const TARGET_MB = 55;

const listSchema = z.object({
  result: z.object({
    tools: z.array(z.object({ name: z.string(), inputSchema: z.record(z.string(), z.unknown()) })),
  }),
});
const usageSchema = z.object({
  result: z.object({
    usedSize: z.number(),
    totalSize: z.number(),
    backingStorageSize: z.number(),
  }),
});

/** Asks an isolate's inspector for its memory. https://chromedevtools.github.io/devtools-protocol/v8/Runtime/#method-getHeapUsage */
async function heapUsage(inspector: number): Promise<z.infer<typeof usageSchema>["result"]> {
  const targets = await (await fetch(`http://127.0.0.1:${inspector}/json`)).json();
  const [target] = z.array(z.object({ webSocketDebuggerUrl: z.string() })).parse(targets);
  const socket = new WebSocket(target!.webSocketDebuggerUrl);
  await once(socket, "open");
  socket.send(JSON.stringify({ id: 1, method: "Runtime.getHeapUsage" }));
  const [{ data }] = (await once(socket, "message")) as [MessageEvent];
  const { result } = usageSchema.parse(JSON.parse(String(data)));
  socket.close();
  return result;
}

export async function benchHeap(): Promise<void> {
  const folder = await buildCheckout(".", join(".bundle", "bench", "heap"));
  const inspector = await freePort();
  const served = await serve(folder, { durable: true, inspector });
  const ask = async (...request: Parameters<typeof modern>) => {
    const { headers, body } = modern(...request);
    const accept = "application/json, text/event-stream";
    const answer = await fetch(`http://127.0.0.1:${served.port}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept, ...headers },
      body,
    });
    return answer.text();
  };
  const report = async (when: string) => {
    const { usedSize, totalSize, backingStorageSize } = await heapUsage(inspector);
    const mb = (bytes: number) => (bytes / 1e6).toFixed(1).padStart(6);
    const all = totalSize + backingStorageSize;
    console.log(
      `${when.padEnd(20)}${mb(usedSize)} MB used and ${mb(totalSize)} MB committed by V8, ${mb(backingStorageSize)} MB of backing stores, ${mb(all)} MB in all; process ${(await residentMB(served)).toFixed(0)} MB`,
    );
  };
  try {
    await report("at its start");
    const { tools } = listSchema.parse(JSON.parse(await ask("tools/list", {}))).result;
    const calls = tools
      .filter(({ name }) => !LEFT_OUT.has(name))
      .map(({ name, inputSchema }) => ({ name, arguments: exampleOf(inputSchema) ?? {} }));
    for (const call of calls) await ask("tools/call", call, call.name);
    await report("each tool called");
    for (let nth = 0; nth < CALLS; nth++) {
      const call = calls[nth % calls.length]!;
      await ask("tools/call", call, call.name);
    }
    await report(`${CALLS} calls more`);
    console.log(`Target: at most ${TARGET_MB} MB in all.`);
  } finally {
    await stop(served);
  }
}
