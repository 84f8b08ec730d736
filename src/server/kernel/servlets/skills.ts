/** Skills, folders of instructions for models, as a servlet or the project brings them. */
import type { PreparedServlet, Skills } from "./bundle.ts";
import { SERVER_SERVLET } from "./scopes.ts";

/** True if a skill of the project has the folder that the skills of a servlet with this name would have. */
export const isSkillOfProject = (servlets: readonly PreparedServlet[], name: string): boolean =>
  servlets.some(
    (one) =>
      one.name === SERVER_SERVLET &&
      one.skills?.files.some(({ path }) => path.startsWith(`${name}/`)),
  );

/** The characters of all entries of skills: each lists all files of its folder, also those of skills within it. */
export const entryCharacters = ({ skills, files }: Skills): number =>
  skills
    .flatMap(({ path }) => files.filter((file) => file.path.startsWith(`${path}/`)))
    .reduce((sum, file) => sum + file.path.length + DIGEST_CHARACTERS, 0);

const DIGEST_CHARACTERS = 100;
