/**
 * Finds and checks the skills of a servlet: folders in `skills/`, each with a `SKILL.md`.
 * https://agentskills.io/specification
 */
import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { getMimeType } from "hono/utils/mime";
import * as z from "zod";
import { limits } from "../../server/features/installs/limits.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { percentDecoded } from "../../server/kernel/core/text.ts";
import type { Skill, SkillFile, Skills } from "../../server/kernel/servlets/bundle.ts";
import { entryCharacters } from "../../server/kernel/servlets/skills.ts";
import { concatenate } from "../../server/kernel/wasm/image.ts";
import { digestedFile, digestOf, type DigestedFile } from "./digests.ts";
import { Refusal } from "./refusal.ts";
import { demandInside, filesOf } from "./servlet-files.ts";
import { valueInYaml } from "./yaml.ts";

/**
 * Maximum files of a skill; all clients accept as many: https://github.com/modelcontextprotocol/ext-skills (Limits).
 */
const MOST_FILES = 512;
/** Maximum characters of the frontmatter, which is sent with every list of skills. */
const MOST_FRONTMATTER = 64 * 1024;

/** The skills of one folder, and the cached archive of their concatenated files. */
export interface SkillArchive extends DigestedFile {
  skills: Skills;
}

/** The skills of a folder, with warnings. */
export interface FoundSkills {
  /** Undefined if the folder has no valid skill. */
  archive?: SkillArchive;
  /** Messages about skills and folders that are left out, and about broken links. */
  warnings: string[];
}

/**
 * Reads the skills of a servlet or project from `skills/` in its folder. Leaves out invalid skills, with a warning.
 *
 * Throws a `Refusal` if the folder is a link to another place, or if the skills together are too large.
 */
export async function skillsIn(folder: string, cache: string): Promise<FoundSkills> {
  await demandInside(folder, "skills");
  const place = join(folder, "skills");
  if (!(await stat(place).catch(() => undefined))?.isDirectory()) return { warnings: [] };
  const warnings: string[] = [];
  const all = (await filesOf(place)).map(({ path, bytes }) => ({
    path,
    ...(path.endsWith(".md") ? inUtf8(bytes) : { bytes }),
  }));
  const texts = new Map<string, string>();
  const described = all.map(({ path, bytes }): SkillFile => {
    const text = textOf(bytes);
    if (text !== undefined) texts.set(path, text);
    const size = bytes.length;
    return { path, size, digest: digestOf(bytes), ...typeOf(path, text !== undefined) };
  });
  for (const { path, isGuessed } of all)
    if (isGuessed === true)
      warnings.push(
        `skills/${path} is not in Unicode, and was read as Windows-1252: save it as UTF-8`,
      );
  const skills: Skill[] = [];
  for (const { path } of described) {
    if (posix.basename(path) !== "SKILL.md") continue;
    try {
      const skill = skillAt(posix.dirname(path), texts.get(path));
      demandSmall(skill, described);
      skills.push(skill);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      warnings.push(`${error.message}. Until then this skill is left out.`);
    }
  }
  const roots = new Set(skills.map(({ path }) => path));
  const isInSkill = ({ path }: { path: string }) => foldersOf(path).some((one) => roots.has(one));
  const files = described.filter(isInSkill);
  warnings.push(...strayWarnings(described), ...linkWarnings(files, roots, texts));
  if (skills.length === 0) return { warnings };
  const entries = entryCharacters({ skills, files });
  if (entries > limits.buildBytes)
    throw new Refusal(
      `the list of its skills' files has ${entries} characters, and ${limits.buildBytes} is the limit: nest skills less, and shorten paths`,
    );
  const size = sizeOf(files);
  if (size > limits.skillBytes)
    throw new Refusal(
      `its skills have ${size} bytes, and ${limits.skillBytes} is the limit: move what is large elsewhere, and link to it`,
    );
  const bytes = concatenate(all.filter(isInSkill).map((file) => file.bytes));
  const file = await digestedFile(cache, "skills", bytes);
  return { archive: { skills: { skills, files }, ...file }, warnings };
}

const sizeOf = (files: readonly SkillFile[]): number =>
  files.reduce((sum, { size }) => sum + size, 0);

/** Warnings about folders without a SKILL.md. Files beside the folders, such as a README.md, need no warning. */
function strayWarnings(files: readonly SkillFile[]): string[] {
  const folders = new Map<string, boolean>();
  for (const { path } of files) {
    const [folder = "", ...inside] = path.split("/");
    const isSkill = posix.basename(path) === "SKILL.md";
    if (inside.length > 0) folders.set(folder, isSkill || folders.get(folder) === true);
  }
  return [...folders]
    .filter(([, hasSkill]) => !hasSkill)
    .map(
      ([folder]) =>
        `skills/${folder} has no SKILL.md, so its files are left out: write it, with a name and a description, or remove the folder`,
    );
}

/** Throws a `Refusal` for a skill of the project whose folder has the name of one of these servlets. */
export function demandOwnFolders(
  archive: SkillArchive | undefined,
  servlets: readonly string[],
): void {
  const taken = archive?.skills.skills.find(({ path }) => servlets.includes(path.split("/")[0]!));
  if (taken === undefined) return;
  throw new Refusal(
    `skills/${taken.path}: a servlet has this name, and its skills would be in the same folder: rename one of the two`,
  );
}

/**
 * Converts Markdown to UTF-8 without a byte order mark, which clients would treat as part of the text. Bytes that are
 * not valid Unicode are read as Windows-1252, the most likely encoding; then `isGuessed` is true.
 */
function inUtf8(bytes: Uint8Array): { bytes: Uint8Array<ArrayBuffer>; isGuessed?: boolean } {
  const [first, second] = bytes;
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const utf16 = isLittle ? "utf-16le" : isBig ? "utf-16be" : undefined;
  const isGuessed = utf16 === undefined && textOf(bytes) === undefined;
  const text = new TextDecoder(utf16 ?? (isGuessed ? "windows-1252" : "utf-8")).decode(bytes);
  return { bytes: new TextEncoder().encode(text), isGuessed };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Media types by extension, where hono has none or the wrong one (`.ts` is a video there). */
const TYPES: Readonly<Record<string, string>> = {
  md: "text/markdown",
  py: "text/x-python",
  sh: "text/x-shellscript",
  ts: "text/x-typescript",
  yaml: "application/yaml",
  yml: "application/yaml",
};

function typeOf(path: string, isText: boolean): Pick<SkillFile, "type" | "isText"> {
  const ending = posix.extname(path).slice(1).toLowerCase();
  const known = TYPES[ending] ?? getMimeType(path)?.replace(/;.*/, "");
  return { type: known ?? (isText ? "text/plain" : "application/octet-stream"), isText };
}

const frontmatterSchema = z.looseObject({
  name: z
    .string()
    .max(64)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be small letters and digits, with single hyphens"),
  description: z.string().trim().min(1, "is missing").max(1024),
  license: z.string().optional(),
  compatibility: z.string().min(1).max(500).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/** Parses the skill in this folder below `skills/`; `text` is its SKILL.md, or undefined if that is not UTF-8. */
function skillAt(path: string, text: string | undefined): Skill {
  const refuse = (why: string): never => {
    throw new Refusal(`skills/${path}/SKILL.md ${why}`);
  };
  const [, written] = /^---\r?\n([^]*?)\r?\n---(?:\r?\n|$)/.exec(text ?? "") ?? [];
  if (written === undefined)
    return refuse(
      "does not begin with frontmatter: write --- and, on lines of their own, name, description and --- again",
    );
  if (written.length > MOST_FRONTMATTER)
    return refuse(
      `has ${written.length} characters of frontmatter, and ${MOST_FRONTMATTER} is the limit`,
    );
  const frontmatter = frontmatterIn(written, refuse);
  const read = frontmatterSchema.safeParse(frontmatter);
  if (!read.success) {
    const faults = read.error.issues.map(
      ({ path: [key = "it"], message }) => `${String(key)} ${message}`,
    );
    return refuse(`has frontmatter that cannot be used: ${faults.join("; ")}`);
  }
  const name = posix.basename(path);
  if (name === ".")
    throw new Refusal("skills/SKILL.md is in no folder: move it into one of its name");
  if (read.data.name !== name)
    return refuse(
      `names the skill ${read.data.name}, and its folder is ${name}: give both one name`,
    );
  return { path, frontmatter: frontmatter as Skill["frontmatter"] };
}

function frontmatterIn(written: string, refuse: (why: string) => never): Json {
  let value: unknown;
  try {
    value = valueInYaml(written, 20);
  } catch (error) {
    value = looselyRead(written);
    if (value === undefined)
      return refuse(`has frontmatter that is not YAML: ${(error as Error).message}`);
  }
  return isObject(value) ? value : refuse("has frontmatter that is not a map of names to values");
}

/**
 * Reads frontmatter with unquoted strings that YAML requires to be quoted, as clients do: `description: Use it when:
 * asked`, `argument-hint: [file] [n]`. Undefined if the frontmatter is invalid for another reason.
 */
function looselyRead(written: string): Json | undefined {
  const entries = written.split(/\r?\n(?=[A-Za-z_][\w-]*:(?:\s|$))/);
  const values = entries.map((entry) => {
    const [, name, text] = /^([\w-]+):[ \t]+(\S[^]*)$/.exec(entry) ?? [];
    try {
      const value = valueInYaml(entry, 20);
      return isObject(value) ? Object.entries(value) : [];
    } catch {
      return name === undefined ? undefined : [[name, text!.trim().replaceAll(/\s*\n\s*/g, " ")]];
    }
  });
  if (values.includes(undefined)) return undefined;
  const all = values.flat() as [string, unknown][];
  const isTwice = new Set(all.map(([name]) => name)).size < all.length;
  return isTwice ? undefined : Object.fromEntries(all);
}

/** Throws a `Refusal` if this skill has too many files or bytes. */
function demandSmall({ path }: Skill, files: readonly SkillFile[]): void {
  const own = files.filter((file) => file.path.startsWith(`${path}/`));
  if (own.length > MOST_FILES)
    throw new Refusal(
      `skills/${path} has ${own.length} files, and ${MOST_FILES} is the limit: put several into one`,
    );
  const size = sizeOf(own);
  if (size > limits.skillBytes)
    throw new Refusal(
      `skills/${path} has ${size} bytes, and ${limits.skillBytes} is the limit: move what is large elsewhere, and link to it`,
    );
}

/** Warnings about links in Markdown that do not lead to a file or folder of these skills. */
function linkWarnings(
  files: readonly SkillFile[],
  roots: ReadonlySet<string>,
  texts: ReadonlyMap<string, string>,
): string[] {
  const there = new Set(files.flatMap(({ path }) => [path, ...foldersOf(path)]));
  return files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path }) => {
      // Clients resolve a link against the skill's folder, and people against the file's folder.
      const starts = foldersOf(path).filter((one) => roots.has(one) || one === posix.dirname(path));
      const isThere = (link: string) =>
        starts.some((from) => there.has(posix.join(from, link).replace(/\/$/, "")));
      return [...new Set(linksIn(texts.get(path) ?? ""))]
        .filter((link) => !isThere(link))
        .map(
          (link) =>
            `skills/${path} links to ${link}, which is not a file of a skill: write the file, or correct the link`,
        );
    });
}

const foldersOf = (path: string): string[] =>
  path.includes("/") ? [posix.dirname(path), ...foldersOf(posix.dirname(path))] : [];

/** The relative links in Markdown, outside of code and comments. */
function linksIn(text: string): string[] {
  const prose = text
    .replaceAll(/^[ \t]*(`{3,9}|~{3,9})[^]*?(^[ \t]*\1|$(?![^]))/gm, "")
    .replaceAll(/<!--[^]*?(-->|$(?![^]))/g, "")
    // Indented code. In a list, such lines may be text; then a broken link there goes unnoticed.
    .replaceAll(/(?<=^[ \t]*\r?\n)(( {4}| {0,3}\t).*(\r?\n|$))+/gm, "")
    .replaceAll(/``[^\n]*?``|`[^`\n]*`/g, "");
  const links = prose.matchAll(/\]\(\s*<?([^()<>\s]+)>?(?:\s+["'(][^)\]]*)?\)/g);
  return [...links].flatMap(([, link]) => {
    const [path = ""] = link!.split(/[#?]/);
    return path === "" || /^[a-z][a-z0-9+.-]*:|^\/\//i.test(path) ? [] : [percentDecoded(path)];
  });
}
