import { shellWord } from "../../text.ts";
import type { Json } from "./mcp.ts";

/** A call as a program, by the language's name. */
export function snippetsOf(url: string, name: string, given: Json): Record<string, string> {
  const request = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: given },
  };
  const tool = JSON.stringify(name);
  const json = JSON.stringify(given, null, 2);
  return {
    curl: `curl ${shellWord(url)} -H 'content-type: application/json' -H 'accept: application/json' \\
  -d ${shellWord(JSON.stringify(request))}`,
    TypeScript: `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "me", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})));
console.log(await client.callTool({ name: ${tool}, arguments: ${json} }));`,
    Python: `import asyncio, json
from mcp import Client

async def main():
    async with Client(${JSON.stringify(url)}) as client:
        given = json.loads(${JSON.stringify(JSON.stringify(given))})
        print(await client.call_tool(${tool}, given))

asyncio.run(main())`,
  };
}
