import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { TEST_OBJECTS } from "../objects.ts";
import { freePort, serve, stop, type Options, type Served } from "../workerd.ts";

/** Serves the test Worker with its guests. What it logs is shown where a test fails. */
export const serveTests = ({ variables, ...options }: Options): Promise<Served> =>
  serve(inject("worker"), {
    log: console.log,
    objects: TEST_OBJECTS,
    ...options,
    variables: { SEASON: "plums", ...variables },
  });

/**
 * Serves the test Worker for all tests of a file. It begins with nothing stored. A restart is as after a
 * crash or a power cut: the process can do nothing about its end, and the next one finds what is stored.
 */
export async function serving(options: Options = {}) {
  const port = options.port ?? (await freePort());
  let durable: string;
  let served: Served;
  const start = async () => {
    served = await serveTests({ port, durable, ...options });
  };
  beforeAll(async () => {
    durable = await mkdtemp(join(inject("worker"), "storage-"));
    await start();
  });
  afterAll(() => stop(served));
  return {
    port,
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    served: () => served,
    /** The folder with what its objects store. */
    storage: () => durable,
    stop: () => stop(served),
    start,
    restart: async () => {
      await stop(served);
      await start();
    },
  };
}
