import type { Feature } from "../../kernel.ts";
import { mcpHandler } from "../../mcp-handler.ts";
import { failurePage } from "../../pages/errors.ts";
import { addConsole } from "../../pages/routes.ts";

/** Pages in a browser: what the server offers, to try it, and what it does and did. */
export const consoleFeature: Feature = {
  name: "console",
  start: (kernel) => ({
    failurePage: (raw, failure) => failurePage(kernel.site, raw, failure),
    routes: (app) =>
      addConsole(app, kernel, (identify, profile) => mcpHandler(kernel, identify, profile)),
  }),
};
