import { waitUntil } from "cloudflare:workers";
import type { Context } from "hono";
import { cors } from "hono/cors";
import { HonoBase } from "hono/hono-base";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { HOW_TO_CLOSE } from "./auth/authenticator.ts";
import { endpointPath, metadataPaths } from "./auth/metadata.ts";
import {
  atOwnOrigin,
  checkOrigin,
  correctedOrigin,
  isServed,
  originPolicy,
  withoutHeader,
} from "./auth/origin.ts";
import { Fault, report } from "./core/errors.ts";
import { limits } from "./core/limits.ts";
import { storageRoom } from "./core/storage-room.ts";
import { parseJson, printable } from "./core/text.ts";
import { readJson, refuseLateBodies } from "./http/body.ts";
import type { Kernel, Started } from "./kernel.ts";
import { findingPaths, findingResponse } from "./mcp/card.ts";
import { mcpHandler } from "./mcp-handler.ts";
import { errorMessage, idOf } from "./mcp/wire/message.ts";
import { refusalResponse, replyResponse } from "./mcp/wire/reply.ts";
import type { Registry } from "./servlets/registry.ts";
import { describeMissing, unusedIn } from "./servlets/variables.ts";
import { demandAudience } from "./settings/env.ts";

/** The Worker's middleware and routes, in order: /health, the routes of features, then the kernel's own. */
export function createApp(kernel: Kernel) {
  const { env, settings, authenticator, rateLimiter, started } = kernel;
  // `/mcp/` is `/mcp`: people copy URLs with a slash at the end.
  const app = new HonoBase({ strict: false, router: new RegExpRouter() });

  const { introduction, introductions } = kernel;
  const profiles = [...introductions.keys()];
  const findable = findingPaths(profiles);
  const finding = new Set(findable.flatMap((path) => [path, `${path}/`]));
  const policy = originPolicy(settings, env);
  if (policy.runs === "self-hosted") demandAudience(settings, kernel.featureSettings);
  warnOfOrigins(settings);
  const warnings = variableWarnings(kernel);
  let hasWarned = false;
  const told = started.filter(({ served }) => served !== undefined);
  let served: Registry | undefined;
  const tellServed = async (raw: Request) => {
    served = kernel.known;
    const registry = await kernel.registry();
    await Promise.all(told.map((one) => one.served!(registry, raw)));
  };
  /** The next request tells it again. */
  const tellAgain = (error: unknown) => {
    served = undefined;
    report(error);
  };
  app.use((c, next) => {
    refuseLateBodies();
    c.req.raw = atOwnOrigin(c.req.raw, policy);
    if (!hasWarned) {
      // Only a request's URL shows whether the server runs on a loopback host.
      if (authenticator.isExposed(c.req.raw))
        console.warn(`This server requires no authentication. ${HOW_TO_CLOSE}`);
      for (const one of warnings) console.warn(one);
      hasWarned = true;
    }
    // Pages of any origin may read public documents.
    if (finding.has(c.req.path)) c.req.raw = withoutHeader(c.req.raw, "origin");
    const origin = c.req.raw.headers.get("origin");
    if (origin !== null || !isProbe(c.req)) checkOrigin(c.req.raw, origin, policy);
    const isTold = told.length === 0 || (served !== undefined && served === kernel.known);
    // Features give the address of this request to others as the server's own: a Host header may name any.
    if (!isTold && isServed(c.req.raw, policy)) waitUntil(tellServed(c.req.raw).catch(tellAgain));
    return origin === null ? next() : readable(c, next);
  });

  // No caller limit applies here: other clients may share the address of a health check.
  app.get("/health", async (c) => {
    const { SERVER_NAME: name, SERVER_VERSION: version } = settings;
    const { isFull } = storageRoom;
    const added = Object.assign({}, ...started.map((one) => one.health)) as object;
    const health = { ...added, name, version, ...(isFull && { storage: "full" }) };
    const registry = await kernel.registry().catch((error: unknown) => {
      if (!isFull) throw error;
    });
    const catalog = await registry?.catalog().catch((error: unknown) => void report(error));
    // Servlets and tools are listed only where no authentication is required, and never to a web page under a name that
    // was rebound to this machine.
    const isListed = registry && catalog && authenticator.isOpen && isServed(c.req.raw, policy);
    const lists = isListed && {
      servlets: registry.servlets.map((servlet) => servlet.name),
      tools: catalog.lists.tools.length,
    };
    // 503 would make a supervisor restart the server, which frees no storage.
    return c.json({ ...health, ...lists }, catalog === undefined && !isFull ? 503 : 200);
  });

  for (const { routes } of started) routes?.(app);

  const { SERVER_REGISTERED: registered, REGISTRY_PROOF: proof } = settings;
  app.on(["GET", "OPTIONS"], findable, ({ req: { raw } }) =>
    rateLimiter
      .enterUnknown(raw)
      .until(findingResponse(raw, { introduction, introductions, registered, proof })),
  );

  app.on("GET", metadataPaths(profiles), (c) => {
    const metadata = authenticator.metadata(c.req.raw);
    return metadata === undefined ? c.notFound() : c.json(metadata);
  });

  for (const profile of [undefined, ...profiles]) {
    const identify = (raw: Request) => authenticator.identify(raw, profile);
    app.all(endpointPath(profile), mcpHandler(kernel, identify, profile));
  }

  app.notFound(async (c) => {
    const message = `Not found. The MCP endpoint of this server is ${new URL("/mcp", c.req.url).href}.`;
    const { raw } = c.req;
    const page = pageOf(raw, { status: 404, message: `There is no page at ${c.req.path}.` });
    if (page !== undefined) return page;
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
    return rateLimiter.enterUnknown(raw).until(answer());
  });

  app.onError((error, c) => {
    const fault = report(error);
    kernel.refusals.add(fault);
    const response = refused(c, fault);
    const { status, headers } = response;
    if (status < 400) return response;
    return pageOf(c.req.raw, { status, message: fault.message, headers }) ?? response;
  });

  /** A failure as a response for API clients. */
  function refused({ req }: Context, fault: Fault): Response {
    const challenge = authenticator.challenge(req.raw, fault);
    const own = started.find(({ refusal }) => refusal?.paths.test(req.path))?.refusal;
    return own ? own.answer(fault, challenge) : refusalResponse(fault, { challenge });
  }

  /** A failure page for a browser; undefined for other clients, and on a server without pages. */
  const pageOf: NonNullable<Started["failurePage"]> = (raw, failure) =>
    started.find(({ failurePage }) => failurePage)?.failurePage?.(raw, failure);

  return app;
}

/** Logs each entry of ALLOWED_ORIGINS that can match no page, with its correction. */
function warnOfOrigins({ ALLOWED_ORIGINS: entries }: Kernel["settings"]): void {
  for (const entry of entries) {
    const corrected = correctedOrigin(entry);
    if (corrected !== undefined)
      console.warn(
        `ALLOWED_ORIGINS has ${printable(entry)}, which is not an origin as browsers send it, so it allows no page. Write ${corrected}.`,
      );
  }
}

/** Warnings about variables that are missing or misspelt. */
function variableWarnings({ bundle, deployment: { variables } }: Kernel): string[] {
  const missing = describeMissing(bundle.servlets, (name) => Boolean(variables[name]));
  // The others may belong to installed servlets.
  const misspelt = unusedIn(bundle.servlets, Object.keys(variables), { isMisspelt: true });
  return [
    ...(missing === undefined ? [] : [missing]),
    ...misspelt.map((one) => `Settings: ${printable(one)}`),
  ];
}

/** True for a health check, which may name any host: its client often knows only an address. */
const isProbe = ({ path, method }: { path: string; method: string }): boolean =>
  (path === "/health" || path === "/health/") && (method === "GET" || method === "HEAD");

/** An allowed web page may read the responses; a preflight is granted the headers that it names. */
const readable = cors({
  origin: (origin) => origin,
  exposeHeaders: ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate"],
  maxAge: 86400,
});
