import { documentOf, type Markup, type Site } from "../auth/document.ts";
import { textWithin } from "../body.ts";
import { Fault, httpStatus, report, retryAfterOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { wordsPage } from "./ask-page.ts";

/** What all pages for people have in common: they take forms of their own, and fail in words. */

/** A page, before it is a response. */
export interface View {
  status: number;
  body: Markup;
  headers?: Record<string, string>;
}

/** The page that `work` makes, or the one that says why there is none. */
export async function pageResponse(site: Site, work: () => Promise<View>): Promise<Response> {
  const { status, body, headers } = await work().catch(refusal);
  return documentOf(site, body, { status, headers: new Headers(headers) });
}

/** The page again, by GET: reloading it sends nothing twice. */
export const seeOther = ({ url }: Request, headers: Record<string, string> = {}): View => ({
  status: 303,
  body: wordsPage("Thank you"),
  headers: { ...headers, location: new URL(url).pathname },
});

/**
 * Throws `forbidden` for a frame, a subresource, or a form of another site. A form has the origin of its page; browsers
 * say so, or at least whether it is the same.
 */
export function demandOwnPage({ method, headers, url }: Request): void {
  const dest = headers.get("sec-fetch-dest") ?? "document";
  const origin = headers.get("origin");
  const isOwn =
    origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(url).host);
  const site = headers.get("sec-fetch-site") ?? "same-origin";
  if (
    dest !== "document" ||
    (method === "POST" && (!isOwn || (site !== "same-origin" && site !== "none")))
  )
    throw new Fault(
      "forbidden",
      "This page opens in a tab of its own, and takes answers from its own form only. Open the link again.",
    );
}

/** What the form of a page has sent. Throws `unsupported_media_type`, `too_large`. */
export async function formOf({ headers, body }: Request): Promise<URLSearchParams> {
  if (!headers.get("content-type")?.startsWith("application/x-www-form-urlencoded"))
    throw new Fault(
      "unsupported_media_type",
      "This was not sent by the form of this page. Open the link again.",
    );
  const text = await textWithin(body, limits.bodyBytes);
  if (text !== undefined) return new URLSearchParams(text);
  throw new Fault(
    "too_large",
    `The answer is too large (limit ${limits.bodyBytes} bytes). Go back and make it shorter.`,
  );
}

function refusal(error: unknown): View {
  const fault = report(error);
  const after = retryAfterOf(fault);
  return {
    status: httpStatus(fault) === 200 ? 400 : httpStatus(fault),
    body: wordsPage("This did not work", fault.message),
    ...(after !== undefined && { headers: { "retry-after": after } }),
  };
}
