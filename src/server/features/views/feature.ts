import type { Feature } from "../../kernel/kernel.ts";
import { viewsContributor } from "./views.ts";

/** Pages of servlets that clients show for results of their tools. */
export const viewsFeature: Feature = {
  name: "views",
  start: () => ({ catalog: viewsContributor }),
};
