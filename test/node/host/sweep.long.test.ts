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

test("500 sessions with something kept that ended leave no file at the next start, and 500 others none at all; open ones go on", async () => {
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
  /** A session whose object has a log level to keep. */
  const beginKept = async () => {
    const headers = await begin();
    const params = { level: "debug" };
    await (await post(first.url, { method: "logging/setLevel", params }, headers)).text();
    return headers;
  };
  const open = [await begin(), await beginKept()];
  for (let round = 0; round < 20; round++) {
    const ended = Array.from({ length: 50 }, async () => {
      const headers = await (round % 2 === 0 ? begin() : beginKept());
      expect((await fetch(first.url, { method: "DELETE", headers })).status).toBe(204);
    });
    await Promise.all(ended);
  }
  /** The record of ended sessions; two where an hour begins during the test. */
  const records = async (sessions: number) => (await filesOf("Session")).length - sessions;
  expect([1, 2]).toContain(await records(501));
  await first.stop();
  const second = await host(folder);
  try {
    expect([1, 2]).toContain(await records(1));
    for (const headers of open)
      expect((await post(second.url, { method: "ping" }, headers)).status).toBe(200);
  } finally {
    await second.end();
  }
}, 240_000);
