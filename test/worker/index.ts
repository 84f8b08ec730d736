/** All servlets and all guests of the tests, served over real HTTP. */
import { DurableObject, env } from "cloudflare:workers";
import type { Attempts as PlainAttempts } from "../../src/server/kernel/auth/attempts.ts";
import { createWorker } from "../../src/server/worker.ts";
import { configureLimits } from "../../src/server/kernel/core/limits.ts";
import type { ObjectClass } from "../../src/server/kernel/object-class.ts";
import { bundle as all } from "../bundle.gen.ts";
import { PROFILES } from "./test-profiles.ts";

/** The names of the servlets that are served, separated by commas; all where it is left out. */
const { TEST_SERVLETS, TEST_LIMITS = "{}" } = env as {
  TEST_SERVLETS?: string;
  /** Any limits, public or not, as JSON. */
  TEST_LIMITS?: string;
};
configureLimits(JSON.parse(TEST_LIMITS) as Parameters<typeof configureLimits>[0]);
const isServed = (name: string) => TEST_SERVLETS?.split(",").includes(name) ?? true;
const servlets = all.servlets.filter(({ name }) => isServed(name));
const bundle = { ...all, servlets, profiles: PROFILES };
const { worker, objects: plain } = createWorker(bundle);

/** The requests to objects since a test began to count them: each as the class, and the object's name where it has one. */
export const asked: string[] = [];

/** The class, whose public methods are counted. */
function counted<T extends new (...args: any[]) => DurableObject>(Class: T, name: string): T {
  const Counted = class extends Class {};
  for (const of of [Object.getPrototypeOf(Class.prototype), Class.prototype] as object[]) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of))) {
      if (typeof value !== "function" || ["constructor", "alarm"].includes(key)) continue;
      const method = function (
        this: DurableObject & { ctx: DurableObjectState },
        ...args: unknown[]
      ) {
        asked.push([name, this.ctx.id.name].filter(Boolean).join(": "));
        return (value as (...all: unknown[]) => unknown).apply(this, args);
      };
      Object.defineProperty(Counted.prototype, key, {
        value: method,
        configurable: true,
        writable: true,
      });
    }
  }
  return Counted;
}
const objects = new Proxy(plain, {
  get: (classes, name: string) => counted(classes[name] as never, name),
}) as unknown as Record<ClassName, ObjectClass>;
type ClassName =
  | "Attempts"
  | "CallRecord"
  | "Events"
  | "Grant"
  | "Hooks"
  | "Hub"
  | "Installs"
  | "KeyRecords"
  | "KeyRing"
  | "Profile"
  | "Quota"
  | "Schedules"
  | "ServletState"
  | "Session"
  | "States"
  | "Task"
  | "Transfers"
  | "Usage";
export const {
  Profile,
  CallRecord,
  Events,
  Grant,
  Hooks,
  Hub,
  Installs,
  KeyRecords,
  KeyRing,
  Quota,
  Schedules,
  ServletState,
  Session,
  States,
  Task,
  Transfers,
  Usage,
} = objects;

/** Ids of the counters that have counted something since a test file began. */
export const counters = new Set<string>();

export class Attempts extends (objects.Attempts as unknown as typeof PlainAttempts) {
  override take(...args: Parameters<PlainAttempts["take"]>): number {
    counters.add(this.ctx.id.toString());
    return super.take(...args);
  }
}

/** Storage of its own, for tests: that of objects with facets cannot be listed with others (\`listDurableObjectIds\`). */
export class Scratch extends DurableObject {
  override alarm() {}
}

export default worker;
