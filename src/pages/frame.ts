/** The frame of every console page: header, navigation and shared style. */
import { html } from "hono/html";
import { endpointPath } from "../auth/metadata.ts";
import { documentOf, type Markup, type Site } from "../http/document.ts";
import type { CallerQuota, Principal } from "../core/model.ts";
import type { Person } from "./people.ts";
import type { PersonPage } from "./view.ts";

/** The path of each page, in the order of the navigation. */
export const PAGES = {
  Start: "/",
  Live: "/console/live",
  Usage: "/console/usage",
  Operate: "/console/operate",
} as const;
type PageName = keyof typeof PAGES;

/** The path of the page on which people sign in. */
export const SIGN_IN_PATH = "/sign-in";

/** The path of the script by which a view answers a question. */
export const ANSWER_SCRIPT_PATH = "/console/answer.js";

/** The path at which the pages' script calls MCP, of the whole server or a profile, authenticated by the sign-in cookie. */
export const consoleMcpPath = (profile: string | undefined): string =>
  `/console${endpointPath(profile)}`;

/** The server as its console shows it to one visitor. */
export interface ConsoleSite extends Site {
  version: string;
  /** The name of the person who has signed in; undefined if nobody has, or nobody needs to. */
  visitor: string | undefined;
  /** The pages that the visitor may open. */
  pages: readonly PageName[];
  /** True if people can sign in to these pages. */
  hasSignIn: boolean;
  /** The path of the pages' script; absent where the deployment has no assets. */
  script: string | undefined;
  /** The profile that the page is of; undefined for the whole server. */
  profile?: string | undefined;
  /** The path at which the script calls this server for the visitor. */
  mcp: string;
}

/** Who has sent a request to the console. */
export interface Visitor {
  /** Whose calls the visitor may make; undefined where authentication is required and nobody has signed in. */
  caller: Principal | undefined;
  /** Undefined if nobody has signed in. */
  person: Person | undefined;
  /** True if the visitor may operate the server. */
  isOperator: boolean;
}

/** Answers with a page that only a person who is known may see. */
export type Paged = (
  raw: Request,
  endpoint: (page: PersonPage) => Promise<Response>,
) => Promise<Response>;

/** Answers a request, which counts towards the visitor's rate limit. */
export type Visited = (
  raw: Request,
  answer: (visitor: Visitor, quota: CallerQuota) => Promise<Response>,
) => Promise<Response>;

interface PageOptions {
  status?: number;
  headers?: Record<string, string>;
  /** Added to the style of all console pages. */
  extraStyle?: string;
}

/** Makes the response of a console page. */
export function consolePage(
  site: ConsoleSite,
  name: PageName,
  body: Markup,
  { status = 200, headers = {}, extraStyle = "" }: PageOptions = {},
): Promise<Response> {
  const { title } = site;
  return documentOf({ ...site, title: name === "Start" ? title : `${name} · ${title}` }, body, {
    status,
    headers: new Headers(headers),
    top: top(site, name),
    extraStyle: style + extraStyle,
    ...(site.script !== undefined && { script: site.script }),
  });
}

function top(site: ConsoleSite, current: PageName): Markup {
  const { title, version, icon, visitor, hasSignIn, mcp, profile } = site;
  const link = (name: PageName): Markup =>
    html`<a href="${PAGES[name]}" ${name === current ? html`aria-current="page"` : ""}>${name}</a>`;
  const signIn = `${SIGN_IN_PATH}?back=${encodeURIComponent(PAGES[current])}`;
  return html`<header
    data-mcp="${mcp}"
    ${profile === undefined ? "" : html`data-profile="${profile}"`}
  >
    ${icon === undefined ? "" : html`<img class="icon" src="${icon}" alt="" />`}
    <h1>${title} <small class="dim">${version}</small></h1>
    <nav aria-label="Pages">
      ${site.pages.map(link)}
      ${visitor === undefined ? (hasSignIn ? html`<a href="${signIn}">Sign in</a>` : "") : html`<a href="/account">Account of ${visitor}</a>`}
    </nav>
  </header>`;
}

/** A table that scrolls where it is too wide. Its caption is always there for screen readers. */
export const tableOf = (
  caption: string,
  columns: readonly (string | Markup)[],
  rows: readonly Markup[],
  hasCaption = false,
): Markup =>
  html`<div class="wide" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="${hasCaption ? "" : "unseen"}">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((one) => (typeof one === "string" ? html`<th scope="col">${one}</th>` : one))}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

const style = `
  main { max-width: 60rem; } main > :first-child { margin-top: 0; } h3 { margin-top: 1.8rem; } .note h3 { margin: 0; } header h1 { margin: 0; font-size: 1.3rem; } [aria-current] { font-weight: 600; color: var(--ink); }
  .warn { border-left: .3rem solid var(--warn); }
  .button { display: inline-block; width: auto; text-decoration: none; padding: .5rem 1rem; }
  .badge { font-size: .8rem; border: 1px solid var(--edge); border-radius: 1rem; padding: .05rem .5rem; margin-right: .3rem;
    white-space: nowrap; display: inline-block; max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: middle; }
  .wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
  caption { text-align: left; font-weight: 600; } th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
    border-top: 1px solid var(--line); overflow-wrap: anywhere; min-width: 6rem; } th { font-weight: 400; }
  thead th { font-weight: 600; overflow-wrap: normal; } tbody th { min-width: min(11rem, 30vw); }
  .acts { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
  .acts button, .acts .button, .copy { width: auto; padding: .3rem .8rem; margin: 0; }
  [hidden] { display: none !important; }
`;
