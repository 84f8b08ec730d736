/** Programs that call this server, to copy. For the server's pages and their script. */
import type { Json } from "../../kernel/core/model.ts";
import { shellWord } from "../../kernel/core/text.ts";

/** The server to call. */
export interface Callee {
  /** The URL of its MCP endpoint. */
  url: string;
  /** True if programs send an API key. */
  isKeyed: boolean;
  /** The key, right after it was made; a placeholder by default. */
  key?: string;
}

/** A request, by its method. */
export interface Calling {
  method: keyof typeof CALLS;
  params: Json;
}

/** The placeholder for the key of whoever copies a program. */
export const KEY = "YOUR-KEY";

/** Each method in the official SDKs: its names in TypeScript and Python, and Python's parameters. */
const CALLS = {
  "tools/list": ["listTools", "list_tools"],
  "tools/call": ["callTool", "call_tool", "name", "arguments"],
  "prompts/get": ["getPrompt", "get_prompt", "name", "arguments"],
  "resources/read": ["readResource", "read_resource", "uri"],
} as const;

/** The header by which a program authenticates. */
export const authorizationOf = ({ key = KEY }: Pick<Callee, "key">): string => `Bearer ${key}`;

/** The request as a shell command and as programs, by language. */
export const programsFor = (callee: Callee, calling: Calling): Record<string, string> => ({
  curl: curl(callee, calling),
  TypeScript: typescript(callee, calling),
  Python: python(callee, calling),
});

function curl(callee: Callee, { method, params }: Calling): string {
  const { url, isKeyed } = callee;
  const hasParams = Object.keys(params).length > 0;
  const request = { jsonrpc: "2.0", id: 1, method, ...(hasParams && { params }) };
  const key = isKeyed ? ` -H "Authorization: ${authorizationOf(callee)}"` : "";
  return `curl ${shellWord(url)} -H 'content-type: application/json' -H 'accept: application/json'${key} \\
  -d ${shellWord(JSON.stringify(request))}`;
}

function typescript(callee: Callee, { method, params }: Calling): string {
  const { url, isKeyed } = callee;
  const headers = JSON.stringify({ Authorization: authorizationOf(callee) });
  const options = isKeyed ? `, {\n    requestInit: { headers: ${headers} },\n  }` : "";
  const given = Object.keys(params).length === 0 ? "" : JSON.stringify(params, null, 2);
  return `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "me", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})${options}),
);
const result = await client.${CALLS[method][0]}(${given});
console.log(JSON.stringify(result, null, 2));
await client.close();`;
}

function python(callee: Callee, { method, params }: Calling): string {
  const { url, isKeyed } = callee;
  const [, name, ...taken] = CALLS[method];
  const call = `print(await client.${name}(${taken.map((one) => literal(params[one])).join(", ")}))`;
  const imports = params["arguments"] === undefined ? "import asyncio" : "import asyncio, json";
  if (!isKeyed)
    return `${imports}
from mcp import Client

async def main():
    async with Client(${JSON.stringify(url)}) as client:
        ${call}

asyncio.run(main())`;
  return `${imports}
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    async with httpx2.AsyncClient(headers=${JSON.stringify({ Authorization: authorizationOf(callee) })}) as http:
        async with Client(streamable_http_client(${JSON.stringify(url)}, http_client=http)) as client:
            ${call}

asyncio.run(main())`;
}

/** A JSON value as a Python literal. Strings are the same; `true`, `false` and `null` are not. */
const literal = (value: unknown): string =>
  typeof value === "string"
    ? JSON.stringify(value)
    : `json.loads(${JSON.stringify(JSON.stringify(value))})`;
