/** Pages that features add to the console. */
import type { HonoBase } from "hono/hono-base";
import { html } from "hono/html";
import { demandOwnOrigin } from "../../kernel/auth/origin.ts";
import type { Markup } from "../../kernel/http/document.ts";
import { SIGN_IN_PATH } from "../people/paths.ts";
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
  /** Makes what it shows, within the visitor's rate limit. */
  show(
    raw: Request,
    visitor: Visitor,
  ): Promise<{ body: Markup; status?: number; extraStyle?: string }>;
}

/** True if the visitor may open the page. */
export const mayOpen = ({ isForOperators }: ConsolePage, { caller, isOperator }: Visitor) =>
  isForOperators ? isOperator : caller !== undefined;

/** Adds the route of a page. */
export function addPage(
  app: HonoBase,
  page: ConsolePage,
  { visited, siteFor }: { visited: Visited; siteFor(visitor: Visitor): ConsoleSite },
): void {
  app.get(page.path, ({ req: { raw } }) =>
    visited(raw, async (visitor, quota) => {
      demandOwnOrigin(raw);
      const site = siteFor(visitor);
      if (!mayOpen(page, visitor)) return refused(page, site, visitor);
      await quota.admit?.();
      const { body, ...how } = await page.show(raw, visitor);
      return consolePage(site, page, body, how);
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
    Sign in as the owner, or with a key that has the scope <code>operator</code>:
    <code>npm run keys -- create NAME --scopes operator</code>. Where the server requires no
    authentication, open it on its own machine, where <code>npm run dev</code> listens on loopback
    only.
  </p>`;

const forCallers: Markup = html`<h1>This page is for callers</h1>
  <p>Sign in with an API key, or as the owner.</p>`;
