/** The profiles that the tests' Worker and its objects have, and servers with them. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/server/kernel/app.ts";
import { Kernel } from "../../src/server/kernel/kernel.ts";
import type { Profiles } from "../../src/server/kernel/servlets/profiles.ts";
import { bundle } from "../bundle.gen.ts";
import { post } from "./server.ts";
import { PROFILES } from "./test-profiles.ts";

export { PROFILES };

type App = ReturnType<typeof createApp>;

/** A server with these variables and profiles. Calls whose client cannot ask get no link, unless `LINKS` says so. */
export const profiled = (variables: object = {}, profiles: Profiles = PROFILES): App =>
  createApp(new Kernel({ ...bundle, profiles }, { ...env, LINKS: "off", ...variables }));

/** The rights that callers of a server with these variables have later. */
export const current = (variables: object) =>
  new Kernel({ ...bundle, profiles: PROFILES }, { ...env, ...variables }).authenticator.current;

/** The server as clients of one of its profiles have it: what they send to `/mcp` goes to `/mcp/NAME`. */
export const at = (profile: string, server: App): App =>
  ({
    fetch: (request: Request) =>
      server.fetch(new Request(request.url.replace(/\/mcp$/, `/mcp/${profile}`), request)),
  }) as App;

/** The names in each list of a modern client. */
export async function namesAt(server: App, headers: Record<string, string> = {}) {
  const list = async (method: string, kind: string, by: string) => {
    const { body, headers: own } = modernList(method);
    const response = await post(body, { ...own, ...headers }, server);
    const { result } = (await response.json()) as { result: Record<string, any[]> };
    return result[kind]!.map((one) => one[by] as string);
  };
  return {
    tools: await list("tools/list", "tools", "name"),
    prompts: await list("prompts/list", "prompts", "name"),
    resources: await list("resources/list", "resources", "uri"),
    templates: await list("resources/templates/list", "resourceTemplates", "uriTemplate"),
  };
}

const modernList = (method: string) => ({
  body: {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  },
  headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": method },
});
