/** The frame of all pages for people: sign-in, forms and failures. */
import type { usageOf } from "../usage/usage.ts";
import type { Provider } from "../../kernel/auth/account-provider.ts";
import { arrivalOf, pageAddresses } from "../../kernel/auth/origin.ts";
import { documentOf, type Markup } from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";
import { bodyText, isForm } from "../../kernel/http/body.ts";
import { Fault, httpStatus, report, retryAfterOf } from "../../kernel/core/errors.ts";
import type { PersonObjects } from "./person-objects.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import { limits } from "../../kernel/core/limits.ts";
import type { CallerQuota, Principal } from "../../kernel/core/model.ts";
import { failureBody, ownLink, pathOf, type FailedRequest } from "./errors.ts";
import { PAGES, SIGN_IN_PATH } from "./paths.ts";
import { viewStyle } from "./framed-view.ts";
import { html } from "hono/html";
import { deadEndPage, signInPage, wordsPage } from "./ask-page.ts";
import type { People, Person } from "./people.ts";

/** Fields that a form sends, one for each option that was chosen: its page has a hundred bytes for each. */
const FORM_FIELDS = 100_000;

/** A page, before it is a response. */
export interface View {
  status: number;
  body: Markup;
  headers?: Record<string, string>;
  /** A cookie to set besides one in `headers`. */
  cookie?: string;
  /** True if the page's script has something to show in a frame. */
  isFramed?: boolean;
  /** True for a page that leads nowhere but home: for those who have not signed in, or no longer. */
  isAlone?: boolean;
  /** The page's name in the browser, if it is alone. */
  name?: string;
}

export interface PersonPage extends Site {
  /** The path of the script by which views answer questions; absent where the deployment has no assets. */
  script: string | undefined;
  people: People;
  /** The sender of the request, if proven. */
  person: Person | undefined;
  tasksOf(principal: Principal): Tasks;
  persons: PersonObjects | undefined;
  /** Deletes everything stored for a caller. */
  forgetCaller(caller: string): Promise<unknown>;
  /** Counts what servlets store; undefined where the binding USAGE is missing. */
  usage: ReturnType<typeof usageOf>;
  /** Where people have accounts, by name. */
  providers: ReadonlyMap<string, Provider>;
  /** Counts the request; absent if calls are not limited. */
  admit: CallerQuota["admit"];
}

/** Answers with a page that only a person who is known may see. */
export type Paged = (
  raw: Request,
  endpoint: (page: PersonPage) => Promise<Response>,
) => Promise<Response>;

/** A request of a proven person. */
export interface Visit {
  request: Request;
  person: Person;
  form: URLSearchParams | undefined;
  /** True if the form was sent before its sender had signed in again: it is shown, and not taken. */
  isOld: boolean;
}

interface Pages {
  /** True for a field of a form that is kept while its sender signs in again. */
  keeps?(field: string): boolean;
  /** The page for anyone, whoever that is; undefined if it is for proven people. */
  open?(): Promise<View | undefined>;
  work(visit: Visit): Promise<View>;
  /** Makes the response of a page; by default one of the pages without a way to others. */
  answer?(view: View): Promise<Response>;
}

/**
 * The page that `work` makes for the person who has sent the request, or the one on which people sign in. Fields that
 * `keeps` names are not lost by that.
 */
export async function pageFor(
  request: Request,
  page: PersonPage,
  {
    keeps = () => false,
    open = async () => undefined,
    work,
    answer = (view) => plain(page, view),
  }: Pages,
): Promise<Response> {
  const made = async (): Promise<View> => {
    demandOwnPage(request);
    page.people.demandSafe(request);
    await page.admit?.();
    const opened = await open();
    if (opened !== undefined) return opened;
    const form = request.method === "POST" ? await formOf(request) : undefined;
    const kept = form ? [...form].filter(([field]) => keeps(field)) : [];
    const { people, person } = page;
    const { ways } = people;
    if (person !== undefined && !form?.has("credential"))
      return work({ request, person, form, isOld: false });
    if (ways === undefined)
      return { status: 403, body: wordsPage("This page cannot be opened here", NO_PROOF) };
    const signIn = (complaint: string | undefined): View => ({
      status: form ? 403 : 200,
      isAlone: true,
      name: "Sign in",
      body: signInPage(ways, { complaint, kept, ...wayBack(request) }),
    });
    const entered = form?.get("credential");
    if (typeof entered !== "string") return signIn(form && (kept.length > 0 ? KEPT : SIGNED_OUT));
    const signed = await people.signIn(request, entered);
    if (signed === undefined) return signIn(`That is no ${ways.proof}. Enter it again.`);
    const headers = { "set-cookie": signed.cookie };
    if (kept.length === 0) return seeOther(pathOf(request), headers);
    const view = await work({ request, person: signed.person, form, isOld: true });
    return { ...view, headers: { ...view.headers, ...headers } };
  };
  const view = await made().catch((error: unknown) =>
    refusal(error, (failure) => failureBody({ ...failure, path: pathOf(request) })),
  );
  return view.isAlone === true ? plain(page, view) : answer(view);
}

const plain = (
  page: PersonPage,
  { status, body, headers: given, cookie, isFramed, name }: View,
): Promise<Response> => {
  const headers = new Headers(given);
  if (cookie !== undefined) headers.append("set-cookie", cookie);
  return documentOf(page, body, {
    status,
    headers,
    ...(name !== undefined && { name }),
    ...(isFramed && page.script !== undefined && { script: page.script, extraStyle: viewStyle }),
  });
};

/** Has its visitor sign in, and leads on to the path in `?back=`. */
export const signedInEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, { work: async () => seeOther(ownPath(request)) });

/** Ends the sign-in. A form of another site is refused, as everywhere. */
export const signOutEndpoint = (request: Request, page: PersonPage): Promise<Response> =>
  pageFor(request, page, {
    async open() {
      if (request.method !== "POST") return seeOther(PAGES.Home);
      const headers = { "set-cookie": page.people.signOut(request) };
      const isEverywhere = await page.people.signOutEverywhere(request).catch(onlyHere);
      const body = signedOut(isEverywhere);
      return { status: 200, isAlone: true, name: "Signed out", body, headers };
    },
    work: async () => seeOther(PAGES.Home),
  });

/** The browser is signed out even if its person cannot be looked up now. */
function onlyHere(error: unknown): false {
  report(error);
  return false;
}

const signedOut = (isEverywhere: boolean): Markup =>
  html`<h1>You are signed out</h1>
    <p>
      ${isEverywhere && "So are your other browsers, and the apps that you let use this server: they ask you to sign in when you use them again."}
      You can close this page.
    </p>
    <p class="acts">
      <a class="button" href="${PAGES.Home}">Go to the home page</a>
      <a class="button" href="${SIGN_IN_PATH}">Sign in again</a>
    </p>`;

/** The path in `?back=`, which is the home page's by default. Throws `invalid_params` for one that leads elsewhere. */
export function ownPath({ url }: Request): string {
  const { origin, searchParams } = new URL(url);
  const back = URL.parse(searchParams.get("back") ?? "/", origin);
  if (back?.href.startsWith(`${origin}/`)) return ownLink(back.href.slice(origin.length));
  throw new Fault("invalid_params", "This link leads to another server. Open the page by hand.");
}

const NO_PROOF =
  "This server requires no authentication, so pages open on this machine only, or where AUTH is none.";
const SIGNED_OUT = "You were signed out after a while. Sign in again.";
const KEPT = `${SIGNED_OUT} Your answer is kept, and was not sent yet.`;

/** The one refusal for things of somebody else and things that do not exist. */
export function notForYou({ ways }: People, request: Request): View {
  const why =
    "No question waits here for you. The call may have ended long ago, or it is somebody else's: then do not answer for them.";
  if (ways === undefined) return { status: 404, body: deadEndPage("Not for you", why) };
  const complaint = `Not for you: ${why}`;
  const body = signInPage(ways, { complaint, ...wayBack(request) });
  return { status: 404, isAlone: true, name: "Sign in", body };
}

/** A page by GET, for example the same again: reloading it sends nothing twice. */
export const seeOther = (path: string, headers: Record<string, string> = {}): View => ({
  status: 303,
  body: wordsPage("Thank you"),
  headers: { ...headers, location: path },
});

/** Where a person who signs in elsewhere sets out and comes back: issuers lead to the server's own origin only. */
function wayBack(request: Request): { back: string; at: string; to: string } {
  const { origin, pathname } = new URL(request.url);
  return {
    back: pathOf(request),
    at: arrivalOf(request).origin === origin ? "" : origin,
    to: pathname === SIGN_IN_PATH ? ownPath(request) : pathname,
  };
}

/**
 * Throws `forbidden` for a frame, a subresource but a request of this server's own script, or a form of another site. A form
 * has the origin of its page; browsers say so, or at least whether it is the same.
 */
function demandOwnPage(request: Request): void {
  const { method, headers } = request;
  const dest = headers.get("sec-fetch-dest") ?? "document";
  const isOwn = pageAddresses(request).length > 0;
  const site = headers.get("sec-fetch-site") ?? "same-origin";
  const isOwnScript = dest === "empty" && site === "same-origin" && headers.has("sec-fetch-site");
  if (
    (dest !== "document" && !isOwnScript) ||
    (method === "POST" && (!isOwn || (site !== "same-origin" && site !== "none")))
  )
    throw new Fault(
      "forbidden",
      "This page opens in a tab of its own, and takes answers from its own form only. Open the link again.",
    );
}

/** The fields that the form of a page has sent. Throws `unsupported_media_type`, `too_large`. */
async function formOf(request: Request): Promise<URLSearchParams> {
  if (!isForm(request.headers))
    throw new Fault(
      "unsupported_media_type",
      "This was not sent by the form of this page. Open the link again.",
    );
  const text = await bodyText(request, limits.bodyBytes);
  if (text !== undefined) {
    if (text.length - text.replaceAll("&", "").length < FORM_FIELDS)
      // Browsers send each line break as two characters, also those of hidden fields.
      return new URLSearchParams(text.replaceAll("%0D%0A", "%0A"));
    throw new Fault(
      "too_large",
      `The answer has too many fields (limit ${FORM_FIELDS}). Go back and choose fewer.`,
    );
  }
  throw new Fault(
    "too_large",
    `The answer is too large (limit ${limits.bodyBytes} bytes). Go back and make it shorter.`,
  );
}

/** The status of a page that says this: what a client of MCP did wrong comes with status 200. */
export function pageStatus(fault: Fault): number {
  const status = httpStatus(fault);
  return status === 200 ? 400 : status;
}

/** The page of a failed request; `bodyFor` makes its body. */
export function refusal(error: unknown, bodyFor: (failure: FailedRequest) => Markup): View {
  const fault = report(error);
  const after = retryAfterOf(fault);
  const status = pageStatus(fault);
  return {
    status,
    isAlone: true,
    body: bodyFor({ status, message: fault.message }),
    ...(after !== undefined && { headers: { "retry-after": after } }),
  };
}
