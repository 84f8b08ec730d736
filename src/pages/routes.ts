/** The console's routes, and who may open each page. */
import type { Handler, Hono } from "hono";
import { demandOwnOrigin, isLocal } from "../auth/origin.ts";
import { anonymousAt } from "../auth/principal.ts";
import { callerKey } from "../core/callers.ts";
import { Fault } from "../core/errors.ts";
import type { Principal } from "../core/model.ts";
import type { View } from "./view.ts";
import type { Server } from "../server.ts";
import { scopeFor } from "../servlets/scopes.ts";
import {
  CONSOLE_MCP_PATH,
  consolePage,
  PAGES,
  type ConsoleSite,
  type Paged,
  type Visited,
  type Visitor,
} from "./frame.ts";
import { callEndpoint, eventsEndpoint, liveEndpoint } from "./live-endpoint.ts";
import { EVENTS_PATH, LIVE_PATH, liveStyle } from "./live.ts";
import { addOperatorPages } from "./operate-endpoint.ts";
import { VIEW_PATH, viewEndpoint } from "./framed-view.ts";
import { startPage } from "./page.ts";
import type { Env } from "../bindings.ts";

export interface ConsoleParts extends Server {
  /** Undefined where the pages for people are turned off (LINKS). */
  paged: Paged | undefined;
  /** A handler of MCP requests, whose callers `identify` knows. */
  mcpFor(identify: (raw: Request) => Promise<Principal>): Handler;
}

/** Adds the routes of the console. */
export function addConsole(app: Hono, parts: ConsoleParts): void {
  const { env, settings, authenticator, rateLimiter, serving, people } = parts;
  const { isOpen } = authenticator;
  const assets = assetsOf(env);

  async function visitorOf(raw: Request): Promise<Visitor> {
    const person = await people?.of(raw);
    if (isOpen) return { caller: anonymousAt(raw), person, isOperator: isLocal(raw) };
    const isOperator = person !== undefined && people!.isOperator(person);
    return { caller: person && people?.callerOf(person), person, isOperator };
  }

  const siteFor = ({ caller, isOperator }: Visitor): ConsoleSite => ({
    ...parts.site,
    version: settings.SERVER_VERSION,
    visitor: isOpen ? undefined : caller?.name,
    pages: [
      "Start",
      ...(parts.paged && caller ? (["Live"] as const) : []),
      ...(isOperator ? (["Usage"] as const) : []),
      ...(isOperator && parts.paged ? (["Operate"] as const) : []),
    ],
    hasSignIn: people?.ways !== undefined,
    script: assets && SCRIPT_PATH,
    mcp: isOpen ? "/mcp" : CONSOLE_MCP_PATH,
  });

  const visited: Visited = async (raw, answer) => {
    const visitor = await visitorOf(raw);
    const { quota, until } = rateLimiter.enter(callerKey(visitor.caller ?? anonymousAt(raw)), raw);
    return until(answer(visitor, quota));
  };

  app.on("GET", [PAGES.Start, "/mcp"], async (c, next) => {
    const wantsPage = c.req.path === "/" || (c.req.header("accept") ?? "").includes("text/html");
    if (!wantsPage) return next();
    const { raw } = c.req;
    return visited(raw, async (visitor, quota) => {
      const { caller } = visitor;
      // Listing what a servlet with state offers may run it.
      if (!isOpen && caller) await quota.admit?.();
      const all = await serving.registry();
      const registry = !isOpen && caller ? all.for({ principal: caller }) : all;
      const scopeOf = (servlet: string, own: string) =>
        settings.SCOPES && scopeFor(servlet, own, settings.SCOPES);
      const offers = async () => ({
        servlets: registry.servlets,
        catalog: await registry.catalog(),
        scopeOf,
      });
      return startPage({
        ...siteFor(visitor),
        endpoint: {
          url: new URL("/mcp", raw.url).href,
          name: settings.SERVER_NAME,
          isKeyed: authenticator.proof === "key",
        },
        offers: caller && (await offers()),
        isExposed: authenticator.isExposed(raw),
        proof: authenticator.proof,
      });
    });
  });

  const { paged } = parts;
  if (paged) {
    const framed = async (raw: Request) => {
      const site = siteFor(await visitorOf(raw));
      return ({ body, ...how }: View) =>
        consolePage(site, "Live", body, { ...how, extraStyle: liveStyle });
    };
    const methods = ["GET", "POST"];
    app.get(EVENTS_PATH, ({ req: { raw } }) => paged(raw, (page) => eventsEndpoint(raw, page)));
    app.on(methods, LIVE_PATH, ({ req: { raw } }) =>
      paged(raw, async (page) => liveEndpoint(raw, page, await framed(raw))),
    );
    app.on(methods, `${LIVE_PATH}/:id`, ({ req }) =>
      paged(req.raw, async (page) =>
        callEndpoint(req.raw, req.param("id"), page, await framed(req.raw)),
      ),
    );
  }

  addOperatorPages(app, { ...parts, visited, visitorOf, siteFor });

  app.get(VIEW_PATH, ({ req: { raw } }) =>
    visited(raw, ({ caller }, quota) =>
      viewEndpoint(raw, async () => {
        if (caller === undefined)
          throw new Fault("unauthorized", "Sign in again to see this view.");
        await quota.admit?.();
        return {
          registry: (await serving.registry()).for({ principal: caller }),
          principal: caller,
        };
      }),
    ),
  );

  // The pages' script calls MCP here, as the person who has signed in.
  const identify = async (raw: Request): Promise<Principal> => {
    demandOwnOrigin(raw);
    const person = isOpen ? undefined : await people?.of(raw);
    if (person === undefined) throw new Fault("unauthorized", "Sign in again to call from here.");
    return people!.callerOf(person);
  };
  app.all(CONSOLE_MCP_PATH, parts.mcpFor(identify));

  // A parameter beside the fixed paths would leave the fastest of Hono's routers.
  if (assets)
    app.get(`${ASSETS_PATH}*`, ({ req }) => assets(req.raw, req.path.slice(ASSETS_PATH.length)));
}

const ASSETS_PATH = "/console/";
const SCRIPT_PATH = `${ASSETS_PATH}main.js`;

/**
 * Answers with an asset below `/console/`; undefined without the binding ASSETS. The platform serves assets before the
 * Worker is asked: this is for those hosts that do not.
 */
function assetsOf({
  ASSETS: assets,
}: Env): ((request: Request, file: string) => Promise<Response>) | undefined {
  if (assets === undefined) return undefined;
  return async ({ url }, file) => {
    const isName = /^[\w-]+\.js$/.test(file);
    const found = isName ? await assets.fetch(new URL(ASSETS_PATH + file, url)) : undefined;
    if (found?.status !== 200) return new Response("Not found. Reload the page.", { status: 404 });
    const headers = {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    };
    return new Response(found.body, { headers });
  };
}
