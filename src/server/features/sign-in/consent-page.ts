/** The page on which the owner or a member of a team approves a client. */
import type { ConsentDescription } from "@cloudflare/workers-oauth-provider";
import { html } from "hono/html";
import { limits } from "./limits.ts";
import { OPERATOR_SCOPE } from "../../kernel/core/model.ts";
import { isAppLink, receiverOf } from "./redirects.ts";
import {
  documentOf,
  hiddenFields,
  linked,
  policySourceOf,
  shown,
  type Markup,
} from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";

/** A client, and what it asks for. */
export interface ClientRequest {
  site: Site;
  /** The origin of this server in the person's browser. */
  origin: string;
  client: ConsentDescription;
  /** The scopes that the client asks for, with the patterns that each grants; empty for no restriction. */
  scopes: ReadonlyMap<string, readonly string[]>;
  /** The profile that the client gets access to; undefined for the whole server. */
  profile: { name: string; title: string } | undefined;
}

/** The grant of a scope's pattern, in words (`servlet:name`, with `*` for any characters). */
function inWords(pattern: string): string {
  const colon = pattern.indexOf(":");
  if (colon < 0) return "what the server lets operators do";
  const [servlet, name] = [pattern.slice(0, colon), pattern.slice(colon + 1)].map(shown);
  if (servlet === "profile")
    return name === "*" ? "everything in any profile" : `everything in the profile ${name}`;
  const of = servlet === "*" ? "any servlet" : servlet;
  return name === "*" ? `everything in ${of}` : `${name} in ${of}`;
}

const code = (text: string): Markup => html`<code>${shown(text)}</code>`;

/** Which client asks for which scopes, in words. The client's own description is shown as plain text. */
function described(
  { site, origin, client, scopes, profile }: ClientRequest,
  isForMember: boolean,
): Markup {
  const unknown = client.scope.filter((scope) => !scopes.has(scope));
  const name = html`<bdi>${shown(client.clientName)}</bdi>`;
  const known =
    client.clientDomain === undefined
      ? html`It registered itself under this name, which nobody has checked.`
      : html`It is an app of <strong>${client.clientDomain}</strong>.`;
  const receiver = shown(receiverOf(client.redirectUri));
  const program = isAppLink(client.redirectUri)
    ? html`the app on your own device that opens links with <code>${receiver}</code>`
    : "a program on your own device";
  const local =
    isAppLink(client.redirectUri) || client.redirectIsLoopback
      ? html`<p class="notice" role="note">
          That is ${program}. Continue only if you have just started to sign in from it.
        </p>`
      : "";
  return html`<p class="dim">Sign-in to <strong>${site.title}</strong> at ${origin}</p>
    <h1>
      Let ${name} use
      ${profile === undefined ? "" : html`<bdi>${shown(profile.title)}</bdi> of `}${site.title}?
    </h1>
    <p>${known} You will be sent to <strong>${receiver}</strong>.</p>
    ${local}
    <p>It may then, as you:</p>
    <ul>
      ${
        scopes.size === 0
          ? html`<li>
              use every tool, resource and prompt of
              ${profile === undefined ? "this server" : html`the profile ${code(profile.name)}, and nothing else of this server`}${isForMember && ", as far as you may use them"}
            </li>`
          : [...scopes].map(
              ([scope, patterns]) =>
                html`<li>
                  use ${[...new Set(patterns.map(inWords))].join("; ")} (${code(scope)})
                </li>`,
            )
      }
    </ul>
    ${
      scopes.has(OPERATOR_SCOPE)
        ? html`<p class="notice" role="note">
            With <code>${OPERATOR_SCOPE}</code> it may install and uninstall servlets, and see,
            replace and delete what they store for anybody.
          </p>`
        : ""
    }
    ${unknown.length === 0 ? "" : html`<p class="dim">It also asks for scopes that ${isForMember ? "you cannot give it" : "this server does not know"}: ${unknown.map((scope) => html`${code(scope)} `)}</p>`}`;
}

interface AppPage {
  body: Markup;
  status?: number;
  /** Headers of the response, to which its own are added. */
  headers?: Headers;
  /** True for the page of a member of a team. */
  isForMember?: boolean;
}

/** A page about a client's request. */
export function appPage(
  request: ClientRequest,
  { body, status = 200, headers = new Headers(), isForMember = false }: AppPage,
): Promise<Response> {
  const whole = html`${described(request, isForMember)} ${body}`;
  return respond(request.site, whole, { status, headers }, request.client);
}

/** The form by which a person approves or denies a client. */
export const consentForm = (
  handle: string,
  {
    ends,
    fields,
    others = "",
  }: {
    /** When the access ends, in words. */
    ends: string;
    fields: Markup;
    /** More buttons. */
    others?: Markup | string;
  },
): Markup =>
  html`<p>
      Access ends after ${limits.refreshTokenMs / 86_400_000} days without use, or when ${ends}.
    </p>
    <form method="post">
      ${hiddenFields({ handle })} ${fields}
      <button class="primary" name="decision" value="allow">Allow</button>
      <button name="decision" value="deny" formnovalidate>Deny</button>
      ${others}
    </form>`;

/**
 * Asks the owner whether to approve a client. `complaint` is the reason why the previous attempt failed; `headers` bind
 * the handle to this browser.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations
 */
export const consentPage = (
  request: ClientRequest,
  {
    handle,
    headers,
    complaint,
  }: { handle: string; headers: Headers; complaint: string | undefined },
): Promise<Response> =>
  appPage(request, {
    headers,
    status: complaint === undefined ? 200 : 403,
    body: consentForm(handle, {
      ends: "the passphrase changes",
      fields: html`${complaint === undefined ? "" : html`<p class="notice wrong" role="alert">${complaint}</p>`}
        <input
          class="unseen"
          name="username"
          autocomplete="username"
          value="owner"
          tabindex="-1"
          aria-hidden="true"
          readonly
        />
        <label for="passphrase">Passphrase of this server</label>
        <input
          id="passphrase"
          name="passphrase"
          type="password"
          autocomplete="current-password"
          maxlength="1000"
          required
          autofocus
        />`,
    }),
  });

/** The reason why sign-in is refused. */
export interface SignInRefusal {
  status: number;
  reason: string;
  /** True if URLs in the reason become links: those of a member's provider do, those of an app do not. */
  hasLinks?: boolean;
  /** The redirect URI of the app, with the error. */
  back?: string | undefined;
  /** Value of the `Retry-After` header. */
  retryAfter?: string | undefined;
}

/** The page with the reason why sign-in is refused. */
export function refusalPage(site: Site, refusal: SignInRefusal): Promise<Response> {
  const { status, reason, hasLinks, back, retryAfter } = refusal;
  const body = html`<h1>You were not signed in</h1>
    <p>${hasLinks ? linked(reason) : shown(reason)}</p>
    <p class="dim">Start again from the app that sent you here.</p>
    ${
      back === undefined
        ? ""
        : html`<p><a href="${back}" rel="noreferrer">Back to ${shown(receiverOf(back))}</a></p>`
    }`;
  return respond(site, body, {
    status,
    headers: new Headers(retryAfter && { "retry-after": retryAfter }),
  });
}

/** Browsers apply `form-action` to all redirects that follow the form, too. */
function respond(
  site: Site,
  body: Markup,
  answer: { status: number; headers: Headers },
  client?: ConsentDescription,
): Promise<Response> {
  const targets = ["https:", ...(client ? [policySourceOf(new URL(client.redirectUri))] : [])];
  return documentOf(site, body, { ...answer, targets });
}
