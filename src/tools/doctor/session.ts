/** A client of the checked server: sessions up to 2025-11-25, and single requests from 2026-07-28 on. */
import {
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  PROTOCOL_VERSION_META,
} from "../../server/kernel/mcp/wire/classify.ts";
import type { Json } from "../../server/kernel/core/model.ts";
import { textIn } from "../../server/kernel/core/text.ts";
import { VERSION } from "../../server/kernel/core/version.ts";
import { post, send, type RpcReply } from "./requests.ts";

const CLIENT = { name: "edge-servlets-doctor", version: VERSION };

/** The first request of a client up to 2025-11-25. */
export const initializing = (version = LEGACY_VERSIONS[0]!): Json => ({
  id: "initialize",
  method: "initialize",
  params: { protocolVersion: version, capabilities: {}, clientInfo: CLIENT },
});

/** A session that an answer to `initialize` has begun. */
export class TrialSession {
  readonly endpoint: URL;
  readonly version: string;
  readonly headers: Record<string, string>;

  constructor(
    endpoint: URL,
    { message, headers }: RpcReply,
    credentials: Record<string, string> = {},
  ) {
    this.endpoint = endpoint;
    this.version = textIn(message?.result?.["protocolVersion"]);
    const id = headers.get("mcp-session-id");
    this.headers = {
      ...credentials,
      "mcp-protocol-version": this.version,
      ...(id !== null && { "mcp-session-id": id }),
    };
  }

  initialized = (): Promise<RpcReply> =>
    post(this.endpoint, { method: "notifications/initialized" }, { headers: this.headers });

  request = (method: string, params: Json = {}): Promise<RpcReply> =>
    post(this.endpoint, { id: method, method, params }, { headers: this.headers });

  /** Ends the session, if the server keeps one. Its answer does not matter. */
  async end(): Promise<void> {
    if (!("mcp-session-id" in this.headers)) return;
    await send(this.endpoint, { method: "DELETE", headers: this.headers }).catch(() => undefined);
  }
}

/** The headers of a request of the newest revision. */
export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": MODERN_VERSIONS[0]!,
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

/** The params of a request of the newest revision, which has no sessions. */
export const modernParams = (params: Json): Json => ({
  ...params,
  _meta: {
    [PROTOCOL_VERSION_META]: MODERN_VERSIONS[0]!,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
  },
});

/** A request of the newest revision. */
export const requestModern = (
  endpoint: URL,
  { method, params = {}, name }: { method: string; params?: Json; name?: string },
  credentials: Record<string, string>,
): Promise<RpcReply> =>
  post(
    endpoint,
    { id: method, method, params: modernParams(params) },
    { headers: { ...credentials, ...modernHeaders(method, name) } },
  );
