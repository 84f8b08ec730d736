/**
 * Skills on the wire: https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx. They are
 * resources of the catalog, so that whoever may not use a servlet does not see its skills.
 */
import { Fault } from "../../core/errors.ts";
import { isObject, type Json } from "../../core/model.ts";
import { oncePer } from "../../core/once-per.ts";
import { beginningOf, shortened } from "../../core/text.ts";
import type { Catalog } from "../../servlets/catalog.ts";
import type { Registry } from "../../servlets/registry.ts";
import { skillEntry } from "../../servlets/skills.ts";
import type { Introduction } from "./exchange.ts";
import { pageOf, uriIn } from "./params.ts";

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** True for a client with these capabilities that knows skills. */
export const knowsSkills = ({ extensions }: Json): boolean =>
  isObject(extensions) && extensions[SKILLS_EXTENSION] !== undefined;

/** All skills, with their files. */
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

/** Throws `invalid_params` for a URI that is of no skill. */
export async function getSkill(params: Json, registry: Registry): Promise<Json> {
  const uri = uriIn(params);
  const found = skillsOf(await registry.catalog()).find((one) => one.uri === uri);
  if (found !== undefined) return { skill: found.entry };
  throw new Fault("invalid_params", `There is no skill ${beginningOf(uri, 200)}. See skills/list.`);
}

/** The folder of all skills: the one whose URI ends with a slash. */
const ROOT = "skill://";

/** The files and folders in a folder of skills. Throws `invalid_params` for a URI that is of none. */
export async function readDirectory(params: Json, registry: Registry): Promise<Json> {
  const uri = uriIn(params);
  const inside = uri === ROOT ? uri : `${uri}/`;
  const { resources } = await registry.catalog();
  const children = new Map<string, Json>();
  for (const [path, { file }] of uri.startsWith(ROOT) ? resources : []) {
    if (file === undefined || !path.startsWith(inside)) continue;
    const [name = "", ...deeper] = path.slice(inside.length).split("/");
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

/** Skills that instructions name, and the characters of each description there. */
const [NAMED, WORDS] = [20, 200];

/** The server's instructions; for a client that does not know skills, with a line on each, which it reads as a resource. */
export async function withSkillsNamed(
  { instructions }: Introduction,
  registry: Registry,
  client: Json,
): Promise<{ instructions?: string }> {
  const skills = knowsSkills(client) ? [] : skillsOf(await registry.catalog());
  const lines = skills.slice(0, NAMED).map(({ uri, entry }) => {
    const { description } = entry["frontmatter"] as { description: string };
    return `- ${uri}: ${shortened(description.replaceAll(/\s+/g, " "), WORDS)}`;
  });
  const all = [
    ...(instructions === undefined ? [] : [instructions]),
    ...(lines.length === 0 ? [] : ["Instructions for some tasks are resources:", ...lines]),
  ];
  return all.length === 0 ? {} : { instructions: all.join("\n") };
}
