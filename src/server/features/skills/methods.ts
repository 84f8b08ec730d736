/**
 * The methods of the skills extension. Skills are resources of the catalog, so callers see only those of servlets they may use.
 * https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
 */
import { Fault } from "../../kernel/core/errors.ts";
import type { Json } from "../../kernel/core/model.ts";
import { beginningOf } from "../../kernel/core/text.ts";
import { pageOf, uriIn } from "../../kernel/mcp/wire/params.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { skillFiles, skillsOf } from "./skills.ts";

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

/** The folder of all skills, the only URI that ends with a slash. */
const ROOT = "skill://";

/** Lists the files and folders directly in a folder of skills. Throws `invalid_params` for any other URI. */
export async function readDirectory(params: Json, registry: Registry): Promise<Json> {
  const uri = uriIn(params);
  const inside = uri === ROOT ? uri : `${uri}/`;
  const catalog = await registry.catalog();
  const children = new Map<string, Json>();
  for (const [fileUri, { resource }] of uri.startsWith(ROOT) ? skillFiles(catalog) : []) {
    if (!fileUri.startsWith(inside)) continue;
    const [name = "", ...deeper] = fileUri.slice(inside.length).split("/");
    const folder = {
      uri: inside + name,
      name: decodeURIComponent(name),
      mimeType: "inode/directory",
    };
    children.set(name, deeper.length === 0 ? resource : folder);
  }
  if (children.size === 0)
    throw new Fault("invalid_params", `${beginningOf(uri, 200)} is no folder of skills.`);
  return pageOf("resources", [...children.values()], params["cursor"]);
}
