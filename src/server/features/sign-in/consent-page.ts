/** The page on which the owner approves a client. */
import type { ConsentDescription } from "@cloudflare/workers-oauth-provider";
import { html } from "hono/html";
import { limits } from "./limits.ts";
import { OPERATOR_SCOPE } from "../../kernel/core/model.ts";
import { isAppLink, receiverOf } from "./redirects.ts";
import { documentOf, shown, policySourceOf, type Markup } from "../../kernel/http/document.ts";
import type { Site } from "../../kernel/http/site.ts";

interface ConsentRequest {
  site: Site;
  /** The origin of this server in the owner's browser. */
  origin: string;
  client: ConsentDescription;
  /** The consent handle; the form sends it back. */
  handle: string;
  /** Headers that bind the handle to this browser; the response adds to them. */
  headers: Headers;
  /** The scopes that the client asks for, with the patterns that each grants; empty for no restriction. */
  scopes: ReadonlyMap<string, readonly string[]>;
  /** The reason why the previous attempt failed. */
  complaint: string | undefined;
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

/**
 * Asks the owner whether to approve a client. The client's own description is shown as plain text.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations
 */
export async function consentPage(question: ConsentRequest): Promise<Response> {
  const { site, origin, client, handle, headers, scopes, complaint, profile } = question;
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
  const body = html`<p class="dim">Sign-in to <strong>${site.title}</strong> at ${origin}</p>
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
              ${profile === undefined ? "this server" : html`the profile ${code(profile.name)}, and nothing else of this server`}
            </li>`
          : [...scopes].map(
              ([scope, patterns]) =>
                html`<li>
                  use ${[...new Set(patterns.map(inWords))].join("; ")} (${code(scope)})
                </li>`,
            )
      }
    </ul>
    <p>
      Access ends after ${limits.refreshTokenMs / 86_400_000} days without use, or when the
      passphrase changes.
    </p>
    ${
      scopes.has(OPERATOR_SCOPE)
        ? html`<p class="notice" role="note">
            With <code>${OPERATOR_SCOPE}</code> it may install and uninstall servlets, and see,
            replace and delete what they store for anybody.
          </p>`
        : ""
    }
    ${unknown.length === 0 ? "" : html`<p class="dim">It also asks for scopes that this server does not know: ${unknown.map((scope) => html`${code(scope)} `)}</p>`}
    <form method="post">
      <input type="hidden" name="handle" value="${handle}" />
      ${complaint === undefined ? "" : html`<p class="notice wrong" role="alert">${complaint}</p>`}
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
      />
      <button class="primary" name="decision" value="allow">Allow</button>
      <button name="decision" value="deny" formnovalidate>Deny</button>
    </form>`;
  return respond(site, body, { status: complaint === undefined ? 200 : 403, headers }, client);
}

/** The reason why sign-in is refused. */
export interface SignInRefusal {
  status: number;
  reason: string;
  /** The redirect URI of the app, with the error. */
  back?: string | undefined;
  /** Value of the `Retry-After` header. */
  retryAfter?: string | undefined;
}

/** The page with the reason why sign-in is refused. */
export function refusalPage(site: Site, refusal: SignInRefusal): Promise<Response> {
  const { status, reason, back, retryAfter } = refusal;
  const body = html`<h1>You were not signed in</h1>
    <p>${shown(reason)}</p>
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
