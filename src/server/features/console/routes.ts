/** The console's routes, and who may open each page. */
import type { Handler } from "hono";
import type { HonoBase } from "hono/hono-base";
import { endpointsOf } from "../../kernel/servlets/profiles.ts";
import { endpointPath } from "../../kernel/auth/metadata.ts";
import { acceptsPages } from "../../kernel/http/body.ts";
import { demandOwnOrigin, isLocal } from "../../kernel/auth/origin.ts";
import { anonymousAt } from "../../kernel/auth/principal.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { ANONYMOUS, type Principal } from "../../kernel/core/model.ts";
import { endpointOf } from "./connect.ts";
import { entryIn } from "./explore.ts";
import type { View } from "../people/view.ts";
import type { ConsoleServer } from "./console-server.ts";
import { scopeFor } from "../../kernel/servlets/scopes.ts";
import { consolePage, type ConsoleSite, type Visited, type Visitor } from "./frame.ts";
import { consoleMcpPath, PAGES } from "../people/paths.ts";
import { accountEndpoint, accountStyle } from "./account-endpoint.ts";
import { callEndpoint, eventsEndpoint, liveEndpoint, questionsFor } from "./live-endpoint.ts";
import { EVENTS_PATH, LIVE_PATH, liveStyle } from "./live.ts";
import { callStyle } from "./timeline.ts";
import { callsEndpoint } from "./calls-endpoint.ts";
import { addOperatorPages } from "./operate-endpoint.ts";
import { addPage, mayOpen } from "./pages.ts";
import { VIEW_PATH, viewEndpoint } from "../people/framed-view.ts";
import { startPage, type ShownProfile } from "./page.ts";
import type { Settings } from "../../kernel/settings/env.ts";

/** Makes a handler of MCP requests, whose callers `identify` knows. */
type McpFor = (identify: (raw: Request) => Promise<Principal>, profile?: string) => Handler;

/** Adds the routes of the console. */
export function addConsole(app: HonoBase, parts: ConsoleServer, mcpFor: McpFor): void {
  const { env, settings, authenticator, rateLimiter, people } = parts;
  const { profiles: named = {} } = parts.bundle;
  const profiles = endpointsOf(named).map((name): ShownProfile => {
    const { title = name, description } = named[name]!;
    return { name, title, description };
  });
  const { isOpen } = authenticator;
  const assets = assetsOf(env);

  async function visitorOf(raw: Request): Promise<Visitor> {
    const person = await people?.of(raw);
    if (isOpen) return { caller: anonymousAt(raw), person, isOperator: isLocal(raw) };
    const isOperator = person !== undefined && people!.isOperator(person);
    return { caller: person && people?.callerOf(person), person, isOperator };
  }

  const added = parts.started.flatMap(({ pages = [] }) => pages);
  const pagesFor = (visitor: Visitor): ConsoleSite["pages"] => {
    const { caller, isOperator } = visitor;
    return [
      "Home",
      ...(parts.paged && caller ? (["Live"] as const) : []),
      ...(parts.usage && (isOperator || (!isOpen && caller)) ? (["Calls"] as const) : []),
      ...(isOperator ? (["Usage"] as const) : []),
      ...(isOperator && parts.paged ? (["Operate"] as const) : []),
      ...added.filter((page) => mayOpen(page, visitor)),
    ];
  };

  const siteFor = (visitor: Visitor, profile?: string): ConsoleSite => ({
    ...parts.site,
    version: settings.SERVER_VERSION,
    visitor: isOpen ? undefined : (visitor.person?.member?.title ?? visitor.caller?.name),
    pages: pagesFor(visitor),
    hasSignIn: people?.ways !== undefined,
    script: assets && SCRIPT_PATH,
    profile,
    mcp: isOpen ? endpointPath(profile) : consoleMcpPath(profile),
  });

  const visited: Visited = async (raw, answer) => {
    const visitor = await visitorOf(raw);
    const admission = rateLimiter.enter(callerKey(visitor.caller ?? anonymousAt(raw)), raw);
    return admission.until(answer(visitor, admission.quota));
  };

  /** The visitor as a caller of the profile; undefined where nobody has signed in, or may not use it. */
  const callerAt = (caller: Principal | undefined, profile: string | undefined) => {
    try {
      return caller && authenticator.atProfile(caller, profile);
    } catch (error) {
      if (Fault.from(error).code !== "insufficient_scope") throw error;
      return undefined;
    }
  };

  /** The page of the whole server, or of a profile. */
  const start = (raw: Request, profile: ShownProfile | undefined) =>
    visited(raw, async (visitor, quota) => {
      const caller = callerAt(visitor.caller, profile?.name);
      // Listing what a servlet with state offers may run it.
      if (!isOpen && caller) await quota.admit?.();
      const all = await parts.registry();
      const registry =
        !isOpen && caller
          ? all.for({ principal: caller })
          : all.within(profile ? { profile: profile.name } : {});
      const scopeOf = (servlet: string, own: string) =>
        profile === undefined && settings.SCOPES
          ? scopeFor(servlet, own, settings.SCOPES)
          : undefined;
      const offers = async () => {
        const catalog = await registry.catalog();
        return {
          servlets: registry.servlets,
          catalog,
          async skillText(uri: string) {
            const { read } = catalog.resources.get(uri) ?? {};
            const found = await read?.(parts.deployment.storedPart, caller ?? ANONYMOUS).catch(
              noneRead,
            );
            const [one] = found?.contents ?? [];
            return one !== undefined && "text" in one ? one.text : undefined;
          },
          scopeOf,
        };
      };
      return startPage({
        ...siteFor(visitor, profile?.name),
        endpoint: endpointOf(
          parts,
          new URL(endpointPath(profile?.name), raw.url).href,
          profile?.name,
        ),
        description: settings.SERVER_DESCRIPTION ?? (caller && firstLine(settings)),
        waiting: visitor.person
          ? await questionsFor(raw, parts.persons, visitor.person).catch(noneAfter)
          : 0,
        entry: entryIn(raw.url),
        at: raw.url.slice(new URL(raw.url).origin.length),
        profile,
        profiles: profiles.map((one) => ({
          ...one,
          url: new URL(endpointPath(one.name), raw.url).href,
        })),
        offers: caller && (await offers()),
        isDenied: visitor.caller !== undefined && caller === undefined,
        isExposed: authenticator.isExposed(raw),
      });
    });

  app.get(PAGES.Home, ({ req: { raw } }) => start(raw, undefined));
  for (const profile of [undefined, ...profiles])
    app.get(endpointPath(profile?.name), (c, next) =>
      acceptsPages(c.req.raw.headers) ? start(c.req.raw, profile) : next(),
    );

  const { paged } = parts;
  if (paged) {
    const framed = async (raw: Request, name: "Live" | "Account" = "Live") => {
      const site = siteFor(await visitorOf(raw));
      return ({ body, ...how }: View) =>
        consolePage(site, name, body, {
          ...how,
          extraStyle: name === "Live" ? liveStyle + callStyle : accountStyle,
        });
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
    app.on(methods, PAGES.Account, ({ req: { raw } }) =>
      paged(raw, async (page) => accountEndpoint(raw, page, await framed(raw, "Account"))),
    );
  }

  app.get(PAGES.Calls, ({ req: { raw } }) =>
    visited(raw, async (visitor, quota) => {
      demandOwnOrigin(raw);
      const { usage, persons } = parts;
      return callsEndpoint(raw, { usage, persons, visitor, quota, site: siteFor(visitor) });
    }),
  );

  const visits = { visited, visitorOf, siteFor, paged: parts.paged, people };
  addOperatorPages(app, parts, visits);
  for (const page of added) addPage(app, page, visits);

  app.get(VIEW_PATH, ({ req: { raw } }) =>
    visited(raw, ({ caller }, quota) =>
      viewEndpoint(raw, async () => {
        if (caller === undefined)
          throw new Fault("unauthorized", "Sign in again to see this view.");
        await quota.admit?.();
        const asked = new URL(raw.url).searchParams.get("profile");
        const profile = profiles.find(({ name }) => name === asked);
        const principal = authenticator.atProfile(caller, profile?.name);
        return { registry: (await parts.registry()).for({ principal }), principal };
      }),
    ),
  );

  // The pages' script calls MCP here, as the person who has signed in.
  const identify = async (raw: Request, profile: string | undefined): Promise<Principal> => {
    demandOwnOrigin(raw);
    const person = isOpen ? undefined : await people?.of(raw);
    if (person === undefined) throw new Fault("unauthorized", "Sign in again to call from here.");
    return authenticator.atProfile(people!.callerOf(person), profile);
  };
  for (const profile of [undefined, ...profiles.map(({ name }) => name)])
    app.all(
      consoleMcpPath(profile),
      mcpFor((raw) => identify(raw, profile), profile),
    );

  // RegExpRouter refuses a parameter beside fixed paths.
  if (assets)
    app.get(`${ASSETS_PATH}*`, ({ req }) => assets(req.raw, req.path.slice(ASSETS_PATH.length)));
}

/** Instructions are for clients, which get them once they may call. */
const firstLine = ({ SERVER_INSTRUCTIONS: all = "" }: Settings): string | undefined =>
  all.trim().split("\n", 1)[0] || undefined;

/** The page of a skill is shown even if its text cannot be read. */
const noneRead = (error: unknown): undefined => void report(error);

/** The home page is shown even if the list of a person's calls cannot be read. */
function noneAfter(error: unknown): number {
  report(error);
  return 0;
}

const ASSETS_PATH = "/console/";
const SCRIPT_PATH = `${ASSETS_PATH}main.js`;

/**
 * Answers with an asset below `/console/`; undefined without the binding ASSETS. The platform serves assets before the
 * Worker is called: this is for hosts that do not.
 */
function assetsOf({
  ASSETS: assets,
}: ConsoleServer["env"]): ((request: Request, file: string) => Promise<Response>) | undefined {
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
