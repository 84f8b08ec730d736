/** Requests before they are bytes: who sends them, and what a good one has. */

export type Json = Record<string, any>;

export const PRINCIPALS = ["alice", "bob", "carol"] as const;
export type Name = (typeof PRINCIPALS)[number];

/** Each principal's arguments have it; nobody else may see it. */
export const markOf = (name: Name): string => `mark-of-${name}-f5c9`;
export const keyOf = (name: Name): string => `key-of-${name}-1b7d2c6e`;

/** A request before it is bytes. */
export interface Draft {
  as: Name;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** A value that JSON can tell, or text as it is. */
  body?: unknown;
}

/** A request as it is sent. */
export interface Sent extends Omit<Draft, "body"> {
  body: Buffer | undefined;
  isChunked: boolean;
}

export const MODERN = "2026-07-28";
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const META = "io.modelcontextprotocol/";

/** A request of any kind to the endpoint. */
export const draftOf = (as: Name, body: unknown, headers: Draft["headers"] = {}): Draft => ({
  as,
  method: "POST",
  path: "/mcp",
  headers: {
    authorization: `Bearer ${keyOf(as)}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
  },
  body,
});

/** The content of a request. */
export interface Asked {
  method: string;
  params: Json;
  /** Arguments that are repeated in headers, by the headers' names. */
  repeated?: Record<string, string>;
}

/** A request of 2026-07-28 with everything that one must have. */
export function modern(
  as: Name,
  { method, params, repeated }: Asked,
  id: unknown,
  capabilities = {},
): Draft {
  const name = params["name"] ?? params["uri"] ?? params["taskId"];
  const meta = {
    [`${META}protocolVersion`]: MODERN,
    [`${META}clientCapabilities`]: capabilities,
    progressToken: "p",
    [`${META}logLevel`]: "debug",
  };
  const body = { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
  const encoded = (text: string) =>
    /^[\x21-\x7e]+$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  return draftOf(as, body, {
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": encoded(name) }),
    ...Object.fromEntries(
      Object.entries(repeated ?? {}).map(([header, text]) => [header, encoded(text)]),
    ),
  });
}

/** A request of an older revision; of a session, where `session` is one. */
export function legacy(as: Name, body: unknown, version: string, session?: string): Draft {
  return draftOf(as, body, {
    "mcp-protocol-version": version,
    ...(session !== undefined && { "mcp-session-id": session }),
  });
}
