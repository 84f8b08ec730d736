/** MCP servers of others, made with the official SDKs: of the revisions with sessions, and of 2026-07-28. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { McpServer as SessionServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as z from "zod";
import { closed, listening } from "../http/stand-in.ts";

/** A server that runs, and what it has heard. */
export interface RemoteServer {
  url: string;
  /** Messages of its clients, in order: their methods, "answer" for an answer. */
  heard: string[];
  /** Headers of its clients' requests. */
  headers: IncomingMessage["headers"][];
  /** Calls of tools that ran, by name. */
  ran: string[];
  /** Forgets its sessions. */
  forget(): void;
  close(): Promise<void>;
}

const CONFIRM = z.object({ confirm: z.boolean() });
const CONTENTS = {
  content: [
    { type: "text" as const, text: "hi", annotations: { audience: ["user" as const] } },
    { type: "image" as const, data: "AAAA", mimeType: "image/png" },
    { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" },
    { type: "resource" as const, resource: { uri: "note://one", text: "note" } },
    { type: "resource_link" as const, uri: "note://two", name: "two" },
  ],
  structuredContent: { ok: true },
  _meta: { "example.com/trace": "1" },
};

/** Starts a listener at this port, or at a free one, which records what it is sent. */
export async function remoteServer(
  listen: (parts: Pick<RemoteServer, "ran">) => {
    listener: (request: IncomingMessage, response: ServerResponse, body: any) => unknown;
    forget?: () => void;
  },
  port = 0,
): Promise<RemoteServer> {
  const [heard, headers, ran]: [string[], IncomingMessage["headers"][], string[]] = [[], [], []];
  const { listener, forget = () => {} } = listen({ ran });
  const recorded = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = text === "" ? undefined : JSON.parse(text);
    heard.push(body === undefined ? request.method! : (body.method ?? "answer"));
    headers.push(request.headers);
    await listener(request, response, body);
  };
  const recording: RequestListener = (request, response) => void recorded(request, response);
  const server = await listening(recording, port);
  const { port: at } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${at}/mcp`;
  return { url, heard, headers, ran, forget, close: () => closed(server) };
}

/** A server of 2026-07-28. */
export const modernServer = (port?: number): Promise<RemoteServer> =>
  remoteServer(({ ran }) => {
    const handler = createMcpHandler(() => {
      const server = new McpServer(
        { name: "modern", title: "Modern Notes", version: "1.0.0" },
        { instructions: "Look before you leap.", capabilities: { logging: {} } },
      );
      const text = z.object({ text: z.string() });
      server.registerTool(
        "echo",
        { description: "Says it again", inputSchema: text, annotations: { readOnlyHint: true } },
        ({ text: said }) => (ran.push("echo"), { content: [{ type: "text", text: said }] }),
      );
      server.registerTool(
        "contents",
        { outputSchema: z.object({ ok: z.boolean() }) },
        () => CONTENTS,
      );
      server.registerTool("fails", {}, () => ({
        content: [{ type: "text", text: "no luck" }],
        isError: true,
      }));
      server.registerTool("progress", {}, async (context) => {
        const token = (context.mcpReq as any)._meta?.progressToken;
        for (const progress of token === undefined ? [] : [1, 2])
          await context.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken: token, progress, total: 2, message: `step ${progress}` },
          });
        await context.mcpReq.log("warning", { disk: "full" }, "disk");
        return { content: [{ type: "text", text: "done" }] };
      });
      server.registerTool("confirm", { inputSchema: text }, ({ text: what }, context) => {
        const given = acceptedContent(context.mcpReq.inputResponses, "sure", CONFIRM);
        if (given === undefined && context.mcpReq.inputResponses !== undefined)
          return { content: [{ type: "text", text: "declined" }] };
        if (given === undefined)
          return inputRequired({
            inputRequests: {
              sure: inputRequired.elicit({ message: `Delete ${what}?`, requestedSchema: CONFIRM }),
            },
          });
        ran.push("confirm");
        return { content: [{ type: "text", text: given.confirm ? `deleted ${what}` : "kept" }] };
      });
      server.registerTool("waits", {}, async (context) => {
        await new Promise<void>((resolve) => {
          context.mcpReq.signal.addEventListener("abort", () => resolve());
        });
        ran.push("stopped");
        return { content: [] };
      });
      server.registerResource("one", "note://one", { mimeType: "text/plain" }, ({ href }) => ({
        contents: [{ uri: href, text: "the note" }],
      }));
      server.registerPrompt("greet", { argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Greet ${who}` } }],
      }));
      return server;
    });
    const listener = async (request: IncomingMessage, response: ServerResponse, body: any) => {
      const gone = new AbortController();
      response.on("close", () => gone.abort());
      const answer = await handler.fetch(
        new Request(`http://${request.headers.host}${request.url}`, {
          method: request.method!,
          headers: request.headers as Record<string, string>,
          ...(body !== undefined && { body: JSON.stringify(body) }),
          signal: gone.signal,
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) return response.end();
      const stream = Readable.fromWeb(answer.body as WebStream);
      stream.on("error", () => response.destroy());
      return stream.pipe(response);
    };
    return { listener };
  }, port);

/** Keeps the events of streams in memory. */
function eventStore(): EventStore {
  const events: { id: string; stream: string; message: any }[] = [];
  return {
    async storeEvent(stream, message) {
      const id = String(events.length + 1);
      events.push({ id, stream, message });
      return id;
    },
    async replayEventsAfter(last, { send }) {
      const at = events.findIndex(({ id }) => id === last);
      const { stream } = events[at]!;
      for (const event of events.slice(at + 1))
        if (event.stream === stream) await send(event.id, event.message);
      return stream;
    },
  };
}

/** A server of the 2025 era with sessions, whose streams can be resumed if it `stores` events. */
export const sessionServer = (
  { stores = false, delayMs = 0 }: { stores?: boolean; delayMs?: number } = {},
  port?: number,
): Promise<RemoteServer> =>
  remoteServer(({ ran }) => {
    const sessions = new Map<string, StreamableHTTPServerTransport>();
    const made = () => {
      const server = new SessionServer({ name: "sessions", version: "1.0.0" });
      let count = 0;
      server.registerTool("count", { description: "Counts the calls of a session" }, () => ({
        content: [{ type: "text", text: `call ${++count}` }],
      }));
      server.registerTool("progress", {}, async (extra) => {
        const progressToken = extra._meta?.progressToken ?? 0;
        for (const progress of [1, 2, 3])
          await extra.sendNotification({
            method: "notifications/progress",
            params: { progressToken, progress, total: 3 },
          });
        ran.push("progress");
        return { content: [{ type: "text", text: "done" }] };
      });
      server.registerTool("confirm", {}, async ({ requestId }) => {
        const answer = await server.server.elicitInput(
          {
            message: "Sure?",
            requestedSchema: { type: "object", properties: { confirm: { type: "boolean" } } },
          },
          { relatedRequestId: requestId },
        );
        if (delayMs > 0) await new Promise((resolve) => void setTimeout(resolve, delayMs));
        ran.push("confirm");
        return { content: [{ type: "text", text: JSON.stringify(answer) }] };
      });
      // As the documents of the SDK show it: the question comes on the session's own stream.
      server.registerTool("confirm_beside", {}, async () => {
        const answer = await server.server.elicitInput({
          message: "Sure?",
          requestedSchema: { type: "object", properties: { confirm: { type: "boolean" } } },
        });
        ran.push("confirm_beside");
        return { content: [{ type: "text", text: JSON.stringify(answer) }] };
      });
      server.registerTool("waits", {}, async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        ran.push("stopped");
        return { content: [] };
      });
      return server;
    };
    const listener = async (request: IncomingMessage, response: ServerResponse, body: any) => {
      const id = request.headers["mcp-session-id"] as string | undefined;
      let transport = id === undefined ? undefined : sessions.get(id);
      if (transport === undefined && body?.method === "initialize") {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (session) => void sessions.set(session, transport!),
          ...(stores && { eventStore: eventStore() }),
        });
        await made().connect(transport as any);
      }
      if (transport !== undefined) return transport.handleRequest(request, response, body);
      const error = { code: id === undefined ? -32000 : -32001, message: "Session not found" };
      response.writeHead(id === undefined ? 400 : 404, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    };
    return { listener, forget: () => sessions.clear() };
  }, port);
