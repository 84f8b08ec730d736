import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Dirent } from "node:fs";
import {
  constants,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rmdir,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import * as z from "zod";
import { Refusal } from "../bundle/refusal.ts";
import { jsonIn } from "../../server/kernel/core/text.ts";
import { objectsIn, OWN_MODE, takeStorage, whileHeld } from "./storage.ts";

/** The file that lists the files of a backup. It is written last: without it, a backup is incomplete. */
const INDEX = "backup.json";
const FORMAT = 1;

/** True for a path that does not lead out of its folder. */
const isBelow = (path: string) => !isAbsolute(path) && !path.split(/[\\/]/).includes("..");

const indexSchema = z.object({
  format: z.literal(FORMAT),
  made: z.iso.datetime(),
  files: z.record(z.string().refine(isBelow), z.object({ bytes: z.int(), sha256: z.string() })),
});

type Files = z.infer<typeof indexSchema>["files"];

/** The size of a backup. `heldMs` is the time for which the server was paused. */
export interface Copied {
  files: number;
  bytes: number;
  heldMs: number;
}

/**
 * Copies the data of a server, which is paused during the copy. The copy is crash-consistent: it equals the data after
 * a power failure at that moment. Throws a `Refusal`.
 */
export async function backUp(storage: string, to: string): Promise<Copied> {
  const objects = objectsIn(resolve(storage));
  if ((await namesIn(objects)).length === 0)
    throw new Refusal(`There is nothing to back up in ${objects}. Name the storage: --storage DIR`);
  if ((await namesIn(to)).length > 0)
    throw new Refusal(`The folder ${to} is not empty. Name a new one for each backup.`);
  await mkdir(to, { recursive: true, mode: OWN_MODE });
  let heldMs = 0;
  const paths = await whileHeld(storage, async () => {
    const began = performance.now();
    const copied = await databasesIn(objects);
    await copyAll(copied, objects, objectsIn(to));
    heldMs = performance.now() - began;
    return copied;
  });
  const files: Files = {};
  for (const path of paths) files[path] = await described(join(objectsIn(to), path));
  const index = { format: FORMAT, made: new Date().toISOString(), files };
  const unfinished = join(to, `${INDEX}.unfinished`);
  await writeFile(unfinished, JSON.stringify(index, null, 1), { flush: true });
  await rename(unfinished, join(to, INDEX));
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  return { files: paths.length, bytes, heldMs };
}

/** Copies a backup into an empty storage folder. Throws a `Refusal`. */
export async function restoreBackup(from: string, storage: string): Promise<Copied> {
  const files = await verified(from);
  const taken = await takeStorage(storage, () => Promise.reject(new Error("no server runs")));
  try {
    if ((await namesIn(taken.objects)).length > 0)
      throw new Refusal(
        `${taken.objects} has data already, which a backup does not replace. Move it away, or name another folder: --storage DIR`,
      );
    const unfinished = `${taken.objects}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { mode: OWN_MODE });
    await copyAll(Object.keys(files), objectsIn(from), unfinished);
    // On Windows, `rename` does not replace an empty folder.
    if (process.platform === "win32") await rmdir(taken.objects);
    await rename(unfinished, taken.objects);
  } finally {
    await taken.release();
  }
  const sizes = Object.values(files).map(({ bytes }) => bytes);
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), heldMs: 0 };
}

/** The files of a backup, after a check of their digests. Throws a `Refusal`. */
async function verified(folder: string): Promise<Files> {
  const text = await readFile(join(folder, INDEX), "utf8").catch(() => undefined);
  if (text === undefined)
    throw new Refusal(
      `${folder} has no ${INDEX}: it is no backup, or one that was not finished. Use another backup.`,
    );
  const { data } = indexSchema.safeParse(jsonIn(text));
  if (data === undefined)
    throw new Refusal(
      `${join(folder, INDEX)} is damaged, or of another version. Use another backup.`,
    );
  for (const [path, { bytes, sha256 }] of Object.entries(data.files)) {
    const found = await described(join(objectsIn(folder), path)).catch(() => undefined);
    if (found?.bytes !== bytes || found.sha256 !== sha256)
      throw new Refusal(`${path} in ${folder} is missing or damaged. Use another backup.`);
  }
  return data.files;
}

/** The paths of databases and their logs. SQLite recreates a log's index (`-shm`). Throws a `Refusal`. */
async function databasesIn(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  const pathOf = (entry: Dirent) => relative(folder, join(entry.parentPath, entry.name));
  const link = all.find((entry) => entry.isSymbolicLink());
  if (link !== undefined)
    throw new Refusal(
      `${pathOf(link)} in ${folder} is a link, and what it leads to would not be in the backup. Put that in its place.`,
    );
  return all.filter((entry) => entry.isFile() && !entry.name.endsWith("-shm")).map(pathOf);
}

async function copyAll(paths: readonly string[], from: string, to: string): Promise<void> {
  for (const path of paths) {
    const copy = join(to, path);
    await mkdir(dirname(copy), { recursive: true, mode: OWN_MODE });
    await copyFile(join(from, path), copy, constants.COPYFILE_FICLONE);
  }
  for (const path of paths) await flushed(join(to, path));
}

async function described(path: string): Promise<Files[string]> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return { bytes: (await stat(path)).size, sha256: hash.digest("hex") };
}

async function flushed(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
