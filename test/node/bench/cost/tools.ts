/** The tools of test/node/bench/servlets/costs for servers that are made with the official SDK. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

export interface Question {
  message: string;
  requestedSchema: object;
}

interface Ways {
  /** Of the API that is fetched. */
  url: string;
  /** Counts one more. */
  next?: () => number;
  /** Asks the user of the request with this id. */
  ask?: (question: Question, id: string | number) => Promise<{ content?: { name: string } }>;
}

const FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

export function addTools(server: McpServer, { url, next, ask }: Ways): void {
  const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool(
    "greet",
    { description: "Greets a person by name.", inputSchema: { name: z.string() } },
    ({ name }) => said(`Hello, ${name}!`),
  );
  server.registerTool("fetch", { description: "Greets with what an API says." }, async () =>
    said(`Hello, ${await (await fetch(url)).text()}!`),
  );
  if (next)
    server.registerTool("next", { description: "Counts one more." }, () => said(`${next()}`));
  if (ask)
    server.registerTool(
      "ask",
      { description: "Greets a person whose name it asks." },
      async (request) => {
        const question = { message: "Who are you?", requestedSchema: FORM };
        const { content } = await ask(question, request.requestId);
        return said(`Hello, ${content?.name}!`);
      },
    );
}
