/**
 * The fixtures of the official conformance suite; `greet`, which it also wants, is plugins/hello.
 * https://github.com/modelcontextprotocol/conformance/tree/main/src/scenarios/server
 */
import { defineServlet } from "edge-servlets/servlet";
import { asking } from "./asking.ts";
import { answering } from "./answering.ts";
import { prompts } from "./prompts.ts";
import { resources, resourceTemplates } from "./resources.ts";
import { rounds } from "./rounds.ts";
import { tasks } from "./tasks.ts";

export default defineServlet({
  // The suite calls the first tool that is listed without arguments.
  tools: { ...answering, ...asking, ...rounds, ...tasks },
  resources,
  resourceTemplates,
  prompts,
});
