import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { OBJECTS } from "../objects.ts";
import { freePort } from "../workerd.ts";
import { builtFrom, Operator } from "./installing.ts";

/**
 * What an installed servlet keeps outlives its server, and goes with the servlet into the bundle and back: two Workers
 * take turns on the same storage, of which one has `notes` and `journal` in its bundle.
 */

const WITH = "test/worker/index.ts";
const WITHOUT = "test/conformance/worker.ts";

let folder: string;
let port: number;
let server: ChildProcess | undefined;
let operator: Operator;

async function start(main: string) {
  const config = join(folder, "wrangler.json");
  await writeFile(
    config,
    JSON.stringify({
      name: "moved",
      main: resolve(main),
      compatibility_date: "2026-09-01",
      compatibility_flags: ["enable_request_signal", "global_fetch_strictly_public"],
      durable_objects: {
        bindings: Object.entries(OBJECTS).map(([name, class_name]) => ({ name, class_name })),
      },
      migrations: [{ tag: "v1", new_sqlite_classes: Object.values(OBJECTS) }],
      r2_buckets: [{ binding: "BUILDS", bucket_name: "builds" }],
      worker_loaders: [{ binding: "LOADER" }],
      vars: { SEASON: "plums", LIMITS: JSON.stringify({ installsMs: 200 }) },
    }),
  );
  const args = ["wrangler", "dev", "--config", config, "--port", `${port}`];
  const more = ["--persist-to", join(folder, "state"), "--inspector-port", `${await freePort()}`];
  // A group of its own, so that workerd dies with it.
  server = spawn("npx", [...args, ...more], { detached: true, stdio: "ignore" });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  await vi.waitFor(async () => expect(await health()).toBe(true), {
    timeout: 60_000,
    interval: 100,
  });
}

async function kill() {
  if (server === undefined) return;
  const gone = once(server, "exit");
  process.kill(-server.pid!, "SIGKILL");
  await gone;
  server = undefined;
}

async function call(name: string, args: Record<string, unknown>): Promise<string> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url));
  try {
    return JSON.stringify((await client.callTool({ name, arguments: args })).content);
  } finally {
    await client.close();
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "moved-"));
  port = await freePort();
  operator = new Operator(new URL(`http://127.0.0.1:${port}/mcp`));
});
afterAll(async () => {
  await kill();
  await rm(folder, { recursive: true, force: true });
});

const install = async (name: string) => operator.put(await builtFrom(`plugins/${name}`, name));

const note = async (text: string) => call("add_note", { text });
const entry = async (text: string) => call("write_journal", { text });
const all = async () => `${await call("list_notes", {})} ${await call("search_journal", {})}`;

test("from installed to bundled and back, with its server killed each time", async () => {
  await start(WITHOUT);
  await install("notes");
  await install("journal");
  await vi.waitFor(() => call("list_notes", {}), 10_000);
  await note("first note");
  await entry("first entry");
  await kill();
  await start(WITHOUT);
  expect(await all()).toMatch(/first note.*first entry/s);
  await note("second note");
  await entry("second entry");
  await kill();
  await start(WITH);
  expect(await all()).toMatch(/second note.*first note.*second entry.*first entry/s);
  await note("third note");
  await entry("third entry");
  await kill();
  await start(WITHOUT);
  expect(await all()).toMatch(
    /third note.*second note.*first note.*third entry.*second entry.*first entry/s,
  );
  for (const name of ["notes", "journal"]) await operator.json("DELETE", `state/${name}`);
  expect(await all()).not.toMatch(/first|second|third/);
}, 240_000);
