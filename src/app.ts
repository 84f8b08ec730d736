import { Hono } from "hono";
import { cors } from "hono/cors";
import { PROTOCOL_PATHS } from "./auth/authorization-server.ts";
import { METADATA_PATHS } from "./auth/metadata.ts";
import { checkOrigin, demandOwnOrigin } from "./auth/origin.ts";
import { otcPrincipal } from "./auth/otc.ts";
import { anonymousAt } from "./auth/principal.ts";
import { readJson } from "./body.ts";
import { callerKey } from "./callers.ts";
import { Fault, report } from "./errors.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import { errorMessage, idOf } from "./mcp/wire/message.ts";
import { jsonResponse, refusalResponse } from "./mcp/wire/reply.ts";
import { installerOf } from "./operator/builds.ts";
import { operatorEndpoint, operatorRefusal } from "./operator/endpoint.ts";
import { callTool, listTools } from "./otc/endpoint.ts";
import { errorResponse } from "./otc/reply.ts";
import { LATEST } from "./otc/request.ts";
import { assetsOf, SCRIPT_PATH } from "./console/assets.ts";
import { CONSOLE_MCP_PATH, HOW_TO_CLOSE, SIGN_IN_PATH, startPage } from "./console/page.ts";
import { accountEndpoint } from "./person/account-endpoint.ts";
import { askEndpoint } from "./person/ask-endpoint.ts";
import { callbackEndpoint, connectEndpoint, signInEndpoint } from "./person/connect-endpoint.ts";
import { CALLBACK_PATH } from "./person/issuer-sign-in.ts";
import { secretEndpoint } from "./person/secret-endpoint.ts";
import { signedInEndpoint, type PersonPage } from "./person/view.ts";
import type { Principal } from "./model.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { scopeFor } from "./servlets/scopes.ts";
import { wire } from "./wiring.ts";

/** The Worker's routes and middleware, in order. `env` holds its bindings. */
export function createApp(bundle: Bundle, env: object) {
  const { settings, authenticator, rateLimiter, serving, records, shared, ...parts } = wire(
    bundle,
    env,
  );
  const { server, hubs, vault, tasks, sessions, states, people, site } = parts;
  const { authorization } = authenticator;
  const assets = assetsOf(env);
  const scopeOf = (servlet: string, own: string) =>
    settings.SCOPES && scopeFor(servlet, own, settings.SCOPES);

  // `/mcp/` is `/mcp`: people copy URLs with a slash at the end.
  const app = new Hono({ strict: false });

  let hasWarned = false;
  app.use((c, next) => {
    // Only a request's URL shows whether the server runs on a loopback host.
    if (!hasWarned && authenticator.isExposed(c.req.url))
      console.warn(`This server requires no authentication. ${HOW_TO_CLOSE}`);
    hasWarned = true;
    const origin = c.req.raw.headers.get("origin");
    checkOrigin(c.req.url, origin, settings);
    return origin === null ? next() : readable(c, next);
  });

  app.get("/health", async (c) => {
    const { SERVER_NAME: name, SERVER_VERSION: version } = settings;
    const health = { $schema: LATEST, name, version };
    // Servlets and tools are listed only where no authentication is required.
    if (!authenticator.isOpen) return c.json(health);
    const registry = await serving.registry();
    const servlets = registry.servlets.map((servlet) => servlet.name);
    const catalog = await registry.catalog().catch((error: unknown) => void report(error));
    const tools = catalog?.lists.tools.length ?? 0;
    return c.json({ ...health, servlets, tools }, catalog === undefined ? 503 : 200);
  });

  app.on("GET", ["/", "/mcp"], async (c, next) => {
    const wantsPage = c.req.path === "/" || (c.req.header("accept") ?? "").includes("text/html");
    if (!wantsPage) return next();
    const { raw } = c.req;
    const person = authenticator.isOpen ? undefined : await people?.of(raw);
    const caller = person && people?.callerOf(person);
    // To list what servlets with state offer somebody may take calls of them.
    const { quota, until } = rateLimiter.enter(callerKey(caller ?? anonymousAt(raw)), raw);
    const answer = async () => {
      if (caller) await quota.admit?.();
      const all = await serving.registry();
      const registry = caller ? all.for({ principal: caller }) : all;
      const isVisible = authenticator.isOpen || caller !== undefined;
      const { servlets } = registry;
      return startPage({
        ...site,
        version: settings.SERVER_VERSION,
        endpoint: {
          url: new URL("/mcp", raw.url).href,
          name: settings.SERVER_NAME,
          isKeyed: authenticator.proof === "key",
        },
        offers: isVisible ? { servlets, catalog: await registry.catalog(), scopeOf } : undefined,
        isExposed: authenticator.isExposed(raw.url),
        proof: authenticator.proof,
        visitor: caller?.name,
        hasSignIn: people?.ways !== undefined,
        script: assets && SCRIPT_PATH,
        mcp: authenticator.isOpen ? "/mcp" : CONSOLE_MCP_PATH,
      });
    };
    return until(answer());
  });

  if (assets) app.get("/console/:file", (c) => assets(c.req.raw, c.req.param("file")));

  app.on("GET", METADATA_PATHS, (c) => {
    const metadata = authenticator.metadata(c.req.raw);
    return metadata === undefined ? c.notFound() : c.json(metadata);
  });

  if (authorization) {
    app.on(["GET", "POST"], "/authorize", (c) => authorization.authorize(c.req.raw));
    app.on(["GET", "POST"], PROTOCOL_PATHS, (c) => authorization.protocol(c.req.raw));
  }

  const answerMcp = async (raw: Request, principal: Principal) => {
    const { quota, until } = rateLimiter.enter(callerKey(principal), raw);
    return until(
      mcpEndpoint(raw, {
        ...quota,
        challenge: (fault) => authenticator.challenge(raw, fault),
        server,
        registry: (await serving.registry()).for({ principal }),
        principal,
        hub: hubs && (() => hubs.getByName(principal.name)),
        vault,
        tasks: tasks?.(principal, quota.countStored),
        pages: people?.pagesFor(principal, raw.url),
        sessions,
      }),
    );
  };

  app.all("/mcp", async ({ req: { raw } }) => answerMcp(raw, await authenticator.identify(raw)));

  // The script of the start page, as the person who has signed in there.
  app.all(CONSOLE_MCP_PATH, async ({ req: { raw } }) => {
    demandOwnOrigin(raw);
    const person = authenticator.isOpen ? undefined : await people?.of(raw);
    if (person === undefined) throw new Fault("unauthorized", "Sign in again to call from here.");
    return answerMcp(raw, people!.callerOf(person));
  });

  if (people) {
    const { profiles, providers } = serving;
    const paged = async (raw: Request, endpoint: (visited: PersonPage) => Promise<Response>) => {
      const person = await people.of(raw);
      const key = callerKey(person?.principal ?? anonymousAt(raw));
      const { quota, until } = rateLimiter.enter(key, raw);
      const tasksOf = (principal: Principal) => tasks!(principal, quota.countStored);
      const { forgetCaller } = states;
      const visited = { people, ...site, person, tasksOf, profiles, providers, forgetCaller };
      return until(endpoint({ ...visited, admit: quota.admit }));
    };
    const methods = ["GET", "POST"];
    app.on(methods, "/ask/:id", ({ req }) =>
      paged(req.raw, (visited) => askEndpoint(req.raw, req.param("id"), visited)),
    );
    app.on(methods, "/secret/:token", ({ req }) =>
      paged(req.raw, (visited) => secretEndpoint(req.raw, req.param("token"), visited)),
    );
    app.on(methods, "/connect/:token", ({ req }) =>
      paged(req.raw, (visited) => connectEndpoint(req.raw, req.param("token"), visited)),
    );
    app.get("/account/sign-in", ({ req }) =>
      paged(req.raw, (visited) => signInEndpoint(req.raw, visited)),
    );
    app.on(methods, CALLBACK_PATH, ({ req }) =>
      paged(req.raw, (visited) => callbackEndpoint(req.raw, visited)),
    );
    app.on(methods, SIGN_IN_PATH, ({ req }) =>
      paged(req.raw, (visited) => signedInEndpoint(req.raw, visited)),
    );
    app.on(methods, "/account", ({ req }) =>
      paged(req.raw, (visited) => accountEndpoint(req.raw, visited)),
    );
  }

  app.all("/operator/*", async (c) => {
    const { raw } = c.req;
    const principal = await authenticator.operator(raw);
    const { quota, until } = rateLimiter.enter(callerKey(principal), raw);
    return until(
      operatorEndpoint(raw, {
        ...quota,
        principal,
        states,
        installer: () => installerOf(serving),
      }),
    );
  });

  for (const [path, answer] of Object.entries({ "/tools": listTools, "/tools/call": callTool })) {
    app.all(path, async (c) => {
      const { raw } = c.req;
      const principal = await otcPrincipal(raw, { authenticator, shared });
      const { quota, until } = rateLimiter.enter(callerKey(principal), raw);
      const allowed = (await serving.registry()).for({ principal });
      const pages = people?.pagesFor(principal, raw.url);
      const own = { tasks: tasks?.(principal, quota.countStored), pages, records };
      return until(answer(raw, { ...quota, ...own, registry: allowed, principal }));
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
    const challenge = authenticator.challenge(c.req.raw, fault);
    if (c.req.path.startsWith("/operator/")) return operatorRefusal(fault, challenge);
    return refusalResponse(fault, { challenge });
  });

  return app;
}

/** A web page that may call may also read the answers; a preflight is allowed the headers it names. */
const readable = cors({
  origin: (origin) => origin,
  exposeHeaders: ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate"],
  maxAge: 86400,
});
