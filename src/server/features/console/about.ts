import type { AboutFeature } from "../../kernel/about.ts";

export default {
  needs: ["people"],
  broughtInBy: ["ASSETS"],
} satisfies AboutFeature;
