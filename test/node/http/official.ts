import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type StreamableHTTPClientTransportOptions as Options,
} from "@modelcontextprotocol/client";
import { Client as ClientV1, type ClientOptions } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** The official clients of the revisions that have sessions, in one shape. */

/** The answer of a user, a model or a client's host to the params of a request. */
export type Answer = (params: any, extra: any) => object | Promise<object>;
const ASKS = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;
export type Answers = Partial<Record<(typeof ASKS)[number], Answer>>;

interface Setup {
  capabilities?: object;
  answers?: Answers;
  transport?: Pick<Options, "reconnectionOptions">;
  /** Of the v1 client alone. */
  tasks?: Pick<ClientOptions, "taskStore" | "taskMessageQueue">;
}

interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number }) => void;
}

export interface SessionClient {
  client: ClientV1 | ClientV2;
  transport: TransportV1 | TransportV2;
  /** The server's notifications and requests, in the order in which they came. */
  heard: { method: string; params?: any }[];
  /** Errors that the client reports in the messages it received. */
  errors: Error[];
  call(name: string, args?: object, options?: CallOptions): Promise<any>;
}

const INFO = { name: "test", version: "1.0.0" };

/** Hears every message before the client does. */
function listening({ client, transport }: Pick<SessionClient, "client" | "transport">) {
  const heard: SessionClient["heard"] = [];
  const errors: Error[] = [];
  const { onmessage } = transport as { onmessage?: (message: any) => void };
  Object.assign(client, { onerror: (error: Error) => errors.push(error) });
  Object.assign(transport, {
    onmessage(message: any) {
      if ("method" in message) heard.push({ method: message.method, params: message.params });
      onmessage?.(message);
    },
  });
  return { client, transport, heard, errors };
}

export async function connectV1(
  url: URL,
  { capabilities = {}, answers = {}, transport: options = {}, tasks = {} }: Setup,
): Promise<SessionClient & { client: ClientV1 }> {
  const client = new ClientV1(INFO, { capabilities, ...tasks });
  const {
    "elicitation/create": user,
    "sampling/createMessage": model,
    "roots/list": roots,
  } = answers;
  if (user)
    client.setRequestHandler(ElicitRequestSchema, (r, extra) => user(r.params, extra) as any);
  if (model)
    client.setRequestHandler(
      CreateMessageRequestSchema,
      (r, extra) => model(r.params, extra) as any,
    );
  if (roots)
    client.setRequestHandler(ListRootsRequestSchema, (r, extra) => roots(r.params, extra) as any);
  const transport = new TransportV1(url, options);
  await client.connect(transport as Transport);
  return {
    ...listening({ client, transport }),
    client,
    call: (name, args = {}, more) =>
      client.callTool({ name, arguments: { ...args } }, undefined, more),
  };
}

export async function connectV2(
  url: URL,
  { capabilities = {}, answers = {}, transport: options = {} }: Setup,
): Promise<SessionClient & { client: ClientV2 }> {
  // It takes the newest of the revisions that have sessions.
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode: "legacy" } });
  for (const method of ASKS) {
    const answer = answers[method];
    const answering = ({ params }: any, { mcpReq }: any) => answer?.(params, mcpReq) as any;
    if (answer) client.setRequestHandler(method, answering);
  }
  const transport = new TransportV2(url, options);
  await client.connect(transport);
  return {
    ...listening({ client, transport }),
    client,
    call: (name, args = {}, more) => client.callTool({ name, arguments: { ...args } }, more),
  };
}

export const clients = {
  "@modelcontextprotocol/sdk (v1)": connectV1,
  "@modelcontextprotocol/client (v2), legacy": connectV2,
} satisfies Record<string, (url: URL, setup: Setup) => Promise<SessionClient>>;

export const textOf = ({ content }: any): string => content[0].text;

/** A plan of the test servlet. */
export const steps = (...all: object[]) => ({ steps: all });
