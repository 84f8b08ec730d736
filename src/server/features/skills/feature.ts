import type { Feature } from "../../kernel/kernel.ts";
import { getSkill, listSkills, readDirectory } from "./methods.ts";
import { skillsContributor, skillsOf } from "./skills.ts";

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** Returns the entry of each skill in a catalog. */
    skillsOf?: typeof skillsOf;
  }
}

/** Instructions for models that servlets or the project bring. */
export const skillsFeature: Feature = {
  name: "skills",
  start: () => ({
    catalog: skillsContributor,
    parts: { skillsOf },
    methods: {
      "skills/list": { look: listSkills, cache: "as lists" },
      "skills/get": { look: getSkill, cache: "as lists" },
      "resources/directory/read": { look: readDirectory },
    },
  }),
};
