import type { AboutFeature } from "../../kernel/about.ts";

export default {
  reasonIn: ({ profiles }) =>
    Object.values(profiles).some(({ as_tools: kinds = [] }) => kinds.length > 0)
      ? "profiles.json, which has resources or prompts as tools"
      : undefined,
} satisfies AboutFeature;
