import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { buildWorker, freePort, residentMB, serve, stop, type Served } from "../workerd.ts";

/** How much memory of the server's one call may cost, against workerd itself. */
const PORT = await freePort();
const WORLD_PORT = await freePort();
let folder: string;
let served: Served;
beforeAll(async () => {
  folder = await buildWorker("test/worker/index.ts", ".bundle/test-memory");
});
afterEach(() => stop(served));

/** A server that gives as much as is read, whatever it is asked. */
const largest = Buffer.alloc(limits.httpBytes, "a");
const world = createServer((request, response) => {
  request.resume().on("end", () => response.end(largest));
});
beforeAll(() => new Promise<void>((resolve) => world.listen(WORLD_PORT, "127.0.0.1", resolve)));
afterAll(() => world.close());

async function call(name: string, token?: string): Promise<string> {
  const meta = token === undefined ? {} : { _meta: { progressToken: token } };
  const params = { name, arguments: {}, ...meta };
  const response = await fetch(`http://127.0.0.1:${PORT}/mcp`, {
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

/** What each call makes the host do, and how many MB of its own memory its guest writes. */
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
  ["fits", 6],
  ["wide", 6],
  ["items", 1],
  ["down", 12],
  ["up", 6],
  ["long", 4],
])("a guest that is greedy by way of %s costs its own memory and 64 MB", async (way, own) => {
  served = await serve(folder, PORT, {
    variables: { SEASON: "plums" },
    durable: true,
    quiet: true,
  });
  await call("greet");
  let text = "";
  const peak = await peakOf(async () => (text = await call(`hoard-${way}`)));
  expect(text).toContain('"result"');
  expect(peak - own).toBeLessThan(64);
});

test("a task that keeps such responses, sealed, costs its own memory and 128 MB", async () => {
  served = await serve(folder, PORT, {
    variables: { SEASON: "plums" },
    durable: true,
    quiet: true,
  });
  await call("greet");
  const send = async (method: string, params: Record<string, string>) => {
    const about = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
    };
    const response = await fetch(`http://127.0.0.1:${PORT}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params["name"] ?? params["taskId"]!,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: about } }),
    });
    return ((await response.json()) as { result: Record<string, string> }).result;
  };
  let task: Record<string, string> = {};
  const peak = await peakOf(async () => {
    const { taskId = "" } = await send("tools/call", { name: "hoard-down" });
    do {
      await new Promise((resolve) => setTimeout(resolve, 100));
      task = await send("tasks/get", { taskId });
    } while (task["status"] === "working");
  });
  expect(task).toMatchObject({ status: "completed", result: { content: [{ text: "done" }] } });
  expect(peak - 12).toBeLessThan(128);
});
