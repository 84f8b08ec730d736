import { readFile, writeFile } from "node:fs/promises";
import { afterEach, expect, test } from "vitest";
import { hoarderWorld } from "./hoarder-world.ts";
import { serveTests } from "./serving.ts";
import { residentMB, stop, type Served } from "../workerd.ts";

/** How much memory of the server's one call may cost, against workerd itself. */
let served: Served;
afterEach(() => stop(served));

const internet = hoarderWorld();

async function call(name: string, token?: string): Promise<string> {
  const meta = token === undefined ? {} : { _meta: { progressToken: token } };
  const params = { name, arguments: {}, ...meta };
  const response = await fetch(`http://127.0.0.1:${served.port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

/** The most memory that was resident while this ran, above what was resident before, in MB. */
async function peakOf(work: () => Promise<unknown>): Promise<number> {
  const { pid } = served.process;
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  const before = await residentMB(served);
  await work();
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024 - before;
}

/** Host work that each call causes, and the MB of its own memory that its guest writes. */
test.each([
  ["vectors", 24],
  ["many", 24],
  ["config", 24],
  ["varkey", 24],
  ["keyring", 24],
  ["notify", 1],
  ["log", 24],
  ["error", 60],
  ["output", 48],
  ["parts", 24],
  ["request", 24],
  ["body", 32],
  ["ask", 24],
  ["input", 24],
  // These are served.
  ["fits", 4],
  ["wide", 4],
  ["rich", 4],
  ["items", 1],
  ["down", 12],
  ["up", 6],
  ["long", 4],
])("a guest that is greedy by way of %s costs its own memory and 64 MB", async (way, own) => {
  served = await serveTests({ durable: true, internet: internet() });
  // V8's space for new objects grows with the first requests, whichever they are.
  for (let n = 0; n < 300; n++) await call("greet");
  let text = "";
  const peak = await peakOf(async () => (text = await call(`hoard-${way}`)));
  expect(text).toContain('"result"');
  expect(peak - own).toBeLessThan(64);
});
