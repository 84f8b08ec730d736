/** All servlets and all guests of the tests, served over real HTTP. */
import { DurableObject, env, tracing } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { durableObjects } from "../../src/durable/objects.ts";
import { configureTracing } from "../../src/tracing/spans.ts";
import { bundle as all } from "../bundle.gen.ts";

configureTracing(tracing, env);

/** The names of the servlets that are served, separated by commas; all where it is left out. */
const { TEST_SERVLETS } = env as { TEST_SERVLETS?: string };
const isServed = (name: string) => TEST_SERVLETS?.split(",").includes(name) ?? true;
const bundle = { ...all, servlets: all.servlets.filter(({ name }) => isServed(name)) };

export const {
  Profile,
  Attempts,
  CallRecord,
  Hub,
  Installs,
  KeyRing,
  Quota,
  ServletState,
  Session,
  States,
  Task,
  Usage,
} = durableObjects(bundle);

/** Storage of its own, for tests: that of objects with facets cannot be listed with others (\`listDurableObjectIds\`). */
export class Scratch extends DurableObject {
  override alarm() {}
}

export default createApp(bundle, env);
