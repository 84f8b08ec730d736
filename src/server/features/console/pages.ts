/** Pages that features add to the console. */
import type { HonoBase } from "hono/hono-base";
import { html } from "hono/html";
import { demandOwnOrigin } from "../../kernel/auth/origin.ts";
import type { Markup } from "../../kernel/http/document.ts";
import { SIGN_IN_PATH } from "../people/paths.ts";
import type { People } from "../people/people.ts";
import { pageFor, seeOther, type Paged } from "../people/view.ts";
import {
  consolePage,
  type ConsoleSite,
  type PageLink,
  type Visited,
  type Visitor,
} from "./frame.ts";

declare module "../../kernel/kernel.ts" {
  interface Started {
    /** Pages of the console, which come last in its navigation. */
    pages?: readonly ConsolePage[];
  }
}

/** A page that shows something; its path is below `/console/`. */
export interface ConsolePage extends PageLink {
  /** True if operators alone may open it; otherwise all callers may. */
  isForOperators: boolean;
  /** Makes the page, within the visitor's rate limit. Its forms send `token` back, which is empty without a person. */
  show(
    raw: Request,
    visitor: Visitor,
    token: string,
  ): Promise<{ body: Markup; status?: number; extraStyle?: string }>;
  /** Handles one of its forms, sent by the principal `by`. Returns the path of the page that follows. */
  post?(form: URLSearchParams, by: string, visitor: Visitor): Promise<string>;
}

/** True if the visitor may open the page. */
export const mayOpen = ({ isForOperators }: ConsolePage, { caller, isOperator }: Visitor) =>
  isForOperators ? isOperator : caller !== undefined;

/** How the console knows its visitors, and shows itself to them. */
export interface Visits {
  visited: Visited;
  visitorOf(raw: Request): Promise<Visitor>;
  siteFor(visitor: Visitor): ConsoleSite;
  /** Both are absent where the pages for people are turned off. */
  paged: Paged | undefined;
  people: People | undefined;
}

/** Adds the routes of a page. */
export function addPage(
  app: HonoBase,
  page: ConsolePage,
  { visited, visitorOf, siteFor, paged, people }: Visits,
): void {
  app.get(page.path, ({ req: { raw } }) =>
    visited(raw, async (visitor, quota) => {
      demandOwnOrigin(raw);
      const site = siteFor(visitor);
      if (!mayOpen(page, visitor)) return refused(page, site, visitor);
      await quota.admit?.();
      const { person } = visitor;
      const token = page.post && person ? await people?.token(person, page.path) : undefined;
      const { body, ...how } = await page.show(raw, visitor, token ?? "");
      return consolePage(site, page, body, how);
    }),
  );
  const { post, path } = page;
  if (post === undefined || paged === undefined) return;
  app.post(path, ({ req: { raw } }) =>
    paged(raw, async (shared) => {
      const visitor = await visitorOf(raw);
      return pageFor(raw, shared, {
        answer: ({ body, ...how }) => consolePage(siteFor(visitor), page, body, how),
        async work({ form, person, isOld }) {
          if (isOld) return seeOther(path);
          if (!mayOpen(page, visitor)) return { status: 403, body: forOperators };
          const isOwn = form && (await shared.people.isForm(form, person, path));
          return seeOther(isOwn ? await post(form, person.principal.name, visitor) : path);
        },
      });
    }),
  );
}

/** Leads visitors who have not signed in to the sign-in, and refuses others. */
function refused(page: ConsolePage, site: ConsoleSite, { person }: Visitor) {
  if (person !== undefined || !site.hasSignIn)
    return consolePage(site, page, page.isForOperators ? forOperators : forCallers, {
      status: 403,
    });
  const location = `${SIGN_IN_PATH}?back=${encodeURIComponent(page.path)}`;
  return new Response(null, { status: 303, headers: { location } });
}

export const forOperators: Markup = html`<h1>This page is for operators</h1>
  <p>
    Sign in as the owner, as a member whom <code>operators</code> in <code>SIGN_IN</code> names, or
    with a key that has the scope <code>operator</code>:
    <code>npm run keys -- create NAME --scopes operator</code>. Where the server requires no
    authentication, open it on its own machine, where <code>npm run dev</code> listens on loopback
    only.
  </p>`;

const forCallers: Markup = html`<h1>This page is for callers</h1>
  <p>Sign in with an API key, or as the owner.</p>`;
