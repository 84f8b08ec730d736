/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { newAddress, send, type Sent } from "../../worker/calls/client.ts";

/** A servlet in C whose files are kept for each caller, in a Durable Object. */

interface Doing {
  path: string;
  to?: string;
  text?: string;
}

const states = (env as unknown as { SERVLET_STATES: DurableObjectNamespace }).SERVLET_STATES;

/** A new caller, and the tool that it calls. */
function newCaller() {
  const sent: Sent = { headers: { "cf-connecting-ip": newAddress() } };
  return async (what: string, doing: Doing | { path?: never } = {}): Promise<string> => {
    const params = { name: "filing-do", arguments: { what, ...doing } };
    const { result, error } = await send("tools/call", params, sent);
    return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
  };
}

test("files are kept from call to call, and for each caller", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  expect(await ada("write", { path: "/data/a", text: "one" })).toBe("done");
  expect(await ada("append", { path: "/data/a", text: ", two" })).toBe("done");
  expect(await ada("read", { path: "/data/a" })).toBe("one, two");
  expect(await bob("read", { path: "/data/a" })).toBe("No such file or directory");
  expect(await ada("mkdir", { path: "/data/f" })).toBe("done");
  expect(await ada("rename", { path: "/data/a", to: "/data/f/b" })).toBe("done");
  expect(await ada("link", { path: "/data/f/b", to: "/data/c" })).toBe("done");
  expect(await ada("symlink", { path: "f/b", to: "/data/s" })).toBe("done");
  expect(await ada("list", { path: "/data" })).toBe("c f/ s ");
  expect(await ada("read", { path: "/data/s" })).toBe("one, two");
  expect(await ada("remove", { path: "/data/f" })).toBe("Directory not empty");
  expect(await ada("remove", { path: "/data/f/b" })).toBe("done");
  expect(await ada("remove", { path: "/data/f" })).toBe("done");
  expect(await ada("read", { path: "/data/c" })).toBe("one, two");
});

test("files outlive their object", async () => {
  const caller = newCaller();
  await caller("write", { path: "/data/a", text: "kept" });
  await abortAllDurableObjects();
  expect(await caller("read", { path: "/data/a" })).toBe("kept");
});

test("a call that traps leaves its files as they were, also where it wrote more than memory holds", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { fileOverlayBytes } = limits;
  onTestFinished(() => configureLimits({ fileOverlayBytes }));
  for (const bytes of [fileOverlayBytes, 1000]) {
    configureLimits({ fileOverlayBytes: bytes });
    const caller = newCaller();
    await caller("write", { path: "/data/a", text: "before" });
    expect(await caller("write_then_trap", { path: "/data/a", text: "after" })).toMatch(/crashed/);
    expect(await caller("write_then_trap", { path: "/data/b", text: "new" })).toMatch(/crashed/);
    expect(await caller("read", { path: "/data/a" })).toBe("before");
    expect(await caller("list", { path: "/data" })).toBe("a ");
  }
});

test("what the servlet has open stays open with its memory", async () => {
  const caller = newCaller();
  await caller("write", { path: "/data/a", text: "0123456789" });
  expect(await caller("keep", { path: "/data/a" })).toBe("done");
  expect(await caller("next")).toBe("0");
  await caller("remove", { path: "/data/a" });
  await abortAllDurableObjects();
  expect(await caller("next")).toBe("1");
});

test("a build with other folders begins with them, and with another memory", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { manifest } = bundle.servlets.find(({ name }) => name === "filing")!;
  const { allowed_paths: paths } = manifest;
  onTestFinished(() => void (manifest.allowed_paths = paths));
  const caller = newCaller();
  await caller("write", { path: "/data/a", text: "of data" });
  manifest.allowed_paths = ["other:/data", "data:/more"];
  expect(await caller("read", { path: "/data/a" })).toBe("No such file or directory");
  expect(await caller("read", { path: "/more/a" })).toBe("of data");
});

describe("folders of the bundle", () => {
  test("are there to begin with, and can be changed where that is allowed", async () => {
    const caller = newCaller();
    expect(await caller("list", { path: "/view" })).toBe("deep/ r.txt ");
    expect(await caller("read", { path: "/view/deep/d.txt" })).toBe("inside");
    expect(await caller("write", { path: "/view/r.txt", text: "no" })).toBe(
      "Operation not permitted",
    );
    expect(await caller("write", { path: "/seed/r.txt", text: "yes" })).toBe("done");
    expect(await caller("read", { path: "/view/r.txt" })).toBe("yes");
    expect(await newCaller()("read", { path: "/view/r.txt" })).toBe("readme");
  });

  test("cannot be left", async () => {
    const caller = newCaller();
    expect(await caller("read", { path: "/data/../seed/r.txt" })).toBe("Operation not permitted");
    expect(await caller("read", { path: "/etc/passwd" })).toBe("No such file or directory");
    const long = `/data/${"n".repeat(10_000)}`;
    expect(await caller("write", { path: long, text: "x" })).toBe("Filename too long");
  });
});

test("what is too much is refused, and the files that are there stay", async () => {
  const { fileBytes } = limits;
  onTestFinished(() => configureLimits({ fileBytes }));
  const caller = newCaller();
  await caller("write", { path: "/data/a", text: "small" });
  configureLimits({ fileBytes: 2_000_000 });
  expect(await caller("fill", { path: "/data/big", text: "3" })).toBe("No space left on device");
  expect(await caller("read", { path: "/data/a" })).toBe("small");
  expect(await caller("remove", { path: "/data/big" })).toBe("done");
  expect(await caller("fill", { path: "/data/big", text: "1" })).toBe("done");
});

test("a block that was altered is an error for the guest, and no other file's", async () => {
  const before = new Set((await listDurableObjectIds(states)).map(String));
  vi.spyOn(console, "error").mockImplementation(() => {});
  const caller = newCaller();
  await caller("write", { path: "/data/a", text: "to be damaged" });
  const id = (await listDurableObjectIds(states)).find((one) => !before.has(String(one)))!;
  await runInDurableObject(states.get(id), (_object, { storage }) => {
    storage.sql.exec("UPDATE file_blocks SET value = zeroblob(length(value))");
  });
  await caller("write", { path: "/data/b", text: "whole" });
  await abortAllDurableObjects();
  expect(await caller("read", { path: "/data/a" })).toBe("");
  expect(await caller("read", { path: "/data/b" })).toBe("whole");
  expect(await caller("write", { path: "/data/a", text: "new" })).toBe("done");
  expect(await caller("read", { path: "/data/a" })).toBe("new");
});
