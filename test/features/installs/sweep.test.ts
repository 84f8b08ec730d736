import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bucketOf } from "../../../src/server/features/installs/bucket.ts";
import { hashOf, type Build } from "../../../src/server/features/installs/build.ts";
import { sha256 } from "../../../src/server/kernel/core/digest.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";

/** Old builds and their parts are deleted when nothing can need them. */

const bucket = bucketOf(env)!;
const installs = env.INSTALLS!.getByName("installs");

/** How far the clock of the Worker is ahead; that of the bucket, by which parts are dated, is not. */
let aheadMs = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + aheadMs);
});
afterEach(() => void vi.useRealTimers());

async function part(text: string): Promise<string> {
  const digest = (await sha256(text)).toHex();
  const bytes = new TextEncoder().encode(text);
  await bucket.putPart(digest, new Blob([bytes]).stream(), bytes.length);
  return digest;
}

async function installed(name: string, parts: Build["parts"]): Promise<Build> {
  const hash = await hashOf(parts);
  const build: Build = {
    name,
    dialect: "hyper-v2",
    hash,
    parts,
    startsOnce: false,
    restorable: true,
    exports: [],
    manifest: {},
  };
  await bucket.putBuild(build);
  unsettled(await installs.install(build, "test"));
  return build;
}

async function sweepAfter(ms: number): Promise<void> {
  aheadMs += ms;
  vi.setSystemTime(Date.now() + ms);
  expect(await runDurableObjectAlarm(installs)).toBe(true);
}

test("a part without a build is kept for a day, in which its build may arrive", async () => {
  const alone = await part("alone");
  await installed("second", { module: await part("second") });
  await sweepAfter(limits.installsStaleMs + 1);
  expect(await bucket.missing([alone])).toEqual([]);
  await sweepAfter(limits.sweepMs + 60_000);
  expect(await bucket.missing([alone])).toEqual([alone]);
});

test("a build that is no longer served is kept for its time, and longer if a call continues with it", async () => {
  const [shared, own, other] = [await part("shared"), await part("own"), await part("other")];
  const kept = await installed("kept", { module: shared, base: own });
  const gone = await installed("gone", { module: shared, base: other });
  await sweepAfter(limits.sweepMs + 1);
  unsettled(await installs.uninstall("gone"));
  await sweepAfter(limits.sweepMs + 1);
  expect(await bucket.build(gone.hash)).toEqual(gone);

  await sweepAfter(limits.oldBuildMs - 1);
  expect(await bucket.build(gone.hash)).toEqual(gone);
  await installs.needed(gone.hash);
  await sweepAfter(limits.oldBuildMs - 1);
  expect(await bucket.build(gone.hash)).toEqual(gone);
  expect(await bucket.missing([shared, own, other])).toEqual([]);

  await sweepAfter(limits.sweepMs + 1);
  expect(await bucket.build(gone.hash)).toBeUndefined();
  expect(await bucket.build(kept.hash)).toEqual(kept);
  expect(await bucket.missing([shared, own, other])).toEqual([other]);
});

test("versions that can be rolled back to, and published builds, are kept", async () => {
  const first = await installed("rolled", { module: await part("rolled 1") });
  await installed("rolled", { module: await part("rolled 2") });
  const ready = await installed("ready", { module: await part("ready") });
  await installs.publish(ready, "test");
  unsettled(await installs.uninstall("ready"));
  await sweepAfter(limits.sweepMs + 1);
  await sweepAfter(limits.oldBuildMs + 1);
  expect(await bucket.build(first.hash)).toEqual(first);
  expect(await bucket.build(ready.hash)).toEqual(ready);
  expect(await bucket.missing([first.parts.module, ready.parts.module])).toEqual([]);
});
