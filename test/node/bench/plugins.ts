/**
 * The rows of large plugins, beside a call of a small one. The plugins are not part
 * of this project: `PLUGIN_CASES` names a folder that has one in each of `keeper` (small, in Rust), `diary`
 * (Go), `python` (RustPython) and `ledger` (SQLite), and rows of others are left out.
 */
import { existsSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle, type Member } from "../../../src/tools/bundle/bundle.ts";
import { bundleSource } from "../../../src/tools/bundle/bundle-module.ts";
import { Refusal } from "../../../src/tools/bundle/refusal.ts";
import type { Profiles } from "../../../src/server/kernel/servlets/profiles.ts";
import { OBJECTS } from "../objects.ts";
import { buildWorker } from "../workerd.ts";
import { modern, type Wanted } from "./kinds.ts";

/** The folder of a given plugin; undefined if there is none. */
export function pluginFolder(plugin: string): string | undefined {
  const folder = resolve(process.env["PLUGIN_CASES"] ?? "", plugin);
  return existsSync(join(folder, "plugin.wasm")) ? folder : undefined;
}

/** Why a row is left out whose plugin is not there. */
export const NOT_GIVEN = "PLUGIN_CASES names no folder that has their plugin";

const SMALL = "keeper";

/** The servlets by the prefix of their tools: a plugin, and what its manifest says besides. */
const SERVLETS: Record<string, { plugin: string; manifest?: object }> = {
  [SMALL]: { plugin: "keeper" },
  go: { plugin: "diary" },
  "go-once": { plugin: "diary", manifest: { start: "once" } },
  python: { plugin: "python" },
  "python-warm": {
    plugin: "python",
    manifest: { warm: [{ tool: "run", arguments: { code: "1" } }] },
  },
  sqlite: { plugin: "ledger", manifest: { env_vars: { db_path: ":memory:" } } },
};

interface PluginRow {
  servlet: string;
  tool: string;
  arguments?: object;
  /** Text that the answer must contain. */
  answer: string;
  /** The most CPU time that it may take, as a multiple of the small plugin's call. */
  target?: number;
}

const go = { tool: "calls", answer: String.raw`{\"calls\":1,` };
const python = { tool: "run", arguments: { code: "6 * 7" }, answer: '"text":"42"' };
const sqlite = { tool: "query", arguments: { sql: "SELECT 6 * 7" }, answer: '"rows":[[42]]' };

/**
 * Each is measured twice: calls that follow each other at once, and `Spaced` ones, with pauses between them.
 * A spaced call costs several times more, the small plugin's too; few Workers are busy all the time, so the
 * targets are for these.
 */
const LARGE_ROWS: Record<string, PluginRow> = {
  callGo: { servlet: "go", ...go, target: 3 },
  callGoOnce: { servlet: "go-once", ...go, target: 1.5 },
  callPython: { servlet: "python", ...python },
  callPythonWarm: { servlet: "python-warm", ...python, target: 1.6 },
  callSqlite: { servlet: "sqlite", ...sqlite, target: 1.2 },
};

const SPACED = "Spaced";
const isSpaced = (name: string) => name.endsWith(SPACED);
const PAUSE_MS = 10;

const ROWS: Record<string, PluginRow> = {
  ...Object.fromEntries(
    Object.entries(LARGE_ROWS).flatMap(([name, { target, ...row }]) => [
      [name, row],
      [name + SPACED, { ...row, ...(target && { target }) }],
    ]),
  ),
  /** An error that the guest returns. */
  callFails: { servlet: SMALL, tool: "count_then_fail", answer: "failed on purpose", target: 1.2 },
  callTraps: { servlet: SMALL, tool: "count_then_trap", answer: '"isError":true', target: 1.2 },
};

const wantedOf = ({ servlet, tool, arguments: given = {}, answer }: PluginRow) => {
  const name = `${servlet}-${tool}`;
  return {
    ...modern("tools/call", { name, arguments: given }, name),
    check: (body: string) => body.includes(answer),
  };
};

/** The call that is the measure of the others. */
const peer = wantedOf({ servlet: SMALL, tool: "count", answer: '"calls":1}' });

export interface PluginRows {
  kinds: Record<string, Wanted>;
  targets: Record<string, number>;
  /** Of the built Worker. */
  folder: string;
}

/** Bundles the plugins of these rows (none: of all) in `scratch` and builds their Worker; undefined without any. */
export async function pluginRows(scratch: string, only: string[]): Promise<PluginRows | undefined> {
  const wanted = Object.entries(ROWS).filter(([name]) => only.length === 0 || only.includes(name));
  if (wanted.length === 0) return undefined;
  await rm(scratch, { recursive: true, force: true });
  const members = new Map<string, Member>();
  for (const name of new Set([SMALL, ...wanted.map(([, { servlet }]) => servlet)])) {
    const member = await bundled(name, scratch);
    if (typeof member !== "string") members.set(name, member);
    else if (name === SMALL) return leaveOut(wanted, member);
    else
      leaveOut(
        wanted.filter(([, { servlet }]) => servlet === name),
        member,
      );
  }
  const rows = wanted.filter(([, { servlet }]) => members.has(servlet));
  return {
    kinds: Object.fromEntries(
      rows.map(([name, row]) => [
        name,
        { ...wantedOf(row), peer, connections: 1, ...(isSpaced(name) && { pauseMs: PAUSE_MS }) },
      ]),
    ),
    targets: Object.fromEntries(
      rows.flatMap(([name, { target }]) => (target === undefined ? [] : [[name, target]])),
    ),
    folder: await buildBundle([...members.values()], scratch),
  };
}

interface Extras {
  profiles?: Profiles;
  /** A module whose default export makes the Worker of that of the servlets, and which has further classes. */
  before?: string;
}

/** Writes the main module of a Worker that serves these servlets; returns its path. */
export async function writeMain(
  members: readonly Member[],
  scratch: string,
  { profiles, before }: Extras = {},
): Promise<string> {
  const out = join(scratch, "bundle.gen.ts");
  await mkdir(scratch, { recursive: true });
  await writeFile(out, bundleSource(members, out, undefined, { profiles }));
  const source = (path: string) => JSON.stringify(relative(scratch, path));
  const around =
    before === undefined
      ? ""
      : `import before from ${source(before)};
export * from ${source(before)};
`;
  const main = join(scratch, "index.ts");
  await writeFile(
    main,
    `import { createWorker } from ${source("src/server/worker.ts")};
import { bundle } from "./bundle.gen.ts";
${around}const { worker, objects } = createWorker(bundle);
export const { ${Object.values(OBJECTS).join(", ")} } = objects;
export default ${before === undefined ? "worker" : "before(worker)"};
`,
  );
  return main;
}

/** Builds a Worker that serves these servlets; returns its folder. */
export async function buildBundle(
  members: readonly Member[],
  scratch: string,
  extras: Extras = {},
): Promise<string> {
  const main = await writeMain(members, scratch, extras);
  return buildWorker(main, join(scratch, extras.before === undefined ? "built" : "before"));
}

function leaveOut(rows: [string, PluginRow][], why: string): undefined {
  console.log(`left out: ${rows.map(([name]) => name).join(", ")}: ${why}`);
}

/** A servlet of a given plugin, bundled; why it is not, where that is so. */
async function bundled(name: string, scratch: string): Promise<Member | string> {
  const { plugin, manifest } = SERVLETS[name]!;
  const given = pluginFolder(plugin);
  if (given === undefined) return NOT_GIVEN;
  const folder = join(scratch, name);
  await mkdir(folder, { recursive: true });
  await symlink(join(given, "plugin.wasm"), join(folder, "plugin.wasm"));
  await writeFile(join(folder, "servlet.json"), JSON.stringify({ prefix: name, ...manifest }));
  try {
    const [member] = await makeBundle({
      folders: [folder],
      languages: LANGUAGES,
      cache: ".bundle",
      progress: () => {},
    });
    return member!;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
