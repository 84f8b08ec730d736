import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { open, mkdtemp, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, host, project, request, run, type Hosting } from "./hosting.ts";

/** A server whose storage is on a small disk of its own, which gets full and has room again. */

const BYTES = 24 << 20;
const CALLERS = ["ada", "ben"] as const;
const keyOf = (caller: string) => `esk_${caller}`;
const API_KEYS = JSON.stringify(
  Object.fromEntries(
    CALLERS.map((caller) => {
      const hash = createHash("sha256").update(keyOf(caller)).digest("hex");
      return [caller, { hash, scopes: ["operator", "*:*"] }];
    }),
  ),
);
/** The heading of the notice in Operate. */
const NOTICE = "The disk of this server is full";

/** Mounts a small disk in memory; undefined where this user may not. */
async function smallDisk(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${BYTES}`, "tmpfs", folder]);
    return folder;
  } catch {
    await rm(folder, { recursive: true });
    return undefined;
  }
}

const disk = await smallDisk();
let folder: string;
let server: Hosting;

beforeAll(async () => {
  folder = await project();
  await build(folder);
});
afterAll(async () => {
  await server?.end();
  await rm(folder, { recursive: true });
  if (disk === undefined) return;
  execFileSync("umount", ["--lazy", disk]);
  await rm(disk, { recursive: true });
});

/** Fills the disk to the last byte. */
async function fill(): Promise<void> {
  const file = await open(join(disk!, "filling"), "w");
  try {
    for (let piece = 1 << 20; piece >= 1;) {
      const { bytesWritten } = await file
        .write(Buffer.alloc(piece))
        .catch(() => ({ bytesWritten: 0 }));
      if (bytesWritten < piece) piece >>= 1;
    }
  } finally {
    await file.close();
  }
}

const makeRoom = () => truncate(join(disk!, "filling"), 0);

const at = (path: string) => fetch(new URL(path, server.url));
const healthOf = async () => {
  const response = await at("/health");
  return { status: response.status, ...((await response.json()) as { storage?: string }) };
};
const storageOf = async () => (await healthOf()).storage;
const called = (name: string, args: object, caller: string) =>
  request(
    server.url,
    "tools/call",
    { name, arguments: args },
    { authorization: `Bearer ${keyOf(caller)}` },
  );
/** Calls the tool that counts in its kept state, which each caller has in an object of its own. */
const next = (caller = "ada") => called("counting-next", {}, caller);

/** Signs an operator in; the function that it returns reads the page Operate. */
async function operateAs(key: string): Promise<() => Promise<string>> {
  const url = new URL("/console/operate", server.url);
  const body = new URLSearchParams({ credential: key });
  const headers = { origin: url.origin };
  const signedIn = await fetch(url, { method: "POST", body, headers, redirect: "manual" });
  const [cookie = ""] = signedIn.headers.getSetCookie();
  return async () => (await fetch(url, { headers: { cookie: cookie.split(";")[0]! } })).text();
}

const REFUSED = {
  code: -32603,
  message: "The storage of this server is full. Retry in 30 seconds.",
  data: { retryAfter: 30 },
};

/** Expects that a response says that there is no room, and when to come back. */
async function expectFull(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("30");
  expect(await response.json()).toMatchObject({ error: REFUSED });
}

test.skipIf(disk === undefined)(
  "a full disk is said to callers, to health checks, in the log and in Operate, and the server goes on when there is room",
  async () => {
    const args = ["--storage", join(disk!, "storage")];
    server = await host(folder, { args, variables: { API_KEYS } });
    expect(await (await next()).text()).toContain('"1"');
    expect(await storageOf()).toBeUndefined();
    const operate = await operateAs(keyOf("ada"));
    expect(await operate()).not.toContain(NOTICE);

    await fill();
    // Files have room for some writes. Its object is open: SQLite says so itself, before the host has looked.
    let stored = 1;
    let refused: Response;
    while ((refused = await next()).status === 200) stored += 1;
    await expectFull(refused);
    await expect.poll(healthOf).toMatchObject({ status: 200, storage: "full" });
    const { length } = server.output();
    // workerd hides why an object cannot be opened.
    await expectFull(await next("ben"));
    await expectFull(await next());
    // Calls that store nothing are served.
    expect(await (await called("greet", { name: "Ada" }, "ada")).text()).toContain("Hello, Ada!");
    expect(await operate()).toContain(NOTICE);
    expect(server.output()).toContain(`The disk of ${join(disk!, "storage")} is full.`);
    expect(server.output().slice(length)).not.toMatch(/SQLITE_FULL|internal error/);

    // A server that dies meanwhile is back, and says so again.
    process.kill(Number(await readFile(join(disk!, "storage/workerd.pid"), "utf8")), "SIGKILL");
    await expect
      .poll(() => healthOf().catch(() => {}), { timeout: 20_000 })
      .toMatchObject({ status: 200, storage: "full" });

    await makeRoom();
    await expect.poll(storageOf).toBeUndefined();
    expect(server.output()).toContain("has room again");
    // Nothing of the calls that failed was kept.
    expect(await (await next()).text()).toContain(`"${stored + 1}"`);
    expect(await operate()).not.toContain(NOTICE);
    expect(await (await next("ben")).text()).toContain('"1"');
  },
);

test.skipIf(disk === undefined)("a server that cannot start on a full disk says why", async () => {
  await fill();
  try {
    const args = ["--port", "0", "--worker", "built", "--storage", join(disk!, "other")];
    const { ended, output } = run(folder, { args });
    expect(await ended).toBe(1);
    expect(output()).toBe(
      "The server was not started.\nThe disk of the storage folder is full. Make room on it.\n",
    );
  } finally {
    await makeRoom();
  }
});
