/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag state
import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { changed } from "../../worker/calls/client.ts";
import { json, newCaller, operate } from "../../worker/operator/client.ts";

/** What operators see of the state of servlets, and delete, over HTTP. */

const states = (env as unknown as { SERVLET_STATES: DurableObjectNamespace }).SERVLET_STATES;

test("a scope's size, last change and files are shown", async () => {
  const caller = newCaller();
  expect(await json(operate(`state/counting?${caller.scope}`))).toMatchObject({
    status: 200,
    memoryBytes: 0,
    files: [],
    fileBytes: 0,
  });
  await caller.next();
  const summary = await json(operate(`state/counting?${caller.scope}`));
  expect(summary).toMatchObject({ isOfThisBuild: true, isDamaged: false });
  expect(summary["scope"]).toBe(`caller:address ${caller.address}`);
  expect(summary["memoryBytes"]).toBeGreaterThan(4096);
  expect(Date.now() - summary["changed"]).toBeLessThan(60_000);

  await caller.file("write", { path: "/data/a", text: "12345" });
  const { files } = await json(operate(`state/filing?${caller.scope}`));
  expect(files).toContainEqual(expect.objectContaining({ path: "data/a", kind: "file", size: 5 }));
});

test("a state that was altered is refused until it is deleted", async () => {
  const before = new Set((await listDurableObjectIds(states)).map(String));
  const caller = newCaller();
  await caller.next();
  const id = (await listDurableObjectIds(states)).find((one) => !before.has(String(one)))!;
  await runInDurableObject(states.get(id), (_object, { storage }) => {
    storage.sql.exec("UPDATE blocks SET bytes = zeroblob(length(bytes))");
  });
  await abortAllDurableObjects();
  expect(await caller.next()).toMatch(/can no longer be read.*state delete counting/);
  expect((await json(operate(`state/counting?${caller.scope}`)))["changed"]).toBeDefined();
  await operate(`state/counting?${caller.scope}`, { method: "DELETE" });
  expect(await caller.next()).toBe("1");
});

test("all that servlets keep for one caller is deleted at once, and nobody else's", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  for (const one of [ada, bob]) {
    await one.next();
    await one.file("write", { path: "/data/a", text: "x" });
  }
  const path = `state?caller=address%20${ada.address}`;
  const { servlets } = await json(operate(path, { method: "DELETE" }));
  expect(servlets).toEqual(expect.arrayContaining(["counting", "filing"]));
  expect(await ada.next()).toBe("1");
  expect(await ada.file("read", { path: "/data/a" })).toBe("No such file or directory");
  expect(await bob.next()).toBe("2");
});

test.each<[string, Partial<Bundle["servlets"][number]["manifest"]> | undefined]>([
  ["that is no longer served", undefined],
  ["that keeps none any more", { state: "call" }],
])("what a servlet has kept for a caller %s is deleted, too", async (_what, manifest) => {
  const caller = newCaller();
  await caller.next();
  const later = createApp(
    new Kernel(
      manifest
        ? changed("counting", (one) => ({ manifest: { ...one.manifest, ...manifest } }))
        : { ...bundle, servlets: bundle.servlets.filter(({ name }) => name !== "counting") },
      env,
    ),
  );
  await operate(`state?caller=address%20${caller.address}`, { method: "DELETE" }, later);
  expect(await caller.next()).toBe("1");
});

test("a caller beside the name of a servlet is refused, and nothing is deleted", async () => {
  const caller = newCaller();
  await caller.next();
  const query = `${caller.scope}&caller=address%20${caller.address}`;
  const answer = await json(operate(`state/counting?${query}`, { method: "DELETE" }));
  expect(answer).toMatchObject({ status: 400, error: expect.stringContaining("scope caller:") });
  expect(await caller.next()).toBe("2");
});

test(
  "a servlet that keeps state for sessions has sessions, and callers without one",
  { tags: ["sessions"] },
  async () => {
    const bundleOf = changed("counting", ({ manifest }) => ({
      manifest: { ...manifest, state: "session" },
    }));
    const app = createApp(new Kernel(bundleOf, env));
    const caller = newCaller();
    expect(await caller.next(app)).toBe("1");
    const summary = await json(operate(`state/counting?${caller.scope}`, {}, app));
    expect(summary).toMatchObject({ scope: `caller:address ${caller.address}` });
    expect(summary["memoryBytes"]).toBeGreaterThan(0);
    const { id, object } = await SessionClient.begin({ stored: false });
    expect(await json(operate(`state/counting?scope=session:${id}`, {}, app))).toMatchObject({
      status: 200,
      scope: `session:${object}`,
      memoryBytes: 0,
    });
    expect(
      await json(operate(`state/counting?scope=session:${id.slice(0, -9)}`, {}, app)),
    ).toMatchObject({
      status: 400,
      error: expect.stringContaining("Give the whole Mcp-Session-Id"),
    });
    expect(await json(operate("state/counting?scope=session:abc", {}, app))).toMatchObject({
      status: 200,
      scope: "session:abc",
      memoryBytes: 0,
    });
    await operate(`state?caller=address%20${caller.address}`, { method: "DELETE" }, app);
    expect(await caller.next(app)).toBe("1");
  },
);
