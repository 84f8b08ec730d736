import { createApp } from "../../src/server/kernel/app.ts";
import { Kernel } from "../../src/server/kernel/kernel.ts";
import { bundle } from "../bundle.gen.ts";
import { settings } from "./settings.ts";

export { settings };

/** Everything that a test sends goes through the whole app, in workerd. */
export const app = createApp(new Kernel(bundle, settings));

export const URL_OF_MCP = "http://localhost:8787/mcp";

/** Sends a body as a client would. */
export function post(
  body: unknown,
  headers: Record<string, string> = {},
  server = app,
): Promise<Response> {
  const request = new Request(URL_OF_MCP, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return Promise.resolve(server.fetch(request));
}

export const VERSION = "2026-07-28";

/** A modern request with everything that one must have. */
export function modern(
  method: string,
  params: Record<string, unknown> = {},
  meta: Record<string, unknown> = {},
) {
  const name = params["name"] ?? params["uri"];
  return {
    body: {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": VERSION,
          "io.modelcontextprotocol/clientCapabilities": {},
          ...meta,
        },
      },
    },
    headers: {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
    } as Record<string, string>,
  };
}

export interface Answer {
  status: number;
  id?: unknown;
  result?: Record<string, any>;
  error?: { code: number; message: string; data?: any };
}

/** The one JSON message of a response; on a busy machine it may come as an event, after signs of life. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  const body = JSON.parse(event ?? text) as Omit<Answer, "status">;
  return { status: response.status, ...body };
}

export async function ask(method: string, params = {}, meta = {}, server = app): Promise<Answer> {
  const { body, headers } = modern(method, params, meta);
  return answerOf(await post(body, headers, server));
}

/** Calls a tool; gives its result, or the error as it is. */
export async function callTool(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  return ask("tools/call", { name, arguments: args });
}

/** The text of a tool's first block. */
export async function textOf(name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { result, error } = await callTool(name, args);
  if (result === undefined) throw new Error(`${name}: ${JSON.stringify(error)}`);
  return result["content"][0].text;
}

/** The messages of an event stream. */
export async function eventsOf(response: Response): Promise<any[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .filter((event) => event.includes("data: "))
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)));
}

/** The messages of an event stream that stays open, one by one; undefined when it has ended. */
export function listenerOf(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<any> => {
    const end = text.indexOf("\n\n");
    if (end < 0) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += value;
      return next();
    }
    const event = text.slice(0, end);
    text = text.slice(end + 2);
    return event.startsWith(":") ? next() : JSON.parse(event.slice(event.indexOf("data: ") + 6));
  };
  return { next, close: () => reader.cancel() };
}

/** True for the line about refused requests. It comes late, and is about those of all tests of an isolate. */
export const isAboutRefusals = (line: unknown): boolean =>
  String(line).startsWith("Refused in the last ");

/** Posts JSON to a URL of a server. */
export const postTo = (
  to: { fetch(request: Request): Response | Promise<Response> },
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  Promise.resolve(
    to.fetch(
      new Request(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body: JSON.stringify(body),
      }),
    ),
  );
