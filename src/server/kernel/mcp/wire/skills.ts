/**
 * The methods of the skills extension. Skills are resources of the catalog, so callers see only those of servlets they may use.
 * https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
 */
import { Fault } from "../../core/errors.ts";
import { isObject, type Json } from "../../core/model.ts";
import { oncePer } from "../../core/once-per.ts";
import { beginningOf, shortened } from "../../core/text.ts";
import type { Catalog } from "../../servlets/catalog.ts";
import type { Registry } from "../../servlets/registry.ts";
import { skillEntry } from "../../servlets/skills.ts";
import type { Introduction } from "../method.ts";
import { pageOf, uriIn } from "./params.ts";

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** True if a client with these capabilities has the extension. */
export const knowsSkills = ({ extensions }: Json): boolean =>
  isObject(extensions) && extensions[SKILLS_EXTENSION] !== undefined;

/** The entry of each skill in a catalog. */
export const skillsOf = oncePer(({ resources }: Catalog): { uri: string; entry: Json }[] =>
  [...resources].flatMap(([uri, { servlet, file }]) =>
    file?.skill
      ? [{ uri, entry: skillEntry(servlet, file.skill, (one) => resources.has(one)) }]
      : [],
  ),
);

export async function listSkills({ cursor }: Json, registry: Registry): Promise<Json> {
  const all = skillsOf(await registry.catalog());
  return pageOf(
    "skills",
    all.map(({ entry }) => entry),
    cursor,
  );
}

/** Throws `invalid_params` for a URI that is not that of a skill's `SKILL.md`. */
export async function getSkill(params: Json, registry: Registry): Promise<Json> {
  const uri = uriIn(params);
  const found = skillsOf(await registry.catalog()).find((one) => one.uri === uri);
  if (found !== undefined) return { skill: found.entry };
  throw new Fault("invalid_params", `There is no skill ${beginningOf(uri, 200)}. See skills/list.`);
}

/** The folder of all skills: the one whose URI ends with a slash. */
const ROOT = "skill://";

/** Lists the files and folders directly in a folder of skills. Throws `invalid_params` for any other URI. */
export async function readDirectory(params: Json, registry: Registry): Promise<Json> {
  const uri = uriIn(params);
  const inside = uri === ROOT ? uri : `${uri}/`;
  const { resources } = await registry.catalog();
  const children = new Map<string, Json>();
  for (const [fileUri, { file }] of uri.startsWith(ROOT) ? resources : []) {
    if (file === undefined || !fileUri.startsWith(inside)) continue;
    const [name = "", ...deeper] = fileUri.slice(inside.length).split("/");
    const folder = {
      uri: inside + name,
      name: decodeURIComponent(name),
      mimeType: "inode/directory",
    };
    children.set(name, deeper.length === 0 ? file.resource : folder);
  }
  if (children.size === 0)
    throw new Fault("invalid_params", `${beginningOf(uri, 200)} is no folder of skills.`);
  return pageOf("resources", [...children.values()], params["cursor"]);
}

/** The most skills that instructions name. */
const MOST_NAMED = 20;
/** Characters of each description there. */
const DESCRIPTION = 200;

/** The server's instructions, and for a client without the extension a line on each skill, which it can read as a resource. */
export async function withSkillsNamed(
  { instructions }: Introduction,
  registry: Registry,
  client: Json,
): Promise<{ instructions?: string }> {
  const skills = knowsSkills(client) ? [] : skillsOf(await registry.catalog());
  const lines = skills.slice(0, MOST_NAMED).map(({ uri, entry }) => {
    const { description } = entry["frontmatter"] as { description: string };
    return `- ${uri}: ${shortened(description.replaceAll(/\s+/g, " "), DESCRIPTION)}`;
  });
  const all = [
    ...(instructions === undefined ? [] : [instructions]),
    ...(lines.length === 0 ? [] : ["Instructions for some tasks are resources:", ...lines]),
  ];
  return all.length === 0 ? {} : { instructions: all.join("\n") };
}
