import type { Hono } from "hono";
import { html } from "hono/html";
import { demandOwnOrigin } from "../auth/origin.ts";
import type { Markup } from "../http/document.ts";
import { usageOf } from "../observe/counting.ts";
import type { View } from "./view.ts";
import { chartStyle } from "./charts.ts";
import {
  consolePage,
  PAGES,
  type Paged,
  type PageName,
  SIGN_IN_PATH,
  type ConsoleSite,
  type Visited,
  type Visitor,
} from "./frame.ts";
import { operateEndpoint, type Operated } from "./operate-endpoint.ts";
import { operateStyle } from "./operate.ts";
import { questionIn, usagePage } from "./usage.ts";

/** The pages for operators. */

/** Dependencies of these pages. */
interface OperatorParts extends Pick<Operated, "env" | "settings" | "serving"> {
  visited: Visited;
  visitorOf(raw: Request): Promise<Visitor>;
  /** As in `ConsoleParts`. */
  paged: Paged | undefined;
  siteFor(visitor: Visitor): ConsoleSite;
}

/** Adds the routes of these pages. */
export function addOperatorPages(app: Hono, parts: OperatorParts): void {
  const { env, visited, visitorOf, siteFor, paged } = parts;

  app.get(PAGES.Usage, ({ req: { raw } }) =>
    visited(raw, async (visitor, quota) => {
      demandOwnOrigin(raw);
      const site = siteFor(visitor);
      if (!visitor.isOperator) return refused(site, visitor, "Usage");
      await quota.admit?.();
      const usage = usageOf(env)?.();
      if (usage === undefined) return consolePage(site, "Usage", unbound);
      const question = questionIn(raw.url);
      const report = await usage.report(question.over, question.by);
      const { total: month } =
        question.over === "month" ? report : await usage.report("month", question.by);
      const body = usagePage(question, report, month, Date.now());
      return consolePage(site, "Usage", body, { extraStyle: chartStyle });
    }),
  );

  if (paged === undefined) return;
  app.on(["GET", "POST"], PAGES.Operate, ({ req: { raw } }) =>
    paged(raw, async (page) => {
      const visitor = await visitorOf(raw);
      const site = siteFor(visitor);
      const { isOperator } = visitor;
      const answer = ({ body, ...how }: View) =>
        consolePage(site, "Operate", body, { ...how, extraStyle: operateStyle });
      const refusal = { status: 403, body: forOperators };
      return operateEndpoint(raw, { ...parts, page, isOperator, refused: refusal, answer });
    }),
  );
}

const unbound = html`<h2>Usage</h2>
  <p>
    Nothing is counted: bind the Durable Object <code>USAGE</code> (class <code>Usage</code>) in
    <code>wrangler.toml</code> and deploy again.
  </p>`;

/** Leads visitors who have not signed in to the sign-in, and refuses others. */
function refused(site: ConsoleSite, { person }: Visitor, at: PageName) {
  if (person === undefined && site.hasSignIn) {
    const back = encodeURIComponent(PAGES[at]);
    return new Response(null, {
      status: 303,
      headers: { location: `${SIGN_IN_PATH}?back=${back}` },
    });
  }
  return consolePage(site, at, forOperators, { status: 403 });
}

const forOperators: Markup = html`<h2>This page is for operators</h2>
  <p>
    Sign in as the owner, or with a key that has the scope <code>operator</code>:
    <code>npm run keys -- create NAME --scopes operator</code>. Where the server requires no
    authentication, open it on its own machine, where <code>npm run dev</code> listens on loopback
    only.
  </p>`;
