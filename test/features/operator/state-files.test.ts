/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag state
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, onTestFinished, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import {
  exported,
  framesOf,
  imported,
  json,
  newCaller,
  operate,
} from "../../worker/operator/client.ts";

/** The state of a scope as a file, which operators export and import. */

test("what is exported can be imported after it was deleted, into another scope, and again", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  await ada.next();
  await ada.next();
  const file = await exported("counting", ada.scope);
  expect(await ada.next()).toBe("3");
  expect(await json(operate(`state/counting?${ada.scope}`, { method: "DELETE" }))).toMatchObject({
    status: 200,
  });
  expect(await ada.next()).toBe("1");
  expect(await imported("counting", ada.scope, file)).toMatchObject({ status: 200 });
  expect(await ada.next()).toBe("3");
  await abortAllDurableObjects();
  expect(await ada.next()).toBe("4");
  expect(await imported("counting", bob.scope, file)).toMatchObject({ status: 200 });
  expect(await bob.next()).toBe("3");
  expect(await ada.next()).toBe("5");
});

test("files are exported with links, times and what is open", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  const text = "0123456789".repeat(6000);
  await ada.file("write", { path: "/data/large", text });
  await ada.file("mkdir", { path: "/data/f" });
  await ada.file("link", { path: "/data/large", to: "/data/f/same" });
  await ada.file("symlink", { path: "f/same", to: "/data/s" });
  await ada.file("write", { path: "/seed/r.txt", text: "mine" });
  await ada.file("write", { path: "/data/open", text: "0123" });
  await ada.file("keep", { path: "/data/open" });
  expect(await ada.file("next")).toBe("0");
  await ada.file("remove", { path: "/data/open" });
  const file = await exported("filing", ada.scope);
  await bob.file("write", { path: "/data/gone", text: "x" });
  expect(await imported("filing", bob.scope, file)).toMatchObject({ status: 200 });
  expect(await bob.file("next")).toBe("1");
  expect(await bob.file("list", { path: "/data" })).toBe("f/ large s ");
  expect(await bob.file("read", { path: "/view/r.txt" })).toBe("mine");
  await bob.file("append", { path: "/data/s", text: "!" });
  expect((await bob.file("read", { path: "/data/large" })).slice(-3)).toBe("89!");
  const files = async ({ scope }: { scope: string }) =>
    (await json(operate(`state/filing?${scope}`)))["files"] as { path: string; modified: number }[];
  const timeOf = async (caller: { scope: string }) =>
    (await files(caller)).find(({ path }) => path === "data/f")!.modified;
  expect(await timeOf(bob)).toBe(await timeOf(ada));
});

test("a large file is exported and imported in parts", async () => {
  const [ada, bob, eve] = [newCaller(), newCaller(), newCaller()];
  await ada.file("fill", { path: "/data/big", text: "1" });
  const answer = await imported("filing", bob.scope, await exported("filing", ada.scope));
  expect(answer["error"]).toBeUndefined();
  expect(answer).toMatchObject({
    status: 200,
    fileBytes: expect.toSatisfy((bytes: number) => bytes > 1_000_000),
  });
  const of = await exported("filing", bob.scope);
  await imported("filing", eve.scope, of);
  expect(await contentsOf(await exported("filing", eve.scope))).toEqual(await contentsOf(of));
});

/** What is in a file besides its time, by path; the order of names is each scope's own. */
async function contentsOf(file: Uint8Array): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  let path = "";
  const chunks = [file.slice(0, 100_001), file.slice(100_001)];
  for await (const { head, content } of framesOf(chunks)) {
    // Which file is the last one differs, and no other head belongs to it.
    if (head.is !== "data") path = head.is === "entry" ? head.path : "";
    const where = "nth" in head ? `block ${head.nth}` : path;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
    const place = head.is === "data" ? head.position : 0;
    found.set(where, [...(found.get(where) ?? []), `${head.is} ${place} ${digest}`]);
  }
  expect(found.get("big")!.length).toBeGreaterThan(3);
  return found;
}

test("calls wait for an export that is read, and go on when its reader has gone", async () => {
  const caller = newCaller();
  await caller.next();
  const response = await operate(`state-file/counting?${caller.scope}`);
  const reader = response.body!.getReader();
  await reader.read();
  let isDone = false;
  const next = caller.next().finally(() => (isDone = true));
  await scheduler.wait(50);
  expect(isDone).toBe(false);
  await reader.cancel();
  expect(await next).toBe("2");
});

test("an export whose reader stands still is given up", async () => {
  const { stateStallMs } = limits;
  onTestFinished(() => configureLimits({ stateStallMs }));
  configureLimits({ stateStallMs: 50 });
  const caller = newCaller();
  await caller.next();
  const response = await operate(`state-file/counting?${caller.scope}`);
  expect(await caller.next()).toBe("2");
  await response.body?.cancel().catch(() => {});
});
