/** All servlets and all guests of the tests, served over real HTTP. */
import { DurableObject, env, tracing } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { durableObjects } from "../../src/objects.ts";
import { configureTracing } from "../../src/observe/spans.ts";
import { bundle as all } from "../bundle.gen.ts";

configureTracing(tracing, env);

/** The names of the servlets that are served, separated by commas; all where it is left out. */
const { TEST_SERVLETS } = env as { TEST_SERVLETS?: string };
const isServed = (name: string) => TEST_SERVLETS?.split(",").includes(name) ?? true;
const bundle = { ...all, servlets: all.servlets.filter(({ name }) => isServed(name)) };
const objects = durableObjects(bundle);

export const {
  Profile,
  CallRecord,
  Grant,
  Hub,
  Installs,
  KeyRing,
  Quota,
  ServletState,
  Session,
  States,
  Task,
  Usage,
} = objects;

/** Ids of the counters that have counted something since a test file began. */
export const counters = new Set<string>();

export class Attempts extends objects.Attempts {
  override take(most: number, ms: number): number {
    counters.add(this.ctx.id.toString());
    return super.take(most, ms);
  }
}

/** Storage of its own, for tests: that of objects with facets cannot be listed with others (\`listDurableObjectIds\`). */
export class Scratch extends DurableObject {
  override alarm() {}
}

export default createApp(bundle, env);
