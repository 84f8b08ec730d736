import { Hono } from "hono";
import { cors } from "hono/cors";
import { checkOrigin } from "./auth/origin.ts";
import { otcPrincipal, sharedSecret } from "./auth/otc.ts";
import { ANONYMOUS, principalOf } from "./auth/principal.ts";
import { recordsOf } from "./durable/call-records.ts";
import type { Hub } from "./durable/hub.ts";
import { sessionsOf } from "./durable/sessions.ts";
import { tasksOf } from "./durable/tasks.ts";
import { vaultOf } from "./durable/vault.ts";
import { deploymentOf, namespaceOf, readSettings } from "./env.ts";
import { httpStatus, report } from "./errors.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import type { Server } from "./mcp/exchange.ts";
import { errorMessage } from "./mcp/message.ts";
import { jsonResponse } from "./mcp/reply.ts";
import { callTool, listTools } from "./otc/endpoint.ts";
import { errorResponse } from "./otc/reply.ts";
import { LATEST } from "./otc/request.ts";
import { page } from "./page/page.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { Registry } from "./servlets/registry.ts";

/** The way in: every route and what stands before it, in order. `env` holds the Worker's bindings. */
export function createApp(bundle: Bundle, env: object) {
  const settings = readSettings(env);
  const registry = new Registry(bundle, deploymentOf(env));
  const server = introduction(settings);
  const doors = { allowedOrigins: settings.ALLOWED_ORIGINS, allowedHosts: settings.ALLOWED_HOSTS };
  const hubs = namespaceOf<Hub>(env, "HUBS");
  const vault = vaultOf(env);
  const tasks = tasksOf(env);
  const sessions = sessionsOf(env);
  const keys =
    settings.API_KEYS &&
    new Map(Object.entries(settings.API_KEYS).map(([name, hash]) => [hash.toLowerCase(), name]));

  // Where MCP takes the tokens of an issuer, `token` is the place to take them here, too.
  const { OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences } = settings;
  const proofs = {
    keys,
    token: secret === undefined ? undefined : sharedSecret(secret, audiences),
  };
  const otc = {
    registry,
    authenticate: (request: Request) => otcPrincipal(request, proofs),
    records: recordsOf(env),
  };

  const app = new Hono();

  // A web page that may call may also read the answers; a preflight is allowed the headers it names.
  const exposed = ["Mcp-Session-Id", "WWW-Authenticate"];
  const readable = cors({ origin: (origin) => origin, exposeHeaders: exposed, maxAge: 86400 });
  app.use((c, next) => {
    const origin = c.req.raw.headers.get("origin");
    checkOrigin(c.req.url, origin, doors);
    return origin === null ? next() : readable(c, next);
  });

  app.get("/health", async (c) => {
    const catalog = await registry.catalog().catch((error: unknown) => void report(error));
    const said = {
      $schema: LATEST,
      name: settings.SERVER_NAME,
      version: settings.SERVER_VERSION,
      servlets: registry.servlets.map(({ name }) => name),
      tools: catalog?.lists.tools.length ?? 0,
    };
    return c.json(said, catalog === undefined ? 503 : 200);
  });

  app.get("/", async (c) => c.html(await showPage(c.req.url)));

  app.get("/mcp", async (c, next) => {
    if (!(c.req.header("accept") ?? "").includes("text/html")) return next();
    return c.html(await showPage(c.req.url));
  });

  app.all("/mcp", async (c) => {
    const { raw } = c.req;
    const principal = keys ? await principalOf(raw.headers.get("authorization"), keys) : ANONYMOUS;
    const hub = hubs && (() => hubs.getByName(principal.name));
    return mcpEndpoint(raw, {
      server,
      registry,
      principal,
      hub,
      vault,
      tasks: tasks?.(principal),
      sessions: sessions?.(principal),
      report,
    });
  });

  app.all("/tools", (c) => listTools(c.req.raw, otc));
  app.all("/tools/call", (c) => callTool(c.req.raw, otc));

  app.notFound((c) => c.json({ error: "Not found. The MCP endpoint is /mcp." }, 404));

  app.onError((error, c) => {
    const fault = report(error);
    if (/^\/(tools|health)\b/.test(c.req.path)) return errorResponse(fault);
    const response = jsonResponse({ status: httpStatus(fault), body: errorMessage(null, fault) });
    if (fault.code === "unauthorized") response.headers.set("www-authenticate", "Bearer");
    return response;
  });

  async function showPage(url: string) {
    return page({
      title: settings.SERVER_TITLE ?? settings.SERVER_NAME,
      version: settings.SERVER_VERSION,
      endpoint: new URL("/mcp", url).href,
      // What a key is needed for is not shown to those who have none.
      servlets: keys === undefined ? registry.servlets : [],
      catalog: await registry.catalog(),
    });
  }

  return app;
}

function introduction(settings: ReturnType<typeof readSettings>): Server {
  const optional = {
    title: settings.SERVER_TITLE,
    description: settings.SERVER_DESCRIPTION,
    websiteUrl: settings.SERVER_WEBSITE,
    icons: settings.SERVER_ICONS,
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return {
    info: {
      name: settings.SERVER_NAME,
      version: settings.SERVER_VERSION,
      ...Object.fromEntries(given),
    },
    ...(settings.SERVER_INSTRUCTIONS === undefined
      ? {}
      : { instructions: settings.SERVER_INSTRUCTIONS }),
  };
}
