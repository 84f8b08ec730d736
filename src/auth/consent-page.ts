import type { ConsentDescription } from "@cloudflare/workers-oauth-provider";
import { html } from "hono/html";
import { limits } from "../limits.ts";
import { OPERATOR_SCOPE } from "../model.ts";
import { documentOf, shown, type Markup, type Site } from "./document.ts";

interface ConsentRequest {
  site: Site;
  client: ConsentDescription;
  /** The consent handle; the form sends it back. */
  handle: string;
  /** Headers that bind the handle to this browser; the response adds to them. */
  headers: Headers;
  /** The scopes that it would be limited to, if any. */
  scopes: readonly string[];
  /** Why the previous attempt failed. */
  complaint: string | undefined;
}

const code = (text: string): Markup => html`<code>${shown(text)}</code> `;

/**
 * Asks the owner whether to approve a client. The client's own description is shown as plain text.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations
 */
export async function consentPage(question: ConsentRequest): Promise<Response> {
  const { site, client, handle, scopes, complaint } = question;
  const { headers } = question;
  const unknown = client.scope.filter((scope) => !scopes.includes(scope));
  const name = html`<bdi>${shown(client.clientName)}</bdi>`;
  const known =
    client.clientDomain === undefined
      ? html`It registered itself under this name. Nobody has checked the name.`
      : html`It is an app of <strong>${client.clientDomain}</strong>.`;
  const local = client.redirectIsLoopback
    ? html`<p class="note" role="note">
        That is a program on your own device. Go on only if you have just started to sign in from
        it.
      </p>`
    : "";
  const body = html`<h1>Let ${name} use ${site.title}?</h1>
    <p>${known} You will be sent to <strong>${shown(client.redirectHost)}</strong>.</p>
    ${local}
    <p>
      ${
        scopes.length === 0
          ? "It may then use every tool, resource and prompt of this server as you,"
          : html`It may then use what these are for, as you: ${scopes.map(code)}`
      }
      until it has not done so for ${limits.refreshTokenMs / 86_400_000} days or the passphrase
      changes.
    </p>
    ${
      scopes.includes(OPERATOR_SCOPE)
        ? html`<p class="note" role="note">
            With <code>${OPERATOR_SCOPE}</code> it may see, replace and delete what servlets keep
            for anybody.
          </p>`
        : ""
    }
    ${unknown.length === 0 ? "" : html`<p class="dim">It also asks for scopes that this server does not know: ${unknown.map(code)}</p>`}
    <form method="post">
      <input type="hidden" name="handle" value="${handle}" />
      ${complaint === undefined ? "" : html`<p class="note" role="alert">${complaint}</p>`}
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
      <button class="allow" name="decision" value="allow">Allow</button>
      <button name="decision" value="deny" formnovalidate>Deny</button>
    </form>`;
  return respond(site, body, { status: complaint === undefined ? 200 : 403, headers }, client);
}

/** The reason why sign-in is refused. */
export interface Refusal {
  status: number;
  reason: string;
  /** The redirect URI of the app, with the error. */
  back?: string | undefined;
  /** Value of the `Retry-After` header. */
  retryAfter?: string | undefined;
}

/** The page that says why sign-in is refused. */
export function refusalPage(site: Site, refusal: Refusal): Promise<Response> {
  const { status, reason, back, retryAfter } = refusal;
  const body = html`<h1>${site.title}</h1>
    <p>${shown(reason)}</p>
    <p class="dim">Start again from the app that sent you here.</p>
    ${
      back === undefined
        ? ""
        : html`<p><a href="${back}" rel="noreferrer">Back to ${new URL(back).host}</a></p>`
    }`;
  return respond(site, body, {
    status,
    headers: new Headers(retryAfter && { "retry-after": retryAfter }),
  });
}

/**
 * The source expression of a URL for a policy: its scheme alone if its host is not valid there (IPv6) or would
 * end the directive. https://www.w3.org/TR/CSP3/#framework-directive-source-list
 */
const sourceOf = ({ protocol, hostname, origin }: URL): string =>
  /^[\w.-]+$/.test(hostname) ? origin : protocol;

/** Browsers apply `form-action` to all redirects that follow the form, too. */
function respond(
  site: Site,
  body: Markup,
  answer: { status: number; headers: Headers },
  client?: ConsentDescription,
): Promise<Response> {
  const targets = ["https:", ...(client ? [sourceOf(new URL(client.redirectUri))] : [])];
  return documentOf(site, body, { ...answer, targets });
}
