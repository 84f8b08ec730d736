/**
 * `npm run bench -- remote`: what a call through a servlet of another MCP server costs, beside servlets that fetch the same
 * bytes, for a small result and for one of 100 KB: one returns the same result, and one all that it fetches as a text.
 */
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { remoteServlet } from "../../../src/languages/remote/servlet.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { serve } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { buildBundle } from "./plugins.ts";
import { inTurn, judged, middle, sideOf } from "./turns.ts";

const SCRATCH = join(".bundle", "bench", "remote");
const CONNECTIONS = 4;
const MOST = 1.5;
const SIZES = { small: 100, large: 100_000 };

/** Fetches the response of an MCP server, and returns the result in it, or all of it as a text. */
const FETCHING = (url: string) => `import { defineServlet } from "edge-servlets/servlet";
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
export default defineServlet({
  tools: {
    fetched: {
      input: {
        type: "object",
        properties: { size: { type: "string" }, as: { type: "string" } },
        required: ["size", "as"],
      },
      async handler({ size, as }) {
        const headers = { "content-type": "application/json", "mcp-name": String(size) };
        const response = await fetch(${JSON.stringify(url)}, { method: "POST", headers, body });
        if (as === "text") return response.text();
        const { result } = (await response.json()) as any;
        return { content: result.content, isError: false };
      },
    },
  },
});
`;

export async function benchRemote(): Promise<void> {
  const texts = Object.fromEntries(
    Object.entries(SIZES).map(([name, size]) => [name, "The quick brown fox. ".repeat(size / 21)]),
  );
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { id, method } = JSON.parse(text) as { id: unknown; method: string };
    const said = texts[String(request.headers["mcp-name"])] ?? "";
    const results: Record<string, object> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": {
        tools: Object.keys(SIZES).map((name) => ({ name, inputSchema: { type: "object" } })),
      },
      "tools/call": { resultType: "complete", content: [{ type: "text", text: said }] },
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
  };
  const server = createServer((request, response) => void respond(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  await rm(SCRATCH, { recursive: true, force: true });
  const { files } = await remoteServlet("remote", url, { variables: async () => ({}) });
  files.delete("servlet.test.ts");
  const all = new Map([...files].map(([name, text]) => [`remote/${name}`, text]));
  all.set("fetching/servlet.ts", FETCHING(url));
  all.set("fetching/servlet.json", '{ "allowed_hosts": ["127.0.0.1"] }');
  for (const [name, text] of all) {
    const path = join(SCRATCH, "plugins", name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
  }
  const members = await makeBundle({
    folders: [join(SCRATCH, "plugins")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const served = await serve(await buildBundle(members, join(SCRATCH, "own")), { durable: true });
  process.on("exit", () => served.process.kill());
  const wanted = (name: string, args: object) => ({
    ...modern("tools/call", { name, arguments: args }, name),
    connections: CONNECTIONS,
    check: (answer: string) => answer.includes("The quick brown fox."),
  });
  for (const size of Object.keys(SIZES)) {
    const sides = await Promise.all([
      sideOf(served, wanted(`remote-${size}`, {})),
      sideOf(served, wanted("fetched", { size, as: "json" })),
      sideOf(served, wanted("fetched", { size, as: "text" })),
    ]);
    const rounds = await inTurn(sides, { rounds: 7, ms: 1000 });
    const [remote = NaN, json = NaN, text = NaN] = rounds.map((side) => middle(side, "cpuUs"));
    console.log(
      `remote, ${size}: ${remote.toFixed(0)} µs of CPU, ${judged(remote / json, MOST)} times a servlet's fetch of the same result, ${json.toFixed(0)}; ${(remote / text).toFixed(2)} times that of its text, ${text.toFixed(0)}`,
    );
  }
  server.close();
}
