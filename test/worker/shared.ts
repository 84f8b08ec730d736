/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, vi } from "vitest";
import { configureLimits, limits } from "../../src/server/kernel/core/limits.ts";
import { listDigests } from "../../src/server/kernel/mcp/legacy/list-digests.ts";
import { bundle } from "../bundle.gen.ts";
import { Reservation } from "../../src/server/kernel/wasm/budget.ts";
import { counters } from "./index.ts";

/**
 * Test files share an isolate and its storage: each begins with nothing counted and room for its guests, and restores
 * what it changes.
 */

// Changes are told, and runs counted, soon: no test waits seconds for more of them, or for an object to be idle.
configureLimits({ changesMs: 50, usageMs: 50 });
const usual = { ...limits };
const { now } = Date;
const listed = JSON.stringify(listDigests(bundle));

beforeAll(async () => {
  // Files whose clock went ahead leave counts that end hours from now.
  const { ATTEMPTS } = env as unknown as { ATTEMPTS: DurableObjectNamespace };
  for (const id of counters)
    await runInDurableObject(ATTEMPTS.get(ATTEMPTS.idFromString(id)), (_object, { storage }) =>
      storage.deleteAll(),
    );
  counters.clear();
  // Guests of other files may still wait here. By this time none of them can, and taking a place clears theirs away.
  Date.now = () => now() + 1e12;
  Reservation.take({ bytes: 0, caller: undefined, leftMs: 0 })?.release();
  Date.now = now;
});

afterAll(() => {
  if (vi.isFakeTimers() || Date.now !== now) throw new Error("this file leaves a mocked clock");
  if (JSON.stringify(listDigests(bundle)) !== listed)
    throw new Error("this file leaves the bundle changed");
  const changed = Object.entries(usual).find(
    ([name, value]) => Reflect.get(limits, name) !== value,
  );
  if (changed !== undefined) throw new Error(`this file leaves limits.${changed[0]} changed`);
});
