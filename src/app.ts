import { Hono } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { PROTOCOL_PATHS } from "./auth/authorization-server.ts";
import { createAuthenticator } from "./auth/authenticator.ts";
import { RateLimiter } from "./auth/rate-limiter.ts";
import { METADATA_PATHS } from "./auth/metadata.ts";
import { checkOrigin, isLoopback, networkOf } from "./auth/origin.ts";
import { otcPrincipal, sharedSecret } from "./auth/otc.ts";
import { recordsOf } from "./durable/call-records.ts";
import type { Hub } from "./durable/hub.ts";
import { sessionsOf } from "./durable/sessions.ts";
import { tasksOf } from "./durable/tasks.ts";
import { vaultOf } from "./durable/state-vault.ts";
import { deploymentOf, namespaceOf, readSettings } from "./env.ts";
import { readJson } from "./body.ts";
import { Fault, report } from "./errors.ts";
import { configureLimits } from "./limits.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import type { Server } from "./mcp/wire/exchange.ts";
import { errorMessage, idOf } from "./mcp/wire/message.ts";
import { jsonResponse, refusalResponse } from "./mcp/wire/reply.ts";
import { ANONYMOUS, callerKey, type Principal } from "./model.ts";
import { HOW_TO_CLOSE, page } from "./page/page.ts";
import { callTool, listTools } from "./otc/endpoint.ts";
import { errorResponse } from "./otc/reply.ts";
import { LATEST } from "./otc/request.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { Registry } from "./servlets/registry.ts";
import { isScope } from "./servlets/scopes.ts";

/** The Worker's routes and middleware, in order. `env` holds its bindings. */
export function createApp(bundle: Bundle, env: object) {
  const settings = readSettings(env);
  const registry = new Registry(bundle, deploymentOf(env));
  const server = introduction(settings);
  const originPolicy = {
    allowedOrigins: settings.ALLOWED_ORIGINS,
    allowedHosts: settings.ALLOWED_HOSTS,
  };
  const hubs = namespaceOf<Hub>(env, "HUBS");
  const vault = vaultOf(env);
  const tasks = tasksOf(env);
  const sessions = sessionsOf(env);
  const names = registry.servlets.map(({ name }) => name);
  const authenticator = createAuthenticator(settings, env, (scope) =>
    isScope(scope, settings.SCOPES, names),
  );
  const { authorization } = authenticator;
  configureLimits(settings.LIMITS ?? {});
  const rateLimiter = new RateLimiter(env);

  const { OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences } = settings;
  const shared = secret === undefined ? undefined : sharedSecret(secret, audiences);
  const records = recordsOf(env);

  // `/mcp/` is `/mcp`: people copy URLs with a slash at the end.
  const app = new Hono({ strict: false });

  // A web page that may call may also read the answers; a preflight is allowed the headers it names.
  const exposed = ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate"];
  const readable = cors({ origin: (origin) => origin, exposeHeaders: exposed, maxAge: 86400 });
  let hasLooked = false;
  app.use((c, next) => {
    // Only a request's URL shows whether the server runs on a loopback host.
    if (!hasLooked && isOpenTo(c.req.url))
      console.warn(`This server requires no authentication. ${HOW_TO_CLOSE}`);
    hasLooked = true;
    const origin = c.req.raw.headers.get("origin");
    checkOrigin(c.req.url, origin, originPolicy);
    return origin === null ? next() : readable(c, next);
  });

  app.get("/health", async (c) => {
    const said = {
      $schema: LATEST,
      name: settings.SERVER_NAME,
      version: settings.SERVER_VERSION,
    };
    // Servlets and tools are listed only where no authentication is required.
    if (!authenticator.isOpen) return c.json(said);
    const catalog = await registry.catalog().catch((error: unknown) => void report(error));
    const tools = catalog?.lists.tools.length ?? 0;
    return c.json({ ...said, servlets: names, tools }, catalog === undefined ? 503 : 200);
  });

  app.on("GET", ["/", "/mcp"], async (c, next) => {
    const wantsPage = c.req.path === "/" || (c.req.header("accept") ?? "").includes("text/html");
    if (!wantsPage) return next();
    return pageHeaders(c, async () => {
      const html = await showPage(c.req.url);
      c.res = await Promise.resolve(c.html(html));
    });
  });

  app.on("GET", METADATA_PATHS, (c) => {
    const metadata = authenticator.metadata(c.req.raw);
    return metadata === undefined ? c.notFound() : c.json(metadata);
  });

  if (authorization) {
    app.on(["GET", "POST"], "/authorize", (c) => authorization.authorize(c.req.raw));
    app.on(["GET", "POST"], PROTOCOL_PATHS, (c) => authorization.protocol(c.req.raw));
  }

  app.all("/mcp", async (c) => {
    const { raw } = c.req;
    const principal = withAddress(await authenticator.identify(raw), raw);
    const hub = hubs && (() => hubs.getByName(principal.name));
    const allowed = registry.within(principal.scopes);
    const visit = rateLimiter.enter(callerKey(principal), raw);
    return visit.until(
      mcpEndpoint(raw, {
        ...visit.quota,
        challenge: (fault) => authenticator.challenge(raw, fault),
        server,
        registry: allowed,
        principal,
        hub,
        vault,
        tasks: tasks?.(principal, visit.quota.keep),
        sessions,
      }),
    );
  });

  for (const [path, answer] of Object.entries({ "/tools": listTools, "/tools/call": callTool })) {
    app.all(path, async (c) => {
      const { raw } = c.req;
      const principal = withAddress(await otcPrincipal(raw, { authenticator, shared }), raw);
      const allowed = registry.within(principal.scopes);
      const visit = rateLimiter.enter(callerKey(principal), raw);
      return visit.until(answer(raw, { ...visit.quota, registry: allowed, principal, records }));
    });
  }

  app.notFound(async (c) => {
    const message = `Not found. The MCP endpoint of this server is ${new URL("/mcp", c.req.url).href}.`;
    const body =
      c.req.method === "POST" ? await readJson(c.req.raw).catch(() => undefined) : undefined;
    const id = idOf(body);
    if (id === null) return c.json({ error: message }, 404);
    // A JSON-RPC client with the wrong URL. Many report a 404 as "session terminated" and hide the message.
    return jsonResponse({
      status: 200,
      body: errorMessage(id, new Fault("invalid_request", message)),
    });
  });

  app.onError((error, c) => {
    const fault = report(error);
    if (/^\/(tools|health)\b/.test(c.req.path)) return errorResponse(fault);
    return refusalResponse(fault, { challenge: authenticator.challenge(c.req.raw, fault) });
  });

  /** May anybody on the internet call, without anyone having said so? */
  const isOpenTo = (url: string): boolean =>
    authenticator.isOpen && settings.AUTH !== "none" && !isLoopback(new URL(url).hostname);

  async function showPage(url: string) {
    return page({
      title: settings.SERVER_TITLE ?? settings.SERVER_NAME,
      version: settings.SERVER_VERSION,
      endpoint: new URL("/mcp", url).href,
      offers: authenticator.isOpen
        ? { servlets: registry.servlets, catalog: await registry.catalog() }
        : undefined,
      isOpen: isOpenTo(url),
      proof: authenticator.isOpen ? "" : authenticator.hasOAuth ? "sign-in" : "key",
    });
  }

  return app;
}

/** Headers of the start page: no scripts, no frames, nothing loaded. */
const pageHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'unsafe-inline'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
});

/** Adds the network address to an anonymous principal. */
function withAddress(principal: Principal, { headers }: Request): Principal {
  const address = headers.get("cf-connecting-ip");
  if (principal !== ANONYMOUS || address === null) return principal;
  return { ...principal, address: networkOf(address) };
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
