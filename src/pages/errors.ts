/** Failed requests as pages: what happened, what to do, and a way on. */
import { html } from "hono/html";
import { acceptsPages, isForm } from "../http/body.ts";
import { documentOf, shown, type Markup, type Site } from "../http/document.ts";
import { PAGES, SIGN_IN_PATH } from "./paths.ts";

/** A failed request, as a person sees it. */
interface Failure {
  status: number;
  /** One or two sentences: what is wrong, and what to do. */
  message: string;
  /** The path and query that were asked for. */
  path: string;
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

/** Advice that the message itself has not. */
const ADVICE: Record<number, string> = {
  404: "The address may be incomplete, or the page may be gone.",
  500: "It is not your fault. Try again; if it happens again, tell whoever runs this server, whose log says why.",
};

export function failureBody({ status, message, path }: Failure): Markup {
  const signIn = `${SIGN_IN_PATH}?back=${encodeURIComponent(path)}`;
  const ways: [label: string, href: string][] = [
    ...(status === 401 ? [["Sign in", signIn] as [string, string]] : []),
    ...(status === 429 || status >= 500 ? [["Try again", path] as [string, string]] : []),
    ...(status === 409 ? [["Open the page again", path] as [string, string]] : []),
    ["Go to the home page", PAGES.Home],
  ];
  return html`<h1>${TITLES[status] ?? "This did not work"}</h1>
    <p>${status === 500 ? "" : shown(message)} ${ADVICE[status] ?? ""}</p>
    <p class="acts">
      ${ways.map(([label, href], nth) => html`<a class="button ${nth === 0 ? "primary" : ""}" href="${href}">${label}</a>`)}
    </p>`;
}

/** The page of a failure; its headers are added to these. */
export const failurePage = (site: Site, failure: Failure, headers: Headers): Promise<Response> =>
  documentOf(site, failureBody(failure), {
    status: failure.status,
    headers,
    name: TITLES[failure.status] ?? "This did not work",
  });

/** True for a browser that opens a page or sends the form of one, and not for a client of an API. */
export function isBrowsing({ method, headers }: Request): boolean {
  return (
    (method === "GET" || method === "HEAD" || (method === "POST" && isForm(headers))) &&
    acceptsPages(headers)
  );
}
