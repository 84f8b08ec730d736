import { join, resolve } from "node:path";
import { OWN_EXTENSION } from "../bundle/own.ts";
import { Refusal } from "../bundle/refusal.ts";
import { buildWorker } from "./build.ts";
import type { Configuration } from "./configuration.ts";
import { PLATFORM } from "./stores.ts";

const SOURCES = resolve(import.meta.dirname, "../platform");

/** Builds a server's Worker, and the Workers that stand in for the platform, into a folder. Throws a `Refusal`. */
export async function buildHosted({ main }: Configuration, folder: string): Promise<void> {
  const contents = `import worker from ${JSON.stringify(main)};
import { asOnCloudflare } from ${JSON.stringify(join(SOURCES, `front${OWN_EXTENSION}`))};
export * from ${JSON.stringify(main)};
export default asOnCloudflare(worker);
`;
  try {
    await buildWorker({ contents, resolveDir: SOURCES }, folder);
    await buildPlatform(folder);
  } catch (error) {
    throw new Refusal(
      `The Worker cannot be built. If its bundle is missing, make it: npm run bundle\n${(error as Error).message}`,
    );
  }
}

/** Builds the Workers that stand in for the platform, into their folder below the Worker's. */
export const buildPlatform = (folder: string): Promise<string> =>
  buildWorker(
    {
      kv: join(SOURCES, `kv${OWN_EXTENSION}`),
      r2: join(SOURCES, `r2${OWN_EXTENSION}`),
      exporter: join(SOURCES, `../observe/exporter${OWN_EXTENSION}`),
    },
    join(folder, PLATFORM),
  );
