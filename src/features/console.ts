import type { Feature } from "../kernel.ts";
import { mcpHandler } from "../mcp-handler.ts";
import { addConsole } from "../pages/routes.ts";

/** Pages in a browser: what the server offers, to try it, and what it does and did. */
export const consoleFeature: Feature = {
  name: "console",
  start: (kernel) => ({
    routes: (app) =>
      addConsole(app, kernel, (identify, profile) => mcpHandler(kernel, identify, profile)),
  }),
};
