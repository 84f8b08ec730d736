/**
 * Serves skills, folders of instructions for models that a servlet or the project brings, as resources.
 * https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
 */
import { Fault } from "../core/errors.ts";
import type { Json, ReadResourceResult, Resource } from "../core/model.ts";
import type { PreparedServlet, Skill, Skills } from "./bundle.ts";
import type { Deployment } from "./deployment.ts";
import { SERVER_SERVLET } from "./scopes.ts";

/** The project's skills are those of the server's own servlet, and have no servlet's name in their URIs. */
const rootOf = ({ name }: Pick<PreparedServlet, "name">): string =>
  name === SERVER_SERVLET ? "skill://" : `skill://${name}/`;

/** True if a skill of the project has the folder that the skills of a servlet with this name would have. */
export const isSkillOfProject = (servlets: readonly PreparedServlet[], name: string): boolean =>
  servlets.some(
    (one) =>
      one.name === SERVER_SERVLET &&
      one.skills?.files.some(({ path }) => path.startsWith(`${name}/`)),
  );

const uriOf = (servlet: Pick<PreparedServlet, "name">, path: string): string =>
  rootOf(servlet) + path.split("/").map(encodeURIComponent).join("/");

/** A file of a servlet's skills as a resource; only a `SKILL.md` has its skill, and is listed. */
export interface SkillResource {
  resource: Resource;
  skill?: Skill;
}

/** A resource for each file of a servlet's skills. */
export function skillResources(servlet: PreparedServlet): SkillResource[] {
  const { skills = [], files = [] } = servlet.skills ?? {};
  const described = new Map(skills.map((skill) => [`${skill.path}/SKILL.md`, skill]));
  return files.map(({ path, type, size }) => {
    const skill = described.get(path);
    const file = { uri: uriOf(servlet, path), mimeType: type, size };
    if (skill === undefined)
      return { resource: { ...file, name: path.slice(path.lastIndexOf("/") + 1) } };
    const { name, description } = skill.frontmatter;
    return { resource: { ...file, name, description }, skill };
  });
}

/** The characters of all entries of skills: each lists all files of its folder, also those of skills within it. */
export const entryCharacters = ({ skills, files }: Skills): number =>
  skills
    .flatMap(({ path }) => files.filter((file) => file.path.startsWith(`${path}/`)))
    .reduce((sum, file) => sum + file.path.length + DIGEST_CHARACTERS, 0);

const DIGEST_CHARACTERS = 100;

/** A skill and all of its files that are served, as an entry of `skills/list` and `skills/get`. */
export const skillEntry = (
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

/**
 * The content of a file of a servlet's skills; undefined for any other URI. `part` gives bytes of an archive that is stored.
 *
 * Throws `not_found` where the archive is missing or too short.
 */
export async function readSkill(
  servlet: PreparedServlet,
  uri: string,
  part: Deployment["storedPart"],
): Promise<ReadResourceResult | undefined> {
  let from = 0;
  for (const { path, size, type, isText } of servlet.skills?.files ?? []) {
    if (uriOf(servlet, path) !== uri) {
      from += size;
      continue;
    }
    const { skills, parts } = servlet;
    const range = { offset: from, length: size };
    const stored = size > 0 && parts?.skills ? await part?.(parts.skills, range) : undefined;
    const bytes = new Uint8Array(
      skills!.archive?.slice(from, from + size) ?? stored ?? new ArrayBuffer(0),
    );
    if (bytes.length < size)
      throw new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });
    const about = { uri, mimeType: type };
    // A byte order mark stays, since the digest covers it.
    const text = () => new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
    return {
      contents: [isText ? { ...about, text: text() } : { ...about, blob: bytes.toBase64() }],
    };
  }
  return undefined;
}
