// Passes calls on to two MCP servers of the simulation: one without sessions, and one with them.
import { defineRemote } from "edge-servlets/remote";
import { defineServlet } from "edge-servlets/servlet";

const NUMBER = {
  type: "object",
  properties: { number: { type: "string" } },
  required: ["number"],
} as const;

/** A server whose tools begin with a word: one has an effect, and one asks before it has. */
const remote = (word: string, version: string, session: boolean) =>
  defineRemote({
    name: word,
    url: `https://${word}.example/mcp`,
    version,
    session,
    taken: "2026-11-29",
    tools: [
      { name: `${word}_do`, inputSchema: NUMBER },
      { name: `${word}_ask`, inputSchema: NUMBER },
    ],
  });

const [modern, older] = [
  remote("modern", "2026-07-28", false),
  remote("older", "2025-11-25", true),
];

export default defineServlet({ ...modern, tools: { ...modern.tools, ...older.tools } });
