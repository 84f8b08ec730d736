import { readdir, stat } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { transform, type TransformFailure } from "esbuild";
import {
  manifestSchema,
  normaliseKeys,
  type Manifest,
} from "../../server/kernel/servlets/manifest.ts";
import { nearest } from "../../server/kernel/core/nearest.ts";
import { RESERVED_NAMES } from "../../server/kernel/servlets/scopes.ts";
import { timingIn } from "../../server/features/schedules/schedule.ts";
import { firstDue } from "../../server/features/schedules/times.ts";
// It registers the features' names, which the schema of manifests then rejects.
import "./features.ts";
import { readablePath } from "./readable-files.ts";
import { Refusal, type Refusals } from "./refusal.ts";
import type { Language } from "./language.ts";
import { refuseMisnamed, sourceIn, type Source } from "./source.ts";
import { textIfThere } from "./text-file.ts";
import { buildCommandOf, commandIn } from "./toolchains.ts";
import { parseJson } from "../../server/kernel/core/text.ts";

/** A servlet found in its folder. */
export interface FoundServlet {
  name: string;
  /** A wasm file, or sources to build it from. */
  source: Source;
  manifest: Manifest;
  /** Its path, for messages. */
  place: string;
}

/** The folders of servlets, and the languages that they may be written in. */
export interface Places {
  folders: readonly string[];
  languages: readonly Language[];
}

/**
 * Finds the servlets in these folders: `<name>/` with a wasm file or a source in it, `<name>.wasm` or `<name>.wat`. A
 * given folder may itself be a servlet. Sorted by name.
 *
 * Collects refusals for a missing folder, a duplicate name, and an invalid manifest.
 */
export async function scan(
  { folders, languages }: Places,
  refusals: Refusals,
): Promise<FoundServlet[]> {
  const found = new Map<string, FoundServlet>();
  const add = (one: FoundServlet) => {
    if (RESERVED_NAMES.has(one.name)) {
      throw new Refusal(
        `${one.place}: the name ${one.name} is the server's own: rename the servlet`,
      );
    }
    const other = found.get(one.name);
    if (other !== undefined) {
      throw new Refusal(
        `${one.place}: there is another servlet ${one.name} in ${other.place}: rename one`,
      );
    }
    found.set(one.name, one);
  };
  for (const folder of folders) {
    const inFolder = (await refusals.collect(() => scanFolder(folder, languages, refusals))) ?? [];
    for (const one of inFolder) await refusals.collect(() => add(one));
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function scanFolder(
  folder: string,
  languages: readonly Language[],
  refusals: Refusals,
): Promise<FoundServlet[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) {
    throw new Refusal(`${folder}: there is no such folder. Make it, or name others in SERVLETS`);
  }
  // A .wasm or .wat file does not make its folder a servlet: the folder may hold several. Any other source does.
  const marks = new Set([
    "servlet.json",
    // Of a server for another SDK.
    "package.json",
    ...languages.flatMap((language) => ("files" in language ? language.files : [])),
  ]);
  if (entries.some(({ name }) => marks.has(name))) {
    const itself = await servletIn(folder, languages);
    if (itself !== undefined) return [itself];
  }
  const found: FoundServlet[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const state = await stat(path).catch(() => undefined);
    if (state === undefined) {
      // Other missing files, such as those of editors, were deleted after the folder was read.
      if (entry.isSymbolicLink()) await refusals.collect(() => refuseLink(path));
    } else if (state.isDirectory()) {
      const one = await refusals.collect(() => servletIn(path, languages));
      if (one !== undefined) found.push(one);
    } else if ([".wasm", ".wat"].includes(extname(entry.name))) {
      const name = basename(entry.name, extname(entry.name));
      const kind = extname(entry.name) === ".wasm" ? "wasm" : "wat";
      found.push({ name, source: { kind, files: [path] }, manifest: {}, place: path });
    }
  }
  if (found.length === 0) {
    await refuseMisnamed(
      folder,
      entries.map(({ name }) => name),
      languages,
    );
  }
  return found;
}

function refuseLink(path: string): never {
  throw new Refusal(`${path}: it is a link to nothing: correct it, or remove it`);
}

async function servletIn(
  folder: string,
  languages: readonly Language[],
): Promise<FoundServlet | undefined> {
  const path = join(folder, "servlet.json");
  await readablePath(folder, path, { asData: true });
  const text = await textIfThere(path);
  const beside = await sourceIn(folder, languages);
  const unbuilt =
    beside === undefined ? buildCommandOf(await readdir(folder), languages) : undefined;
  if (beside === undefined && text === undefined && unbuilt === undefined) return undefined;
  const manifest = text === undefined ? {} : await readManifest(path, text);
  const { source: origin } = manifest;
  const source = origin === undefined ? beside : { kind: "pinned" as const, files: [path], origin };
  if (source === undefined && unbuilt !== undefined) {
    throw new Refusal(
      `${folder}: it has a ${unbuilt.sign} and no .wasm: build it with ${commandIn(folder, unbuilt)}`,
    );
  }
  if (source === undefined) {
    throw new Refusal(
      `${path}: there is no servlet beside it: put a .wasm, a servlet.ts or another source into ${folder}, or name a "source"`,
    );
  }
  if (origin !== undefined && beside !== undefined) {
    throw new Refusal(
      `${path}: it has a "source", and ${beside.files[0]} is beside it: remove one`,
    );
  }
  return { name: basename(folder), source, manifest, place: folder };
}

/** Parses a manifest; `path` is for messages. Throws a `Refusal`. */
export async function readManifest(path: string, content: string): Promise<Manifest> {
  // Windows editors add a byte order mark.
  return checkManifest(path, await valueOfJson(path, content.replace(/^\uFEFF/, "")));
}

/** Parses a JSON file; `path` is for messages. Throws a `Refusal` with the line and column of the error. */
export async function valueOfJson(path: string, text: string): Promise<unknown> {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Refusal(`${path}: it is not JSON: ${await faultIn(text, error.message)}`);
  }
}

/** Describes the error in invalid JSON with its line and column, which JSON.parse does not always report. */
async function faultIn(text: string, message: string): Promise<string> {
  try {
    await transform(text, { loader: "json", logLevel: "silent" });
  } catch (error) {
    const [fault] = (error as TransformFailure).errors;
    if (fault?.location) {
      const { line, column } = fault.location;
      return `line ${line}, column ${column + 1}: ${fault.text}: correct it there`;
    }
  }
  return message;
}

/** Throws a `Refusal` if one of a manifest's schedules is never due. */
function demandTimes(path: string, { schedules = {} }: Manifest): void {
  for (const [name, declared] of Object.entries(schedules))
    try {
      firstDue(timingIn(declared), 0);
    } catch (error) {
      throw new Refusal(`${path}: schedules.${name}: ${(error as Error).message}`);
    }
}

/** Validates a manifest; `path` is its file. Throws a `Refusal` with the errors. */
export function checkManifest(path: string, value: unknown): Manifest {
  const read = manifestSchema().safeParse(normaliseKeys(value));
  if (read.success) {
    demandTimes(path, read.data);
    return read.data;
  }
  const messages = read.error.issues.map((issue) => {
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => unknownKey(key, issue.path)).join("; ");
    const why = issue.code === "invalid_key" ? issue.issues[0]!.message : issue.message;
    return [...(issue.path.length > 0 ? [issue.path.join(".")] : []), why].join(": ");
  });
  throw new Refusal(`${path}: ${messages.join("; ")}`);
}

function unknownKey(key: string, path: readonly PropertyKey[]): string {
  if (path.length > 0) return `${path.join(".")} has no key ${key}: correct it, or leave it out`;
  const known = Object.keys(manifestSchema().shape);
  const meant = nearest(key, known);
  const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return `the key ${key} is unknown; ${hint}`;
}
