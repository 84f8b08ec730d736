import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildTests } from "./workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with the built Worker of the tests, where files may also keep their own folders. */
    worker: string;
  }
}

/** Builds the Worker of the tests once for a run, in a folder of its own: runs at once share nothing. */
export default async function setup(project: TestProject) {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "tests-"));
  await buildTests(folder);
  project.provide("worker", folder);
  return () => rm(folder, { recursive: true, force: true });
}
