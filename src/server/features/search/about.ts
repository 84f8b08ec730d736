import type { AboutFeature } from "../../kernel/about.ts";

export default {
  reasonIn: ({ profiles }) =>
    Object.values(profiles).some(({ tools }) => tools === "search")
      ? "profiles.json, which has tools searched"
      : undefined,
} satisfies AboutFeature;
