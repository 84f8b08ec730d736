const VERSION = "2026-07-28";

export interface Wanted {
  /** The request to the peer, where it differs. */
  peer?: Pick<Wanted, "headers" | "body" | "path"> & Partial<Pick<Wanted, "check">>;
  headers: Record<string, string>;
  body: string;
  path?: string;
  check: (body: string) => boolean;
  connections?: number;
  /** Between an answer and the connection's next request. */
  pauseMs?: number;
  /** Each connection has a session of its own. */
  inSession?: true;
  /** Each connection has a caller of its own: an address, or a key. */
  ownCallers?: "address" | "key";
}

const metaWith = (capabilities: object) => ({
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": capabilities,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
});

export function modern(
  method: string,
  params: object,
  name?: string,
  capabilities = {},
): Pick<Wanted, "headers" | "body"> {
  const _meta = metaWith(capabilities);
  return {
    headers: {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  };
}

const greet = { name: "greet", arguments: { name: "Ada" } };
const large = { name: "echo", arguments: { text: "x".repeat(1 << 20) } };
const legacyCall = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: greet });
/** Workers that answer with the SDK's responses leave out the words of the status. */
const isOk = (answer: string) => answer.startsWith("HTTP/1.1 200 ");
export const greeted = (answer: string) => isOk(answer) && answer.includes("Hello, ");

const small = modern("tools/call", greet, "greet");

const loaded = modern("tools/call", { ...greet, name: "loaded-greet" }, "loaded-greet");
/** A key of the server that the servlet is installed on. */
const ANYBODY = { authorization: "Bearer any" };

/** A guest's call that changes one page of a memory that is kept, of 10 MB where `mark` is "@". */
const changePage = (mark: string) =>
  modern("tools/call", { name: "pages-change", arguments: { mark } }, "pages-change");

/** Requests by the name of their row; callers authenticate with a key or a token. */
export const kindsWith = (proofs: Record<"key" | "token", Record<string, string>>) =>
  ({
    callModern: { ...small, check: greeted },
    /** As it is deployed: with the variables of wrangler.toml, the run log among them. */
    callDeployed: { ...small, check: greeted },
    /** The same two beside a reply that does nothing else. */
    callBare: { ...small, check: greeted },
    callDeployedBare: { ...small, check: greeted },
    callLegacy: {
      headers: { "mcp-protocol-version": "2025-11-25" },
      body: legacyCall,
      check: greeted,
    },
    callSession: { headers: {}, body: legacyCall, check: greeted, inSession: true },
    /** Beside our own call of the same tool over MCP. */
    callOtc: {
      headers: {},
      body: JSON.stringify({ request: { tool_id: "hello.greet", input: greet.arguments } }),
      path: "/tools/call",
      peer: { ...modern("tools/call", greet, "greet"), path: "/mcp" },
      check: greeted,
    },
    /** Beside the same call of a server that anybody may call. */
    callKey: { ...small, headers: { ...small.headers, ...proofs.key }, check: greeted },
    callJwt: { ...small, headers: { ...small.headers, ...proofs.token }, check: greeted },
    /** A counter that is kept for each caller. */
    callStateful: {
      headers: { "mcp-protocol-version": "2025-11-25" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "counting-next", arguments: {} },
      }),
      check: (body: string) => isOk(body) && /"text":"[0-9]+"/.test(body),
      ownCallers: "address",
    },
    /** Commits one page of 10 MB of memory, beside one of 64 KB. */
    commit10MB: {
      ...changePage("@"),
      peer: changePage(""),
      check: (body: string) => isOk(body) && body.includes("one page"),
      ownCallers: "address",
      // More instances of 10 MB are not kept in memory.
      connections: 2,
    },
    listTools: { ...modern("tools/list", {}), check: (body: string) => body.includes('"greet"') },
    callTypeScript: {
      ...modern("tools/call", { ...greet, name: "greet_ts" }, "greet_ts"),
      peer: modern("tools/call", greet, "greet"),
      check: greeted,
    },
    /** The same servlet, installed: it is loaded into an isolate of its own. Beside the one of the bundle. */
    callLoaded: {
      ...loaded,
      headers: { ...loaded.headers, ...ANYBODY },
      peer: { ...small, headers: { ...small.headers, ...ANYBODY } },
      check: greeted,
    },
    /** The counter, installed. Beside the one of the bundle. */
    callStatefulLoaded: {
      ...modern("tools/call", { name: "tally-next", arguments: {} }, "tally-next"),
      peer: modern("tools/call", { name: "counting-next", arguments: {} }, "counting-next"),
      check: (body: string) => isOk(body) && /"text":"[0-9]+"/.test(body),
      ownCallers: "key",
    },
    /** A guest in C, with a megabyte of memory for its stack. */
    callC: {
      ...modern("tools/call", { name: "echo", arguments: { text: "Hello, Ada" } }, "echo"),
      peer: modern("tools/call", greet, "greet"),
      check: greeted,
    },
    megabyte: {
      ...modern("tools/call", large, "echo"),
      check: (body: string) => isOk(body) && body.length > 1 << 20,
      connections: 2,
    },
  }) satisfies Record<string, Wanted>;
