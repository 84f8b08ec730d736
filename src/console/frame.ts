import { html } from "hono/html";
import { documentOf, type Markup, type Site } from "../document.ts";
import type { CallerQuota, Principal } from "../model.ts";
import type { Person } from "../person/people.ts";
import type { PersonPage } from "../person/view.ts";

/** What all pages of the console have in common: the way to each other, and their style. */

/** The pages, by their names, in the order of the links to them. */
export const PAGES = {
  Start: "/",
  Live: "/console/live",
  Usage: "/console/usage",
  Operate: "/console/operate",
} as const;

/** The path of the page on which people sign in to see the rest of the console. */
export const SIGN_IN_PATH = "/sign-in";

/** Where the script calls this server, by the cookie of whoever has signed in. */
export const CONSOLE_MCP_PATH = "/console/mcp";

/** The server, and who looks at its console. */
export interface ConsoleSite extends Site {
  version: string;
  /** Who has signed in to these pages; undefined for nobody. */
  visitor: string | undefined;
  /** The pages that the visitor may open. */
  pages: readonly (keyof typeof PAGES)[];
  /** True where people can sign in to these pages. */
  hasSignIn: boolean;
  /** The path of the pages' script; absent where the deployment has no assets. */
  script: string | undefined;
  /** The path at which the script calls this server for the visitor. */
  mcp: string;
}

/** Somebody at the console. */
export interface Visitor {
  /** As a caller; undefined for nobody in particular where callers must be known. */
  caller: Principal | undefined;
  /** As who has signed in; undefined where nobody need, or has. */
  person: Person | undefined;
  /** True for one who may operate the server. */
  isOperator: boolean;
}

/** Answers as a page for a person. */
export type Paged = (
  raw: Request,
  endpoint: (page: PersonPage) => Promise<Response>,
) => Promise<Response>;

/** Answers a request for a page, counted as one of its visitor. */
export type Visited = (
  raw: Request,
  answer: (visitor: Visitor, quota: CallerQuota) => Promise<Response>,
) => Promise<Response>;

interface Shown {
  status?: number;
  headers?: Record<string, string>;
  /** Styles besides those of all pages of the console. */
  extraStyle?: string;
}

/** A page of the console with this body; `at` is its name. */
export function consolePage(
  site: ConsoleSite,
  at: keyof typeof PAGES,
  body: Markup,
  { status = 200, headers = {}, extraStyle = "" }: Shown = {},
): Promise<Response> {
  const { title } = site;
  return documentOf({ ...site, title: at === "Start" ? title : `${at} · ${title}` }, body, {
    status,
    headers: new Headers(headers),
    top: top(site, at),
    extraStyle: style + extraStyle,
    ...(site.script !== undefined && { script: site.script }),
  });
}

function top(site: ConsoleSite, at: keyof typeof PAGES): Markup {
  const { title, version, icon, visitor, hasSignIn, mcp } = site;
  const link = (name: keyof typeof PAGES): Markup =>
    html`<a href="${PAGES[name]}" ${name === at ? html`aria-current="page"` : ""}>${name}</a>`;
  const signIn = `${SIGN_IN_PATH}?back=${encodeURIComponent(PAGES[at])}`;
  return html`<header data-mcp="${mcp}">
    ${icon === undefined ? "" : html`<img class="icon" src="${icon}" alt="" />`}
    <h1>${title} <small class="dim">${version}</small></h1>
    <nav aria-label="Pages">
      ${site.pages.map(link)}
      ${visitor === undefined ? (hasSignIn ? html`<a href="${signIn}">Sign in</a>` : "") : html`<a href="/account">Account of ${visitor}</a>`}
    </nav>
  </header>`;
}

const style = `
  main { max-width: 60rem; } header h1 { margin: 0; font-size: 1.3rem; } [aria-current] { font-weight: 600; color: var(--ink); }
  .warn { border-left: .3rem solid var(--warn); }
  .button { display: inline-block; width: auto; text-decoration: none; padding: .5rem 1rem; }
  .badge { font-size: .8rem; border: 1px solid var(--edge); border-radius: 1rem; padding: .05rem .5rem; margin-left: .3rem;
    white-space: nowrap; display: inline-block; max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: middle; }
  .wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
  caption { text-align: left; font-weight: 600; } th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
    border-top: 1px solid var(--line); overflow-wrap: anywhere; min-width: 6rem; } th { font-weight: 400; } thead th { font-weight: 600; }
  .acts { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
  .acts button, .copy { width: auto; padding: .3rem .8rem; margin: 0; }
  [hidden] { display: none !important; }
`;
