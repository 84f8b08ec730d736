/** Skills: folders of instructions for models, from a servlet or the project. */
import type { PreparedServlet, Skills } from "./bundle.ts";
import { SERVER_SERVLET } from "./scopes.ts";

/** True if a skill of the project uses the folder that the skills of a servlet with this name would have. */
export const isSkillOfProject = (servlets: readonly PreparedServlet[], name: string): boolean =>
  servlets.some(
    (one) =>
      one.name === SERVER_SERVLET &&
      one.skills?.files.some(({ path }) => path.startsWith(`${name}/`)),
  );

/** The characters of all skill entries: each lists all files of its folder, including those of nested skills. */
export const entryCharacters = ({ skills, files }: Skills): number =>
  skills
    .flatMap(({ path }) => files.filter((file) => file.path.startsWith(`${path}/`)))
    .reduce((sum, file) => sum + file.path.length + DIGEST_CHARACTERS, 0);

const DIGEST_CHARACTERS = 100;
