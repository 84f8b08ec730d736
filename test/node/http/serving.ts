import { rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { buildWorker, freePort, serve, stop, type Served } from "../workerd.ts";

/**
 * Serves the test Worker for all tests of a file, on this port or a free one. It begins with nothing stored. A restart is as after
 * a crash or a power cut: the process can do nothing about its end, and the next one finds what is stored.
 */
export async function serving(name: string, given?: number) {
  const port = given ?? (await freePort());
  const folder = `.bundle/test-${name}`;
  const durable = `${folder}/storage`;
  let served: Served;
  const start = async () => {
    served = await serve(folder, port, { durable, variables: { SEASON: "plums" }, quiet: true });
  };
  beforeAll(async () => {
    await buildWorker("test/worker/index.ts", folder);
    await rm(durable, { recursive: true, force: true });
    await start();
  });
  afterAll(() => stop(served));
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    restart: async () => {
      await stop(served);
      await start();
    },
  };
}
