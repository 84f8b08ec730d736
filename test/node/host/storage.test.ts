import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backUp, restoreBackup } from "../../../src/tools/host/backups.ts";
import { socketIn, takeStorage, whileHeld, type Storage } from "../../../src/tools/host/storage.ts";
import { configText, folderService } from "../../../src/tools/host/workerd-config.ts";
import { startWorkerd, NotStarted } from "../../../src/tools/host/workerd.ts";

/** The folder that a server keeps its state in, taken by several, by half of one, and with links in it. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "storage-"));
});
afterEach(() => rm(folder, { recursive: true }));

const storage = () => join(folder, "kept");
const noHold = () => Promise.reject(new Error("not held here"));
const take = () => takeStorage(storage(), noHold);

/** Of those who try to take the folder at once, those who have it. */
async function winners(count: number): Promise<Storage[]> {
  const tried = await Promise.allSettled(Array.from({ length: count }, take));
  return tried.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

test("several that take a folder at once never both have it, also behind one that died", async () => {
  for (let round = 0; round < 20; round++) {
    const have = await winners(4);
    expect(have.length).toBeLessThanOrEqual(1);
    await Promise.all(have.map((one) => one.release()));
    // What a server leaves behind that was killed.
    const script = `require("net").createServer().listen(${JSON.stringify(socketIn(storage()))}, () => process.kill(process.pid, "SIGKILL"))`;
    if (round % 5 === 0) await once(spawn(process.execPath, ["-e", script]), "exit");
  }
  const one = await take();
  await expect(take()).rejects.toThrow("in use by another server");
  await one.release();
  expect(await readdir(storage())).toEqual(["objects"]);
});

test("what it keeps is for its own user", async () => {
  const one = await take();
  await one.note(process.pid);
  expect((await stat(storage())).mode & 0o077).toBe(0);
  await one.release();
});

test("a folder whose socket may not be asked is not taken", async () => {
  const one = await take();
  await chmod(socketIn(storage()), 0);
  // The superuser may ask all.
  await expect(take()).rejects.toThrow(/in use by another server|cannot be asked/);
  await one.release();
});

test("a copy fails whose server ends meanwhile: the next one would write into the folder", async () => {
  const one = await takeStorage(storage(), () => Promise.resolve(() => {}));
  const copied = whileHeld(storage(), () => one.release());
  await expect(copied).rejects.toThrow("The server ended");
});

test("a server ends although somebody stays connected to it", async () => {
  const one = await take();
  const idle = connect(socketIn(storage()));
  await once(idle, "connect");
  const gone = once(idle, "close");
  await one.release();
  expect(await gone).toEqual([false]);
});

test("a backup is refused that would leave out what a link leads to", async () => {
  const one = await take();
  await writeFile(join(one.objects, "a.sqlite"), "a");
  await symlink(folder, join(one.objects, "Class"));
  await one.release();
  await expect(backUp(storage(), join(folder, "saved"))).rejects.toThrow(/Class.*link/);
});

test("a backup is for its own user, and nothing is restored that its index does not name", async () => {
  const one = await take();
  await mkdir(join(one.objects, "Task"));
  await writeFile(join(one.objects, "Task", "a.sqlite"), "a");
  await one.release();
  const forOthers = async (path: string) => (await stat(path)).mode & 0o077;
  const saved = join(folder, "saved");
  await backUp(storage(), saved);
  expect(await forOthers(saved)).toBe(0);
  // A folder that is there already has other permissions.
  const [made, other] = [join(folder, "made"), join(folder, "other")];
  for (const path of [made, other]) await mkdir(path, { mode: 0o755 });
  await backUp(storage(), made);
  expect(await forOthers(join(made, "objects"))).toBe(0);
  await writeFile(join(saved, "objects", "b.sqlite"), "not of the backup");
  await restoreBackup(saved, other);
  expect(await readdir(join(other, "objects"), { recursive: true })).toEqual([
    "Task",
    join("Task", "a.sqlite"),
  ]);
  expect(await forOthers(join(other, "objects"))).toBe(0);
  expect(await forOthers(join(other, "objects", "Task"))).toBe(0);
});

test("an index that leads out of the backup is refused", async () => {
  const one = await take();
  await writeFile(join(one.objects, "a.sqlite"), "a");
  await one.release();
  const saved = join(folder, "saved");
  await backUp(storage(), saved);
  const index = join(saved, "backup.json");
  const text = await readFile(index, "utf8");
  await writeFile(join(saved, "a.sqlite"), "a");
  await writeFile(index, text.replace('"a.sqlite"', '"../a.sqlite"'));
  await expect(restoreBackup(saved, join(folder, "other"))).rejects.toThrow("damaged");
  expect(await readdir(join(folder, "other")).catch(() => [])).not.toContain("a.sqlite");
});

test("workerd that ends before it is noted, or cannot be noted, is said not to have started", async () => {
  const options = { config: join(folder, "none.capnp"), files: folder, log() {} };
  const slow = startWorkerd({
    ...options,
    started: (pid) => expect.poll(() => isThere(pid)).toBe(false),
  });
  await expect(slow).rejects.toThrow(NotStarted);
  const config = join(folder, "idle.capnp");
  const socket = { name: "http", address: "127.0.0.1:0", http: {}, service: "files" };
  const services = [folderService("files", folder)];
  await writeFile(config, configText({ services, sockets: [socket] }));
  let pid = 0;
  const unnoted = startWorkerd({
    ...options,
    config,
    started: (of) => {
      pid = of;
      return Promise.reject(new Error("no space left"));
    },
  });
  await expect(unnoted).rejects.toThrow(NotStarted);
  await expect.poll(() => isThere(pid)).toBe(false);
});

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
