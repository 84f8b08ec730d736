import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, host, project } from "./hosting.ts";

/** Sessions that have ended at a server leave no files behind when it starts again. */

let folder: string;
beforeAll(async () => {
  folder = await project();
  await build(folder);
});
afterAll(() => rm(folder, { recursive: true }));

const filesOf = async (name: string) =>
  (await readdir(join(folder, ".edge-servlets/objects", name))).filter((file) =>
    /^\w{64}\.sqlite$/.test(file),
  );

test("500 sessions that ended leave no file at the next start; one that is open goes on", async () => {
  const first = await host(folder);
  const post = (url: URL, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
    });
  const begin = async () => {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    };
    const response = await post(first.url, { method: "initialize", params });
    await response.text();
    return { "mcp-session-id": response.headers.get("mcp-session-id")! };
  };
  const open = await begin();
  for (let round = 0; round < 10; round++) {
    const ended = Array.from({ length: 50 }, async () => {
      const headers = await begin();
      expect((await fetch(first.url, { method: "DELETE", headers })).status).toBe(204);
    });
    await Promise.all(ended);
  }
  expect(await filesOf("Session")).toHaveLength(501);
  await first.stop();
  const second = await host(folder);
  try {
    expect(await filesOf("Session")).toHaveLength(1);
    expect((await post(second.url, { method: "ping" }, open)).status).toBe(200);
  } finally {
    await second.end();
  }
}, 240_000);
