import type { Feature } from "../../kernel/kernel.ts";
import { mcpHandler } from "../../kernel/mcp-handler.ts";
import { failurePage } from "../people/errors.ts";
import { peopleFeature } from "../people/feature.ts";
import { addConsole } from "./routes.ts";

/** Pages in a browser: what the server offers, to try it, and what it does and did. */
export const consoleFeature: Feature = {
  name: "console",
  needs: [peopleFeature],
  start: (kernel) => ({
    failurePage: (raw, failure) => failurePage(kernel.site, raw, failure),
    routes: (app) =>
      addConsole(app, kernel, (identify, profile) => mcpHandler(kernel, identify, profile)),
  }),
};
