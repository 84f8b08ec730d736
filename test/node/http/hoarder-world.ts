import { createServer } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { limits } from "../../../src/limits.ts";

/** Stands in the guest: test/guests/hoarder/hoarder.wat. */
const PORT = 8899;

/**
 * What the hoarder asks: a server whose responses are as large as guests may read, with a small one, and a
 * slow one. One file at a time has it; others wait until the port is free.
 */
export function hoardersWorld(): void {
  const largest = Buffer.alloc(limits.httpBytes, "a");
  const world = createServer((request, response) => {
    const size = request.url === "/" ? limits.httpBytes : request.url === "/less" ? 300_000 : 2;
    const waitMs = request.url === "/slow" ? limits.promoteAfterMs + 100 : 0;
    request.resume().on("end", () => {
      setTimeout(() => response.end(largest.subarray(0, size)), waitMs);
    });
  });
  const listen = () => world.listen(PORT, "127.0.0.1");
  beforeAll(
    () =>
      new Promise<void>((resolve) => {
        world.once("listening", resolve);
        world.on("error", () => setTimeout(listen, 200));
        listen();
      }),
    600_000,
  );
  afterAll(() => world.close());
}
