import type { ConsentDescription } from "@cloudflare/workers-oauth-provider";
import { html, raw } from "hono/html";
import { limits } from "../limits.ts";
import { OPERATOR_SCOPE } from "../model.ts";
import { printable } from "../text.ts";

/** The server as people see it. */
export interface Site {
  title: string;
}

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

type Markup = ReturnType<typeof html>;

/** Text from the client, shortened and printable. */
const shown = (text: string): string => printable(text.slice(0, limits.pageCharacters));

const code = (text: string): Markup => html`<code>${shown(text)}</code> `;

const style = `
  :root { color-scheme: light dark; --dim: color-mix(in srgb, currentColor 60%, transparent);
    --line: color-mix(in srgb, currentColor 25%, transparent); }
  body { font: 16px/1.55 system-ui, sans-serif; max-width: 26rem; margin: 0 auto; padding: 2rem 1.25rem; }
  h1 { font-size: 1.4rem; line-height: 1.25; } p { overflow-wrap: anywhere; } .dim { color: var(--dim); }
  .note { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
  label { display: block; font-weight: 600; }
  input, button { font: inherit; box-sizing: border-box; width: 100%; padding: .7rem; margin: .4rem 0;
    border: 1px solid var(--line); border-radius: .5rem; }
  button { cursor: pointer; } .allow { background: #14532d; color: #fff; }
`;

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

async function respond(
  site: Site,
  body: Markup,
  { status, headers }: { status: number; headers: Headers },
  client?: ConsentDescription,
): Promise<Response> {
  const nonce = crypto.randomUUID();
  // Browsers apply `form-action` to all redirects that follow the form, too.
  const targets = ["'self'", "https:", client && sourceOf(new URL(client.redirectUri))];
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${targets.filter((target) => target !== undefined).join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  headers.set("content-security-policy", policy.join("; "));
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("cache-control", "no-store");
  headers.set("x-frame-options", "DENY");
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "same-origin");
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${site.title}</title>
        <style nonce="${nonce}">
          ${raw(style)}
        </style>
      </head>
      <body>
        ${body}
      </body>
    </html>`;
  return new Response(String(page), { status, headers });
}
