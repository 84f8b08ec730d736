import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sweepEnded } from "../../../src/tools/host/sweep.ts";

/** Objects that have ended leave no files behind, and all others keep theirs. */

test("what is stored in any way is kept", async () => {
  const objects = await mkdtemp(join(tmpdir(), "sweep-"));
  const of = join(objects, "Kind");
  await mkdir(of);
  const make = async (digit: string, sql: string, ...beside: string[]) => {
    const id = digit.repeat(64);
    using database = new DatabaseSync(join(of, `${id}.sqlite`));
    database.exec(`PRAGMA journal_mode = WAL; ${sql}`);
    for (const suffix of beside) await writeFile(join(of, `${id}.${suffix}`), "");
  };
  const KV = "CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;";
  await make("a", KV);
  await make("b", "");
  await make("c", `${KV} INSERT INTO _cf_KV VALUES ('a', x'00')`);
  await make(
    "d",
    "CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB); INSERT INTO _cf_METADATA VALUES (1, 9007199254740993)",
  );
  await make("e", KV, "facets");
  await make("f", KV, "1.sqlite");
  await make("0", 'CREATE TABLE "a ""b" (c); INSERT INTO "a ""b" VALUES (NULL)');
  await writeFile(join(of, `${"1".repeat(64)}.sqlite`), "this is no database");
  await writeFile(join(of, "metadata.sqlite"), "");
  await writeFile(join(objects, "file"), "");
  expect(await sweepEnded(objects)).toBe(2);
  const kept = (await readdir(of)).filter((name) => /^.\w*\.sqlite$/.test(name));
  expect(new Set(kept.map(([first]) => first))).toEqual(new Set("01cdefm"));
  await rm(objects, { recursive: true });
});

test("a change that is in the log alone is kept: its server was killed", async () => {
  const objects = await mkdtemp(join(tmpdir(), "sweep-"));
  const path = join(objects, "Kind", `${"a".repeat(64)}.sqlite`);
  await mkdir(join(objects, "Kind"));
  const live = join(objects, "live");
  const database = new DatabaseSync(live);
  database.exec(
    "PRAGMA journal_mode = WAL; CREATE TABLE a (b); PRAGMA wal_checkpoint; INSERT INTO a VALUES (1)",
  );
  for (const suffix of ["", "-wal"]) await copyFile(live + suffix, path + suffix);
  database.close();
  expect(await sweepEnded(objects)).toBe(0);
  using again = new DatabaseSync(path);
  expect(again.prepare("SELECT b FROM a").all()).toHaveLength(1);
  await rm(objects, { recursive: true });
});
