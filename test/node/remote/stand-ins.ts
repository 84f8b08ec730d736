/** MCP servers made of single answers, for what no SDK's server does. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { remoteServer, type RemoteServer } from "./remote-servers.ts";

/** Answers a message of a client. */
export type Answer = (body: any, response: ServerResponse, request: IncomingMessage) => unknown;

const running: RemoteServer[] = [];
/** Ends all these servers: to be called at the end of each file. */
export const endServers = (): Promise<unknown> =>
  Promise.all(running.splice(0).map((one) => one.close()));

/** The response with this result. */
export const result = (body: any, value: object) => ({
  jsonrpc: "2.0",
  id: body?.id,
  result: { resultType: "complete", ...value },
});

export const sendJson = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

export const sendText = (response: ServerResponse, text: string, type = "application/json") => {
  response.writeHead(200, { "content-type": type });
  response.end(text);
};

/** The tool of these servers. */
export const TOOL = {
  name: "do_it",
  description: "Does it",
  inputSchema: { type: "object", properties: { what: { type: "string" } } },
};

/** What a well-behaved server answers besides calls. */
export const PLAIN: Record<string, Answer> = {
  "server/discover": (body, response) =>
    sendJson(
      response,
      result(body, { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
    ),
  "tools/list": (body, response) => sendJson(response, result(body, { tools: [TOOL] })),
};

/** Starts a server with the answers that this function gives, by method; "answer" for messages without one. */
export async function serverWith(answers: () => Record<string, Answer>): Promise<RemoteServer> {
  const server = await remoteServer(() => ({
    listener: (request, response, body) => {
      const all = { ...PLAIN, ...answers() };
      const answer = all[body?.method ?? "answer"];
      return answer ? answer(body, response, request) : sendJson(response, {}, 404);
    },
  }));
  running.push(server);
  return server;
}

/** Begins a stream of events. Returns the function that sends one. */
export const events = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return (data: unknown, id = "") =>
    response.write(
      `${id && `id: ${id}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`,
    );
};
