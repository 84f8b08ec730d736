/** The frame of every console page: which pages there are, and who has signed in. */
import { html } from "hono/html";
import { documentOf, shown, type Markup } from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";
import type { CallerQuota, Principal } from "../../kernel/core/model.ts";
import type { Person } from "../people/people.ts";
import { PAGES, SIGN_IN_PATH, SIGN_OUT_PATH } from "../people/paths.ts";

type PageName = keyof typeof PAGES;

/** A page in the navigation. */
export interface PageLink {
  name: string;
  path: string;
}

const linkTo = (page: PageName | PageLink): PageLink =>
  typeof page === "string" ? { name: page, path: PAGES[page] } : page;

/** The server as its console shows it to one visitor. */
export interface ConsoleSite extends Site {
  version: string;
  /** The name of the person who has signed in; undefined if nobody has, or nobody needs to. */
  visitor: string | undefined;
  /** The pages that the visitor may open. */
  pages: readonly (PageName | PageLink)[];
  /** True if people can sign in to these pages. */
  hasSignIn: boolean;
  /** The path of the pages' script; absent where the deployment has no assets. */
  script: string | undefined;
  /** The profile that the page is of; undefined for the whole server. */
  profile?: string | undefined;
  /** The path at which the script calls this server for the visitor. */
  mcp: string;
}

/** The sender of a request to the console. */
export interface Visitor {
  /** The principal of the visitor's calls; undefined if authentication is required and nobody has signed in. */
  caller: Principal | undefined;
  /** Undefined if nobody has signed in. */
  person: Person | undefined;
  /** True if the visitor may operate the server. */
  isOperator: boolean;
}

/** Answers a request, which counts towards the visitor's rate limit. */
export type Visited = (
  raw: Request,
  answer: (visitor: Visitor, quota: CallerQuota) => Promise<Response>,
) => Promise<Response>;

interface PageOptions {
  status?: number;
  headers?: Record<string, string>;
  /** The title of a page whose name is not unique. */
  title?: string;
  /** Where signing in leads back to; the page itself by default. */
  at?: string;
  /** Added to the style of all console pages. */
  extraStyle?: string;
}

/** Makes the response of a console page. */
export function consolePage(
  site: ConsoleSite,
  page: PageName | PageLink,
  body: Markup,
  { status = 200, headers = {}, extraStyle = "", title, at }: PageOptions = {},
): Promise<Response> {
  const { name, path } = linkTo(page);
  return documentOf(site, body, {
    status,
    headers: new Headers(headers),
    ...((title ?? name) !== "Home" && { name: title ?? name }),
    nav: nav(site, name, at ?? path),
    isSlim: false,
    extraStyle,
    ...(site.script !== undefined && { script: site.script }),
  });
}

function nav(site: ConsoleSite, current: string, at: string): Markup {
  const { visitor, hasSignIn, mcp, profile, pages } = site;
  const link = (page: PageName | PageLink): Markup => {
    const { name, path } = linkTo(page);
    return html`<a href="${path}" ${name === current ? html`aria-current="page"` : ""}>${name}</a>`;
  };
  const signIn = `${SIGN_IN_PATH}?back=${encodeURIComponent(at)}`;
  return html`<nav
      aria-label="Pages"
      data-mcp="${mcp}"
      ${profile === undefined ? "" : html`data-profile="${profile}"`}
    >
      ${pages.length > 1 ? pages.map(link) : ""}
    </nav>
    ${
      visitor !== undefined
        ? html`<div class="person">
            <span class="who dim">${shown(visitor)}</span>${link("Account")}
            <form method="post" action="${SIGN_OUT_PATH}"><button>Sign out</button></form>
          </div>`
        : hasSignIn
          ? html`<div class="person"><a href="${signIn}">Sign in</a></div>`
          : ""
    }`;
}
