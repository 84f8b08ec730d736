/**
 * The skills of a servlet, as the bundle step finds and checks them: folders in `skills/`, each with a `SKILL.md`.
 * https://agentskills.io/specification
 */
import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { getMimeType } from "hono/utils/mime";
import * as z from "zod";
import { limits } from "../core/limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { percentDecoded } from "../core/text.ts";
import type { Skill, SkillFile, Skills } from "../servlets/bundle.ts";
import { entryCharacters } from "../servlets/skills.ts";
import { concatenate } from "../wasm/image.ts";
import { digestedFile, digestOf, type DigestedFile } from "./digests.ts";
import { Refusal } from "./refusal.ts";
import { demandInside, filesOf } from "./servlet-files.ts";
import { valueInYaml } from "./yaml.ts";

/** Every client accepts a skill of so many files: https://github.com/modelcontextprotocol/ext-skills (Limits). */
const MOST_FILES = 512;
/** Characters of the frontmatter, which is sent with every list of skills. */
const MOST_FRONTMATTER = 64 * 1024;

/** The skills of one folder, and the archive in the cache: all of their files, one after the other. */
export interface SkillArchive extends DigestedFile {
  skills: Skills;
}

/** Reads the skills of a servlet or project, from `skills/` in its folder; undefined if it has none. Throws a `Refusal`. */
export async function skillsIn(folder: string, cache: string): Promise<SkillArchive | undefined> {
  await demandInside(folder, "skills");
  const place = join(folder, "skills");
  if (!(await stat(place).catch(() => undefined))?.isDirectory()) return undefined;
  const all = await filesOf(place);
  const files = all.filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
  if (files.length === 0) return undefined;
  const texts = new Map<string, string>();
  const described = files.map(({ path, bytes }): SkillFile => {
    const text = textOf(bytes);
    if (text !== undefined) texts.set(path, text);
    const size = bytes.length;
    return { path, size, digest: digestOf(bytes), ...typeOf(path, text !== undefined) };
  });
  for (const { path } of described) {
    const [folderName = "", ...inside] = path.split("/");
    if (inside.length === 0)
      throw new Refusal(`skills/${path} is in no skill: move it into the folder of one`);
    if (!described.some((file) => file.path === `${folderName}/SKILL.md`))
      throw new Refusal(
        `skills/${folderName} has no SKILL.md: write it, with a name and a description, or remove the folder`,
      );
  }
  const skills = described
    .filter(({ path }) => posix.basename(path) === "SKILL.md")
    .map(({ path }) => skillAt(posix.dirname(path), texts.get(path)));
  const entries = entryCharacters({ skills, files: described });
  if (entries > limits.buildBytes)
    throw new Refusal(
      `the list of its skills' files has ${entries} characters, and ${limits.buildBytes} is the limit: nest skills less, and shorten paths`,
    );
  for (const skill of skills) demandWhole(skill, described, texts);
  const size = files.reduce((sum, file) => sum + file.bytes.length, 0);
  if (size > limits.skillBytes)
    throw new Refusal(
      `its skills have ${size} bytes, and ${limits.skillBytes} is the limit: move what is large elsewhere, and link to it`,
    );
  const bytes = concatenate(files.map((file) => file.bytes));
  const file = await digestedFile(cache, "skills", bytes);
  return { skills: { skills, files: described }, ...file };
}

/** Throws a `Refusal` for a skill of the project in the folder where clients see those of one of these servlets. */
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

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Media types by extension, where hono has none or another (`.ts` is a video there). */
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

/** The skill in this folder below `skills/`; `text` is its SKILL.md, undefined if that is not UTF-8. */
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
    return refuse(`has frontmatter that is not YAML: ${(error as Error).message}`);
  }
  return isObject(value) ? value : refuse("has frontmatter that is no map of names to values");
}

/** Throws a `Refusal` for a skill that has too many files, or whose Markdown links to files that it does not have. */
function demandWhole(
  { path: root }: Skill,
  files: readonly SkillFile[],
  texts: ReadonlyMap<string, string>,
): void {
  const own = files.map(({ path }) => path).filter((path) => path.startsWith(`${root}/`));
  if (own.length > MOST_FILES)
    throw new Refusal(
      `skills/${root} has ${own.length} files, and ${MOST_FILES} is the limit: put several into one`,
    );
  const there = new Set(own.flatMap((path) => [path, ...foldersOf(path)]));
  for (const path of own) {
    if (!path.endsWith(".md")) continue;
    for (const link of new Set(linksIn(texts.get(path) ?? ""))) {
      // Clients start from the skill's folder, and people from that of the file.
      const targets = [root, posix.dirname(path)].map((from) =>
        posix.join(from, link).replace(/\/$/, ""),
      );
      if (targets.some((target) => there.has(target))) continue;
      throw new Refusal(
        `skills/${path} links to ${link}, which is no file of the skill ${root}: write the file, or correct the link`,
      );
    }
  }
}

const foldersOf = (path: string): string[] =>
  path.includes("/") ? [posix.dirname(path), ...foldersOf(posix.dirname(path))] : [];

/** The relative links in Markdown, outside of code. */
function linksIn(text: string): string[] {
  const prose = text
    .replaceAll(/^[ \t]*(```|~~~)[^]*?^[ \t]*\1/gm, "")
    .replaceAll(/`[^`\n]*`/g, "");
  const links = prose.matchAll(/\]\(\s*<?([^()<>\s]+)>?(?:\s+["'(][^)\]]*)?\)/g);
  return [...links].flatMap(([, link]) => {
    const [path = ""] = link!.split(/[#?]/);
    return path === "" || /^[a-z][a-z0-9+.-]*:|^\/\//i.test(path) ? [] : [percentDecoded(path)];
  });
}
