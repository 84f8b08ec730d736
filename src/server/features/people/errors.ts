/** Failed requests as pages: what happened, what to do, and a way on. */
import { html } from "hono/html";
import { acceptsPages, isForm } from "../../kernel/http/body.ts";
import { documentOf, linked, shown, type Markup } from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";
import { PAGES, SIGN_IN_PATH } from "./paths.ts";

/** A failed request, as a person sees it. */
export interface FailedRequest {
  status: number;
  /** One or two sentences: what is wrong, and what to do. */
  message: string;
}

/** The headings by status. */
const TITLES: Record<number, string> = {
  401: "Sign in to go on",
  403: "You may not open this",
  404: "There is nothing here",
  429: "Too many requests",
  500: "Something went wrong here",
  503: "Not available now",
};

/** Advice in addition to the message. */
const ADVICE: Record<number, string> = {
  404: "The address may be incomplete, or the page may be gone.",
  500: "It is not your fault. Try again; if it happens again, tell whoever runs this server, whose log says why.",
};

/** `path` is the path and query that were asked for. */
export function failureBody({ status, message, path }: FailedRequest & { path: string }): Markup {
  const signIn = `${SIGN_IN_PATH}?back=${encodeURIComponent(path)}`;
  const ways: [label: string, href: string][] = [
    ...(status === 401 ? [["Sign in", signIn] as [string, string]] : []),
    ...(status === 429 || status >= 500 ? [["Try again", path] as [string, string]] : []),
    ...(status === 409 ? [["Open the page again", path] as [string, string]] : []),
    ["Go to the home page", PAGES.Home],
  ];
  return html`<h1>${TITLES[status] ?? "This did not work"}</h1>
    <p>${status === 500 ? "" : shown(message)} ${ADVICE[status] ?? ""}</p>
    ${wayButtons(ways)}`;
}

/** Links to go on; the first is primary. */
const wayButtons = (ways: readonly (readonly [label: string, href: string])[]): Markup =>
  html`<p class="acts">
    ${ways.map(([label, href], nth) => html`<a class="button ${nth === 0 ? "primary" : ""}" href="${href}">${label}</a>`)}
  </p>`;

/** A sign-in at a provider that let nobody in. */
export interface FailedSignIn {
  /** True if the provider has said who it was: another account could be let in. */
  isKnown: boolean;
  /** The path that leads to the provider again. */
  again: string;
  /** The path that has the provider ask which account to use. */
  other: string;
  /** The path of the page that the person wanted; undefined if it is not known. */
  back?: string;
}

/** Why a sign-in at a provider failed, and how to go on. */
export function failedSignInBody(
  { status, message }: FailedRequest,
  { isKnown, again, other, back = PAGES.Home }: FailedSignIn,
): Markup {
  // The page for an app's request offers all ways to sign in by itself.
  const isAppRequest = back.startsWith("/authorize?");
  const all = isAppRequest ? back : `${SIGN_IN_PATH}?back=${encodeURIComponent(back)}`;
  const isRefused = isKnown && status < 500;
  const ways: [label: string, href: string][] = [
    ...(isRefused ? [["Sign in with another account", other] as [string, string]] : []),
    ["Try again", again],
    ["Sign in another way", all],
  ];
  return html`<h1>You were not signed in</h1>
    <p>${status === 500 ? ADVICE[status] : linked(message)}</p>
    ${wayButtons(ways)}`;
}

/** The page of a failure for a browser, with these headers; undefined for other clients. */
export function failurePage(
  site: Site,
  raw: Request,
  { status, message, headers = new Headers() }: FailedRequest & { headers?: Headers },
): Promise<Response> | undefined {
  if (!isBrowsing(raw)) return undefined;
  headers.delete("content-length");
  const name = TITLES[status] ?? "This did not work";
  return documentOf(site, failureBody({ status, message, path: pathOf(raw) }), {
    status,
    headers,
    name,
  });
}

/** True for a browser that opens a page or sends the form of one, and not for a client of an API. */
function isBrowsing({ method, headers }: Request): boolean {
  return (
    (method === "GET" || method === "HEAD" || (method === "POST" && isForm(headers))) &&
    acceptsPages(headers)
  );
}

/** The path and query of a request, as a link. */
export const pathOf = ({ url }: Request): string => {
  const { pathname, search } = new URL(url);
  return ownLink(pathname + search);
};

/** A path such as `//host` would lead elsewhere. */
export const ownLink = (path: string): string => path.replace(/^\/\//, "/.//");
