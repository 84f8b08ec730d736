/** Checks the types of servlets with the same settings as editors: `src/kit/servlets.tsconfig.json`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve, sep } from "node:path";
import { promisify } from "node:util";
import {
  contentHash,
  fileTime,
  filesDigest,
  haveChanged,
  readIfThere,
  writeWhole,
} from "../../tools/bundle/cache.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { instead } from "./messages.ts";
import { PREACT, VIEW_LIBRARY } from "../../tools/bundle/view-page.ts";
import { sdk } from "./script.ts";

const run = promisify(execFile);
const tsc = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);

/**
 * Checks the types of several servlets in one run of the compiler. Skips the check if all servlets have passed one
 * since the files that it read were last changed.
 *
 * Throws a `Refusal` with the compiler's messages.
 */
export async function checkTypes(
  entries: readonly string[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  await checkAll(entries, { cache, progress, settingsFor, whose: "servlet" });
}

/**
 * Checks the types of view scripts, with the globals of a page. A view may import types of its servlet, which is
 * written for other globals. Errors in the servlet's files are ignored here, since `checkTypes` reports them.
 *
 * Throws a `Refusal` with the compiler's messages.
 */
export async function checkViewTypes(
  scripts: readonly string[],
  servlets: readonly string[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  const beside = new Set(servlets.map((path) => resolve(path)));
  const isTheirs = (file: string) => beside.has(file) || file.startsWith(`${sdk}${sep}`);
  const how = { cache, progress, settingsFor: settingsForViews, whose: "view", isTheirs };
  await checkAll(
    scripts.filter((path) => /\.tsx?$/.test(path)),
    how,
  );
}

interface Checking {
  cache: string;
  progress: (doing: string) => void;
  settingsFor: (entries: readonly string[]) => string;
  /** The kind of the checked files, for messages. */
  whose: string;
  /** True for files whose errors are ignored. */
  isTheirs?: (file: string) => boolean;
}

async function checkAll(
  entries: readonly string[],
  { cache, progress, settingsFor, whose, isTheirs = () => false }: Checking,
): Promise<void> {
  if (entries.length === 0) return;
  const settings = settingsFor(entries);
  const note = noteOf(settings, cache);
  const notes = entries.map((entry) => noteOf(settingsFor([entry]), cache));
  if ((await areUpToDate([note])) || (await areUpToDate(notes))) return;
  await mkdir(cache, { recursive: true });
  // A unique name, because another check may be running.
  const config = join(cache, `tsconfig.${nameOf(settings)}.json`);
  await writeFile(config, settings);
  const begin = await fileTime(cache);
  progress(`checking the types of ${entries.join(", ")}`);
  const output = await outputOf(config);
  const messages = messagesIn(messagesBut(isTheirs, output));
  if (messages !== "") {
    throw new Refusal(`The ${whose}'s types are not right. Correct these errors:\n${messages}`);
  }
  const files = filesIn(output);
  const passed = JSON.stringify({ files, digest: await filesDigest(files) });
  if (await haveChanged(files, begin)) return;
  await Promise.all([...new Set([note, ...notes])].map((path) => writeWhole(path, passed)));
}

/**
 * The compiler's output: its messages, and the files that it read.
 *
 * Throws a `Refusal` if the compiler did not finish, for example if it was killed or its native program is missing.
 */
async function outputOf(config: string): Promise<string> {
  const command = [tsc, "-p", config, "--pretty", "false", "--listFiles"];
  const { stdout, stderr, code, signal } = await run(process.execPath, command, {
    maxBuffer: 1 << 26,
  }).then(
    (printed) => ({ ...printed, code: 0, signal: null }),
    (error: unknown) => {
      if (!(error instanceof Error) || !("stdout" in error)) throw error;
      return error as Error & ProcessFailure;
    },
  );
  const isFinished =
    code === 0 ? filesIn(stdout).length > 0 : typeof code === "number" && messagesIn(stdout) !== "";
  if (isFinished) return stdout;
  throw new Refusal(
    `The compiler of TypeScript ended (${signal ?? `exit code ${code}`}) before it had checked the types: try again, and run npm install again if that does not help.\n${stderr.trim()}`.trim(),
  );
}

/** The output and exit code of a failed process. */
interface ProcessFailure {
  stdout: string;
  stderr: string;
  code: number | string | null;
  signal: string | null;
}

const settingsFor = (entries: readonly string[]): string =>
  JSON.stringify({
    extends: join(sdk, "servlets.tsconfig.json"),
    files: [join(sdk, "ambient.d.ts"), ...entries.map((entry) => resolve(entry))],
  });

const settingsForViews = (entries: readonly string[]): string =>
  JSON.stringify({
    extends: join(VIEW_LIBRARY, "views.tsconfig.json"),
    compilerOptions: {
      paths: {
        "edge-servlets/servlet": [join(sdk, "servlet")],
        "edge-servlets/files": [join(sdk, "files")],
        "edge-servlets/api": [join(sdk, "api")],
        "edge-servlets/remote": [join(sdk, "remote")],
        "edge-servlets/view": [join(VIEW_LIBRARY, "index")],
        "zod/mini": [join(sdk, "zod-mini")],
        // A view does not have to install preact.
        ...preactTypes(),
      },
    },
    files: [join(VIEW_LIBRARY, "assets.d.ts"), ...entries.map((entry) => resolve(entry))],
  });

/** The paths of preact's types, by module name. */
function preactTypes(): Record<string, string[]> {
  const { exports } = JSON.parse(readFileSync(join(PREACT, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, { types }]) =>
      types === undefined ? [] : [[`preact${name.slice(1)}`, [join(PREACT, types)]]],
    ),
  );
}

/**
 * The compiler's output without messages of these files. Messages begin with the path; their further lines are
 * indented.
 */
function messagesBut(isTheirs: (file: string) => boolean, output: string): string {
  let isTold = true;
  return output
    .split("\n")
    .filter((line) => {
      const [, file] = /^(\S[^(]*)\(\d+,\d+\): /.exec(line) ?? [];
      if (file !== undefined) isTold = !isTheirs(resolve(file));
      else if (!line.startsWith(" ")) isTold = true;
      return isTold;
    })
    .join("\n");
}

const nameOf = (settings: string): string => contentHash(settings).slice(0, 32);

/** The cache file that records which files the last check with these settings read, and their digest. */
const noteOf = (settings: string, cache: string): string =>
  join(cache, `${nameOf(settings)}.types.json`);

/** True if all of these records exist, and none of their files has changed. */
async function areUpToDate(notes: readonly string[]): Promise<boolean> {
  const known = await Promise.all(notes.map((note) => readIfThere(note)));
  if (known.includes(undefined)) return false;
  // Servlets that were checked together have the same record.
  const texts = new Set(known.map((note) => new TextDecoder().decode(note)));
  for (const text of texts) {
    const { files, digest } = JSON.parse(text);
    // Version 0.2 recorded no files if the compiler had failed.
    if (files.length === 0 || (await filesDigest(files)) !== digest) return false;
  }
  return true;
}

/** A line of the file list that `--listFiles` prints. */
const LISTED = /^(?:\/|[A-Za-z]:[\\/])(?![^\n]*\(\d+,\d+\): )[^\n]*$\n?/gm;

const filesIn = (output: string): string[] =>
  (output.match(LISTED) ?? []).map((line) => line.trimEnd());

/** The compiler's messages without the file list, and with advice for servlets. */
function messagesIn(output: string): string {
  const messages = output
    .replace(LISTED, "")
    .replace(
      /(Cannot find name '(?:node:)?([\w/]+)')\. Do you need[^\n]*/g,
      (_, found: string, name: string) => `${found}. ${instead(name)}`,
    )
    // Declaration files must be referenced, because the check includes the servlet's file but not its folder.
    .replace(
      / if it exists or add a new declaration \(\.d\.ts\) file containing `(declare module '([^']+)';)`/g,
      (_, line: string, name: string) => {
        const file = `${name.replace(/^@/, "").replace(/\W+/g, "-")}.d.ts`;
        return `, and save again. If there is none, write \`${line}\` to ${file} beside the file that imports it, which begins with: /// <reference path="./${file}" />`;
      },
    )
    .trim();
  const returnsNothing = /'(void|undefined)' is not assignable to type '[^\n]*\bToolOutput\b/;
  return returnsNothing.test(messages)
    ? `${messages}\nThe handler of a tool must return something: null, if there is nothing to say.`
    : messages;
}
