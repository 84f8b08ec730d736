import type { Context } from "hono";
import { cors } from "hono/cors";
import { HonoBase } from "hono/hono-base";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { protocolPaths } from "./auth/authorization-server.ts";
import { endpointPath, metadataPaths } from "./auth/metadata.ts";
import {
  arrivedAs,
  atOwnOrigin,
  checkOrigin,
  correctedOrigin,
  isServed,
  originPolicy,
} from "./auth/origin.ts";
import { otcPrincipal } from "./auth/otc.ts";
import { anonymousAt } from "./auth/principal.ts";
import { readJson, refuseLateBodies } from "./http/body.ts";
import { callerKey } from "./core/callers.ts";
import { demandAudience } from "./settings/env.ts";
import { Fault, report } from "./core/errors.ts";
import { limits } from "./core/limits.ts";
import { hubNameOf } from "./calls/changes.ts";
import { findingPaths, findingResponse } from "./mcp/card.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import { errorMessage, idOf } from "./mcp/wire/message.ts";
import { replyResponse, refusalResponse } from "./mcp/wire/reply.ts";
import { installerOf } from "./operator/builds.ts";
import { operatorEndpoint, operatorRefusal } from "./operator/endpoint.ts";
import { callTool, listTools } from "./otc/endpoint.ts";
import { errorResponse } from "./otc/reply.ts";
import { LATEST } from "./otc/request.ts";
import { failurePage, isBrowsing } from "./pages/errors.ts";
import { ANSWER_SCRIPT_PATH, SIGN_IN_PATH, SIGN_OUT_PATH } from "./pages/paths.ts";
import { HOW_TO_CLOSE } from "./pages/page.ts";
import { addConsole } from "./pages/routes.ts";
import { askEndpoint } from "./pages/ask-endpoint.ts";
import {
  callbackEndpoint,
  connectEndpoint,
  secretEndpoint,
  signInEndpoint,
} from "./pages/asked-endpoint.ts";
import { CALLBACK_PATH } from "./pages/issuer-sign-in.ts";
import { pathOf, signedInEndpoint, signOutEndpoint, type PersonPage } from "./pages/view.ts";
import type { Principal } from "./core/model.ts";
import type { Server } from "./server.ts";
import { describeMissing, unusedIn } from "./servlets/variables.ts";
import { storageRoom } from "./core/storage-room.ts";
import { parseJson, printable } from "./core/text.ts";

/** The Worker's routes and middleware, in order. */
export function createApp(server: Server) {
  const { HUBS: hubs } = server.env;
  const { env, bundle, settings, authenticator, rateLimiter, serving, people, tasks } = server;
  const { authorization } = authenticator;

  // `/mcp/` is `/mcp`: people copy URLs with a slash at the end.
  const app = new HonoBase({ strict: false, router: new RegExpRouter() });

  const { introduction, introductions } = server;
  const profiles = [...introductions.keys()];
  const findable = findingPaths(profiles);
  const finding = new Set(findable.flatMap((path) => [path, `${path}/`]));
  const policy = originPolicy(settings, env);
  if (policy.runs === "self-hosted") demandAudience(settings);
  for (const entry of settings.ALLOWED_ORIGINS) {
    const corrected = correctedOrigin(entry);
    if (corrected !== undefined)
      console.warn(
        `ALLOWED_ORIGINS has ${printable(entry)}, which is no origin as browsers send it, so it allows no page. Write ${corrected}.`,
      );
  }
  const { variables } = serving.deployment;
  const missing = describeMissing(bundle.servlets, (name) => Boolean(variables[name]));
  // Others may be for servlets that are installed.
  const misspelt = unusedIn(bundle.servlets, Object.keys(variables), { isMisspelt: true });
  let hasWarned = false;
  app.use((c, next) => {
    refuseLateBodies();
    c.req.raw = atOwnOrigin(c.req.raw, policy);
    // Only a request's URL shows whether the server runs on a loopback host.
    if (!hasWarned && authenticator.isExposed(c.req.raw))
      console.warn(`This server requires no authentication. ${HOW_TO_CLOSE}`);
    if (!hasWarned && missing !== undefined) console.warn(missing);
    if (!hasWarned) for (const one of misspelt) console.warn(`Settings: ${printable(one)}`);
    hasWarned = true;
    // Pages of any origin may read what everybody may.
    if (finding.has(c.req.path)) c.req.raw = without(c.req.raw, "origin");
    const origin = c.req.raw.headers.get("origin");
    if (origin !== null || !isProbe(c.req)) checkOrigin(c.req.raw, origin, policy);
    return origin === null ? next() : readable(c, next);
  });

  /** Lets a request in whose caller need not be known; it is counted by its network. */
  const enterUnknown = (raw: Request) => rateLimiter.enter(callerKey(anonymousAt(raw)), raw);

  // No limit of callers applies here: others may share the address of a health check.
  app.get("/health", async (c) => {
    const { SERVER_NAME: name, SERVER_VERSION: version } = settings;
    const { isFull } = storageRoom;
    const health = { $schema: LATEST, name, version, ...(isFull && { storage: "full" }) };
    const registry = await serving.registry().catch((error: unknown) => {
      if (!isFull) throw error;
    });
    const catalog = await registry?.catalog().catch((error: unknown) => void report(error));
    // Servlets and tools are listed only where no authentication is required, and to no web page under a name that was
    // rebound to this machine.
    const isListed = registry && catalog && authenticator.isOpen && isServed(c.req.raw, policy);
    const lists = isListed && {
      servlets: registry.servlets.map((servlet) => servlet.name),
      tools: catalog.lists.tools.length,
    };
    // To restart the server would make no room.
    return c.json({ ...health, ...lists }, catalog === undefined && !isFull ? 503 : 200);
  });

  /** Answers as a page for a person. */
  const paged =
    people &&
    (async (raw: Request, endpoint: (page: PersonPage) => Promise<Response>) => {
      const { persons, providers } = serving;
      const person = await people.of(raw);
      const key = callerKey(person?.principal ?? anonymousAt(raw));
      const admission = rateLimiter.enter(key, raw);
      const { quota } = admission;
      const tasksOf = (principal: Principal) =>
        tasks!({ ...principal, isAtPage: true }, quota.countStored);
      const { usage, states } = server;
      const { forgetCaller } = states;
      const own = { person, tasksOf, persons, providers, forgetCaller, usage };
      const page = { people, ...server.site, ...own, script: env.ASSETS && ANSWER_SCRIPT_PATH };
      return admission.until(endpoint({ ...page, admit: quota.admit }));
    });

  addConsole(app, { ...server, paged, mcpFor });

  const { SERVER_REGISTERED: registered, REGISTRY_PROOF: proof } = settings;
  app.on(["GET", "OPTIONS"], findable, ({ req: { raw } }) =>
    enterUnknown(raw).until(
      findingResponse(raw, { introduction, introductions, registered, proof }),
    ),
  );

  app.on("GET", metadataPaths(profiles), (c) => {
    const metadata = authenticator.metadata(c.req.raw);
    return metadata === undefined ? c.notFound() : c.json(metadata);
  });

  if (authorization) {
    const methods = ["GET", "POST"];
    app.on(methods, "/authorize", ({ req: { raw } }) =>
      enterUnknown(raw).until(authorization.authorize(raw)),
    );
    app.on(methods, protocolPaths(profiles), ({ req: { raw } }) =>
      enterUnknown(raw).until(authorization.protocol(raw)),
    );
  }

  for (const profile of [undefined, ...profiles])
    app.all(
      endpointPath(profile),
      mcpFor((raw) => authenticator.identify(raw, profile), profile),
    );

  /** A handler of MCP requests for the whole server or a profile, whose callers `identify` knows. */
  function mcpFor(identify: (raw: Request) => Principal | Promise<Principal>, profile?: string) {
    const introduced = profile === undefined ? introduction : introductions.get(profile)!;
    return async ({ req: { raw } }: Context): Promise<Response> => {
      const identified = identify(raw);
      const principal = identified instanceof Promise ? await identified : identified;
      const registry = (serving.known ?? (await serving.registry())).for({ principal });
      const noted = (fault: Fault) => serving.refusals.add(fault, principal.name);
      const admission = entered(noted, () => rateLimiter.enterUnwatched(callerKey(principal), raw));
      const { quota } = admission;
      return admission.until(
        mcpEndpoint(raw, {
          ...quota,
          admission,
          challenge(fault) {
            noted(fault);
            return authenticator.challenge(raw, fault);
          },
          introduction: introduced,
          registry,
          principal,
          identify: async () => identify(raw),
          hub: hubs && (() => hubs.getByName(hubNameOf(principal, env))),
          vault: server.vault,
          tasks: tasks?.(principal, quota.countStored),
          pages: people?.pagesFor(principal, raw),
          sessions: server.sessions,
        }),
      );
    };
  }

  if (paged) {
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
    // Whoever it is may sign out, also while it is not known whether their key is revoked.
    app.on(methods, SIGN_OUT_PATH, ({ req: { raw } }) =>
      paged(without(raw, "cookie"), (visited) => signOutEndpoint(raw, visited)),
    );
  }

  app.all("/operator/*", async (c) => {
    const { raw } = c.req;
    const principal = await authenticator.operator(raw);
    const admission = rateLimiter.enter(callerKey(principal), raw);
    return admission.until(
      operatorEndpoint(raw, {
        ...admission.quota,
        principal,
        acted: (what) => server.acted(principal.name, "command", what),
        states: server.states,
        sessionState: async (id) => (server.sessions ? server.sessions.stateId(id) : id),
        installer: () => installerOf(serving),
      }),
    );
  });

  for (const [path, answer] of Object.entries({ "/tools": listTools, "/tools/call": callTool })) {
    app.all(path, async (c) => {
      const { raw } = c.req;
      const principal = await otcPrincipal(raw, server);
      const allowed = (await serving.registry()).for({ principal });
      const admission = rateLimiter.enter(callerKey(principal), raw);
      const { quota } = admission;
      const pages = people?.pagesFor(principal, raw);
      const own = { tasks: tasks?.(principal, quota.countStored), pages, records: server.records };
      return admission.until(answer(raw, { ...quota, ...own, registry: allowed, principal }));
    });
  }

  app.notFound(async (c) => {
    const message = `Not found. The MCP endpoint of this server is ${new URL("/mcp", c.req.url).href}.`;
    const { raw } = c.req;
    if (isBrowsing(raw)) return failed(raw, 404, `There is no page at ${c.req.path}.`);
    const plain = c.json({ error: message }, 404);
    if (raw.method !== "POST") return plain;
    const answer = async () => {
      const id = idOf(
        await readJson(raw, { most: limits.strayBodyBytes, parse: parseJson }).catch(
          () => undefined,
        ),
      );
      if (id === null) return plain;
      // A JSON-RPC client with the wrong URL. Many report a 404 as "session terminated" and hide the message.
      const body = errorMessage(id, new Fault("invalid_request", message));
      return replyResponse({ status: 200, body });
    };
    return enterUnknown(raw).until(answer());
  });

  app.onError((error, c) => {
    const fault = report(error);
    serving.refusals.add(fault);
    const response = refused(c, fault);
    if (!isBrowsing(c.req.raw) || response.status < 400) return response;
    const { headers } = response;
    headers.delete("content-length");
    return failed(c.req.raw, response.status, fault.message, headers);
  });

  /** A failure as API clients get it. */
  function refused({ req }: Context, fault: Fault): Response {
    if (/^\/(tools|health)\b/.test(req.path)) return errorResponse(fault);
    const challenge = authenticator.challenge(req.raw, fault);
    if (req.path.startsWith("/operator/")) return operatorRefusal(fault, challenge);
    return refusalResponse(fault, { challenge });
  }

  const failed = (raw: Request, status: number, message: string, headers = new Headers()) =>
    failurePage(server.site, { status, message, path: pathOf(raw) }, headers);

  return app;
}

/** Returns the result of `enter`. A fault that it throws is recorded first. */
function entered<T>(record: (fault: Fault) => void, enter: () => T): T {
  try {
    return enter();
  } catch (error) {
    record(Fault.from(error));
    throw error;
  }
}

/** The request without this header, as if it had arrived so. */
function without(request: Request, header: string): Request {
  const headers = new Headers(request.headers);
  headers.delete(header);
  return arrivedAs(request, new Request(request, { headers }));
}

/** True for a health check, which may name any host: those who make it often know only an address. */
const isProbe = ({ path, method }: { path: string; method: string }): boolean =>
  (path === "/health" || path === "/health/") && (method === "GET" || method === "HEAD");

/** A web page that may call may also read the answers; a preflight is allowed the headers it names. */
const readable = cors({
  origin: (origin) => origin,
  exposeHeaders: ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate"],
  maxAge: 86400,
});
