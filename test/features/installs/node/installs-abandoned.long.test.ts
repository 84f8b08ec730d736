import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { residentMB } from "../../../node/workerd.ts";
import { built, left, serveLoading } from "../../../node/http/installing.ts";

/** Callers of an installed servlet who leave in the middle of their calls, two thousand times. */

let server: Awaited<ReturnType<typeof serveLoading>>;
let requests = 0;
const open = new Set<object>();
const world = createServer((request, response) => {
  requests++;
  if (request.url === "/fast") return void response.end("fast");
  open.add(response);
  response.on("close", () => open.delete(response));
});

const SOURCE = `import { defineServlet } from "edge-servlets/servlet";
const input = { type: "object", properties: { origin: { type: "string" } } };
export default defineServlet({ tools: {
  sleeps: { description: "Sleeps.", input, handler: async (_, context) => { await context.sleep(120_000); return "slept"; } },
  fetches: { description: "Fetches what never answers.", input, handler: async ({ origin }, context) => (await context.fetch(origin + "/slow")).text() },
  repeats: { description: "Fetches for ever.", input, handler: async ({ origin }, context) => { for (;;) { await context.fetch(origin + "/fast"); await context.sleep(20); } } },
  notifies: { description: "Tells of its progress for ever.", input, handler: async (_, context) => { for (let at = 0; ; at++) { context.progress(at); await context.sleep(5); } } },
  naps: { description: "Sleeps a moment.", input, handler: async (_, context) => { await context.sleep(300); return "rested"; } },
} });`;
const TOOLS = ["sleeps", "fetches", "repeats", "notifies"].map((name) => `left-${name}`);

beforeAll(async () => {
  await once(world.listen(0, "127.0.0.1"), "listening");
  server = await serveLoading();
  const manifest = { prefix: "left", allowed_hosts: ["127.0.0.1"] };
  await server.operator.put(await built("left", SOURCE, manifest));
  await vi.waitUntil(async () => (await call("left-naps")).includes("rested"), 10_000);
});
afterAll(async () => {
  await server.close();
  world.closeAllConnections();
  world.close();
});

async function call(name: string): Promise<string> {
  const response = await fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer any" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: {} },
    }),
  });
  return response.text();
}

/** Leaves so many calls, some of them before they have begun. */
async function leave(count: number): Promise<void> {
  const origin = `http://127.0.0.1:${(world.address() as AddressInfo).port}`;
  const lane = async (_: unknown, lanes: number) => {
    for (let at = 0; at < count / 16; at++) {
      const params = {
        name: TOOLS[(lanes + at) % TOOLS.length]!,
        arguments: { origin },
        // With it the answer is a stream.
        ...(at % 2 === 0 && { _meta: { progressToken: "t" } }),
      };
      await left(server.url, params, pause(at % 30));
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

test(
  "calls whose clients leave take no memory, requests or guests after that",
  { timeout: 120_000 },
  async () => {
    await leave(1000);
    const halfway = await residentMB(server.served);
    await leave(1000);
    expect(await residentMB(server.served)).toBeLessThan(halfway * 1.5);
    await vi.waitFor(() => expect(open.size).toBe(0), 10_000);
    // A guest learns that its caller has left when it next waits, later on a busy machine; one that
    // never learned would go on asking for ever.
    const asksNoMore = async () => {
      const before = requests;
      await pause(500);
      expect(requests).toBe(before);
    };
    await vi.waitFor(asksNoMore, 30_000);
    // Guests that were left would take the memory in which others wait.
    const naps = await Promise.all(Array.from({ length: 12 }, () => call("left-naps")));
    expect(naps.filter((text) => !text.includes("rested"))).toEqual([]);
  },
);
