import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { readProfiles } from "../../../src/tools/bundle/profiles.ts";
import { Refusal, Refusals } from "../../../src/tools/bundle/refusal.ts";
import { scan } from "../../../src/tools/bundle/scan.ts";
import { sourceIn } from "../../../src/tools/bundle/source.ts";
import { removeSource } from "../../../src/tools/bundle/sources/add.ts";
import { readPin, writePin } from "../../../src/tools/bundle/sources/lock.ts";
import { buildWarnings } from "../../../src/tools/bundle/toolchains.ts";

/** Folders of servlets with files that cannot be read. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "scan-"));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (name: string) => join(folder, name);

async function write(name: string, text = "") {
  await mkdir(dirname(at(name)), { recursive: true });
  await writeFile(at(name), text);
}

/** A file that is there and cannot be read, by nobody: a test may run as root. */
const unreadable = (name: string) => mkdir(at(name), { recursive: true });

async function scanned() {
  const refusals = new Refusals();
  const found = await scan({ folders: [folder], languages: LANGUAGES }, refusals);
  return { names: found.map(({ name }) => name), refused: refusals.messages };
}

test("a manifest that cannot be read is not taken for none", async () => {
  await write("notes/servlet.ts");
  await unreadable("notes/servlet.json");
  expect(await scanned()).toEqual({
    names: [],
    refused: [expect.stringMatching(/notes\/servlet\.json: it cannot be read: EISDIR/)],
  });
  await expect(removeSource("notes", [folder])).rejects.toThrow(/servlet\.json: it cannot be read/);
});

const hourly = { every: 3_600_000, tool: "x" };
test.each([
  [{ often: { every: 1000, tool: "x" } }, /schedules\.often: .*from 60000/],
  [{ never: { cron: "0 0 31 2 *", tool: "x" } }, /schedules\.never: .*there is no such day/],
  [
    Object.fromEntries(Array.from({ length: 101 }, (_, nth) => [`s${nth}`, hourly])),
    /too many schedules \(limit 100\)/,
  ],
])("schedules that no server runs are refused: %#", async (schedules, message) => {
  await write("notes/servlet.wat");
  await write("notes/servlet.json", JSON.stringify({ schedules }));
  expect(await scanned()).toEqual({ names: [], refused: [expect.stringMatching(message)] });
});

test("profiles that cannot be read are not taken for none", async () => {
  expect(await readProfiles(folder)).toBeUndefined();
  await unreadable("profiles.json");
  await expect(readProfiles(folder)).rejects.toThrow(/profiles\.json: it cannot be read: EISDIR/);
});

test("a lock file that cannot be read is not taken for an empty one", async () => {
  await unreadable("servlets.lock.json");
  expect(() => readPin(folder, "time")).toThrow(Refusal);
  expect(() => writePin(folder, "time", undefined)).toThrow(
    /lock\.json: it cannot be read: EISDIR/,
  );
});

test("a link to nothing is refused by its name, and other servlets are found", async () => {
  await write("notes/servlet.ts");
  await symlink(at("elsewhere"), at("gone"));
  expect(await scanned()).toEqual({
    names: ["notes"],
    refused: [expect.stringMatching(/gone: it is a link to nothing/)],
  });
});

test("a link to nothing beside sources, as editors make, is no source", async () => {
  await write("c/servlet.c");
  await symlink("ada@host.1:2", at("c/.#servlet.c"));
  expect((await sourceIn(at("c"), LANGUAGES))?.files).toEqual([at("c/servlet.c")]);
  await write("rust/Cargo.toml");
  await write("rust/servlet.wasm");
  await symlink("ada@host.1:2", at("rust/.#lib.rs"));
  const built = { place: at("rust"), source: { kind: "wasm", files: [at("rust/servlet.wasm")] } };
  expect(await buildWarnings(built, LANGUAGES)).toEqual([]);
});
