import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { limits } from "../../../src/server/kernel/wasm/limits.ts";

/** Stands in the guest, test/guests/hoarder/hoarder.wat; what it fetches is sent to the server below. */
const HOST = "127.0.0.1:8899";

/**
 * The internet of the hoarder: a server whose responses are as large as guests may read, with a small one
 * and a slow one. Gives its port.
 */
export function hoarderWorld(): () => number {
  const largest = Buffer.alloc(limits.httpBytes, "a");
  const world = createServer((request, response) => {
    if (request.headers.host !== HOST) return void response.destroy();
    const size = request.url === "/" ? limits.httpBytes : request.url === "/less" ? 300_000 : 2;
    const waitMs = request.url === "/slow" ? limits.promoteAfterMs + 100 : 0;
    return void request.resume().on("end", () => {
      setTimeout(() => response.end(largest.subarray(0, size)), waitMs);
    });
  });
  beforeAll(async () => {
    await once(world.listen(0, "127.0.0.1"), "listening");
  });
  afterAll(() => world.close());
  return () => (world.address() as AddressInfo).port;
}
