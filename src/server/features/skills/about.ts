import type { AboutFeature } from "../../kernel/about.ts";

export default {
  isForInstalled: true,
  reasonIn({ servlets, hasSkills }) {
    const skilled = servlets.find((one) => one.hasSkills);
    if (skilled) return `the servlet ${skilled.name}, which has skills`;
    return hasSkills ? "the skills of the project" : undefined;
  },
} satisfies AboutFeature;
