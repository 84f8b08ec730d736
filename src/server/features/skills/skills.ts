/**
 * Serves skills, folders of instructions for models that a servlet or the project brings, as resources.
 * https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
 */
import { noResource } from "../../kernel/core/errors.ts";
import { isObject, type Json, type Resource } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import { shortened } from "../../kernel/core/text.ts";
import type { PreparedServlet, Skill, SkillFile } from "../../kernel/servlets/bundle.ts";
import type { Catalog, Contributor, OwnResource } from "../../kernel/servlets/catalog.ts";
import { SERVER_SERVLET } from "../../kernel/servlets/scopes.ts";

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** Skills in the catalog: each file is a resource, and a `SKILL.md` is listed. */
export const skillsContributor: Contributor = {
  resources: (servlet) => [...filesOf(servlet).values()].map(({ file }) => file),
  extensions: (catalog, client, isModern) =>
    (isModern || knowsSkills(client)) && skillsOf(catalog).length > 0
      ? { [SKILLS_EXTENSION]: { directoryRead: true } }
      : {},
  // A client without the extension can read a skill as a resource.
  instructions(catalog, client) {
    const named = knowsSkills(client) ? [] : skillsOf(catalog).slice(0, MOST_NAMED);
    const lines = named.map(({ uri, entry }) => {
      const { description } = entry["frontmatter"] as { description: string };
      return `- ${uri}: ${shortened(description.replaceAll(/\s+/g, " "), DESCRIPTION)}`;
    });
    return lines.length === 0 ? [] : ["Instructions for some tasks are resources:", ...lines];
  },
};

/** Maximum number of skills named in the instructions. */
const MOST_NAMED = 20;
/** Maximum characters of each description there. */
const DESCRIPTION = 200;

/** True if a client with these capabilities has the extension. */
const knowsSkills = ({ extensions }: Json): boolean =>
  isObject(extensions) && extensions[SKILLS_EXTENSION] !== undefined;

/** The root URI of a servlet's skills: without a name for those of the project, which the server's own servlet has. */
const rootOf = ({ name }: Pick<PreparedServlet, "name">): string =>
  name === SERVER_SERVLET ? "skill://" : `skill://${name}/`;

const uriOf = (servlet: Pick<PreparedServlet, "name">, path: string): string =>
  rootOf(servlet) + path.split("/").map(encodeURIComponent).join("/");

/** The files of a servlet's skills by URI; a `SKILL.md` comes with the skill that it describes. */
const filesOf = oncePer((servlet: PreparedServlet) => {
  const { skills = [], files = [] } = servlet.skills ?? {};
  const described = new Map(skills.map((skill) => [`${skill.path}/SKILL.md`, skill]));
  let offset = 0;
  const all = new Map<string, { file: OwnResource; skill?: Skill }>();
  for (const one of files) {
    const { path, type: mimeType, size } = one;
    const uri = uriOf(servlet, path);
    const skill = described.get(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const about = skill
      ? { name: skill.frontmatter.name, description: skill.frontmatter.description }
      : { name };
    const resource = { uri, mimeType, size, ...about };
    const read = reader(servlet, resource, { ...one, offset });
    const file: OwnResource = { kind: "skills", resource, read };
    all.set(uri, skill ? { file, skill } : { file: { ...file, isUnlisted: true } });
    offset += size;
  }
  return all;
});

/** Returns a function that reads a file. It throws `not_found` where the archive is missing or too short. */
const reader =
  (
    { skills, parts }: PreparedServlet,
    { uri, mimeType }: Resource,
    { offset, size, isText }: SkillFile & { offset: number },
  ): OwnResource["read"] =>
  async (stored) => {
    const range = { offset, length: size };
    const part = size > 0 && parts?.skills ? await stored?.(parts.skills, range) : undefined;
    const bytes = new Uint8Array(
      skills!.archive?.slice(offset, offset + size) ?? part ?? new ArrayBuffer(0),
    );
    if (bytes.length < size) throw noResource(uri);
    // A byte order mark stays, since the digest covers it.
    const text = () => new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
    const content = isText ? { text: text() } : { blob: bytes.toBase64() };
    return { contents: [{ uri, mimeType, ...content }] };
  };

/** The entry of each skill in a catalog, as `skills/list` and `skills/get` return it. */
export const skillsOf = oncePer((catalog: Catalog): { uri: string; entry: Json }[] =>
  skillFiles(catalog)
    .flatMap(([uri, { servlet }]) => {
      const { skill } = filesOf(servlet).get(uri) ?? {};
      const isServed = (one: string) => catalog.resources.has(one);
      return skill ? [{ uri, entry: skillEntry(servlet, skill, isServed) }] : [];
    })
    .toArray(),
);

/** The files of skills in a catalog, by URI. */
export const skillFiles = ({ resources }: Pick<Catalog, "resources">) =>
  resources.entries().filter(([, { kind }]) => kind === "skills");

/** A skill and all of its files that are served. */
const skillEntry = (
  servlet: PreparedServlet,
  { path, frontmatter }: Skill,
  isServed: (uri: string) => boolean,
): Json => ({
  uri: uriOf(servlet, `${path}/SKILL.md`),
  frontmatter,
  resources: servlet
    .skills!.files.filter((file) => file.path.startsWith(`${path}/`))
    .map((file) => ({
      uri: uriOf(servlet, file.path),
      digest: `sha256:${file.digest}`,
      size: file.size,
    }))
    .filter(({ uri }) => isServed(uri)),
});
