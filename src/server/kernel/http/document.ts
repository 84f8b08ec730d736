/** The HTML document of every page, with a policy against frames, foreign content and inline script. */
import { html, raw } from "hono/html";
import { textResponse } from "./body.ts";
import { limits } from "../core/limits.ts";
import { beginningOf, printable } from "../core/text.ts";
import { iconOf } from "./colors.ts";
import type { Site } from "./site.ts";
import { accentRule, style } from "./style.ts";

export type Markup = ReturnType<typeof html>;

/** Foreign text, shortened and printable. */
export const shown = (text: string): string => printable(beginningOf(text, limits.pageCharacters));

/** A message of this server, whose https URLs are links that open a new tab. */
export const linked = (message: string): Markup =>
  html`${message
    .split(/(https:\/\/[^\s;,]*[^\s;,.])/)
    .map((part, nth) =>
      nth % 2 === 1 && URL.canParse(part)
        ? html`<a href="${part}" rel="noreferrer noopener" target="_blank"
            >${shown(addressOf(new URL(part)))}</a
          >`
        : shown(part),
    )}`;

/** A URL without its query, which can be long. */
const addressOf = ({ host, pathname }: URL): string => host + pathname;

/** Hidden fields of a form. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): Markup =>
  html`${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}`;

/** Parts and options of a page's response. */
interface Answer {
  status: number;
  /** The response headers, to which the page's own are added. */
  headers: Headers;
  /** Targets of its forms besides this server: source expressions of a policy. */
  targets?: readonly string[];
  /** The page's title, which the browser shows before the server's. */
  name?: string;
  /** Links of its header besides home. */
  nav?: Markup;
  /** True for a page with one question, which is as wide as a form. */
  isSlim?: boolean;
  /** Added to the style of all pages. */
  extraStyle?: string;
  /** The path of the page's script, which may call this server, and show views of servlets in frames. */
  script?: string;
}

/** Builds the response of a page. */
export async function documentOf(
  { title, color, icon = iconOf(color, title) }: Site,
  body: Markup,
  { status, headers, targets = [], name, nav, isSlim = true, extraStyle = "", script }: Answer,
): Promise<Response> {
  const nonce = crypto.randomUUID();
  const images = new Set([
    ...(script === undefined ? [] : ["data:", "blob:"]),
    policySourceOf(new URL(icon)),
  ]);
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${["'self'", ...targets].join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(script === undefined
      ? []
      : ["script-src 'self'", "connect-src 'self'", "media-src data:", "frame-src 'self'"]),
    `img-src ${[...images].join(" ")}`,
  ];
  headers.set("content-security-policy", policy.join("; "));
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("cache-control", "no-store");
  headers.set("x-frame-options", "DENY");
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "same-origin");
  // `rel="expect"`: Chromium paints a page only when its last element has arrived, so nothing in it moves.
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${name === undefined ? title : `${name} · ${title}`}</title>
        <link rel="icon" href="${icon}" />
        <link rel="expect" href="#end" blocking="render" />
        <style nonce="${nonce}">
          ${raw(accentRule(color) + style + extraStyle)}
        </style>
        ${script === undefined ? "" : html`<script type="module" src="${script}"></script>`}
      </head>
      <body class="${script === undefined ? "" : "has-script"}">
        <header class="top">
          <a class="skip" href="#main">Skip to the content</a>
          <a class="brand" href="/"><img class="icon" src="${icon}" alt="" />${shown(title)}</a>
          ${nav ?? ""}
        </header>
        <main id="main" tabindex="-1" class="${isSlim ? "slim" : ""}">${body}</main>
        <div id="end"></div>
      </body>
    </html>`;
  return textResponse(String(page), { status, headers });
}

/**
 * The source expression of a URL for a policy: only its scheme if the URL is not http(s), has no host, or has a host
 * that is invalid there (IPv6) or would end the directive. https://www.w3.org/TR/CSP3/#framework-directive-source-list
 */
export const policySourceOf = ({ protocol, hostname, origin }: URL): string =>
  /^(https?|wss?):$/.test(protocol) && /^[\w.-]+$/.test(hostname) ? origin : protocol;
