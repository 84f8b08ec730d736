/** The document of every page, with a policy against frames, foreign content and inline script. */
import { html, raw } from "hono/html";
import { textResponse } from "./body.ts";
import type { Settings } from "../settings/env.ts";
import { limits } from "../core/limits.ts";
import { beginningOf, printable } from "../core/text.ts";

/** The server as people see it. */
export interface Site {
  title: string;
  /** The address of an icon, by https or `data:`. */
  icon?: string | undefined;
}

/** The server as its configuration describes it. */
export const siteOf = ({
  SERVER_TITLE,
  SERVER_NAME,
  SERVER_ICONS = [],
}: Pick<Settings, "SERVER_TITLE" | "SERVER_NAME" | "SERVER_ICONS">): Site => ({
  title: SERVER_TITLE ?? SERVER_NAME,
  icon: SERVER_ICONS.map(({ src }) => src).find((src) => /^(https:|data:image\/)/.test(src)),
});

export type Markup = ReturnType<typeof html>;

/** Foreign text, shortened and printable. */
export const shown = (text: string): string => printable(beginningOf(text, limits.pageCharacters));

/** A point in time, by its Unix time in ms. */
export const timeTag = (at: number): Markup =>
  html`<time datetime="${new Date(at).toISOString()}">${new Date(at).toUTCString()}</time>`;

/** Fields of a form that nobody sees. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): Markup =>
  html`${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}`;

const style = `
  :root { color-scheme: light dark; --ink: light-dark(#1b2230, #e6e9ef); --paper: light-dark(#fff, #14171c);
    --panel: light-dark(#f5f6f8, #1c2027); --dim: light-dark(#545d6d, #a3acbb); --line: light-dark(#d5d9e0, #333a45);
    --edge: light-dark(#7b8494, #7d8796); --link: light-dark(#0b57b0, #8ab4f8); --go: #14532d;
    --wrong: light-dark(#991b1b, #fca5a5); --warn: light-dark(#8a4b00, #f0b35a); }
  * { box-sizing: border-box; }
  body { font: 16px/1.55 system-ui, sans-serif; margin: 0; color: var(--ink); background: var(--paper); }
  main { max-width: 26rem; margin: 0 auto; padding: 2rem 1.25rem; }
  header { border-bottom: 1px solid var(--line); padding: .7rem 1.25rem; display: flex; flex-wrap: wrap;
    gap: .3rem 1.2rem; align-items: baseline; }
  header nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-left: auto; }
  h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .6rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
  h3 { font-size: 1rem; margin: 0; } h4 { font-size: .95rem; margin: 1rem 0 .2rem; }
  p { margin: .5rem 0; overflow-wrap: anywhere; } a { color: var(--link); } .dim { color: var(--dim); }
  code, pre { font: .9em/1.5 ui-monospace, monospace; } pre { background: var(--panel); border: 1px solid var(--line);
    border-radius: .5rem; padding: .7rem .9rem; margin: .5rem 0; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
  .note { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
  label { display: block; font-weight: 600; }
  input, select, textarea, button, .button { font: inherit; color: inherit; width: 100%; padding: .7rem; margin: .4rem 0;
    border: 1px solid var(--edge); border-radius: .5rem; background: var(--paper); }
  input[type=radio], input[type=checkbox] { width: auto; margin: .4rem .5rem .4rem 0; }
  fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: .8rem 0; padding: .4rem .8rem; }
  legend { font-weight: 600; } fieldset label { font-weight: 400; }
  .wrong { color: var(--wrong); } .text { white-space: pre-line; overflow-wrap: anywhere; }
  dt { font-weight: 600; } dd { margin: 0 0 .4rem; white-space: pre-line; overflow-wrap: anywhere; }
  button, .button { cursor: pointer; background: var(--panel); } button.allow { background: var(--go); color: #fff; }
  img.icon { width: 2rem; height: 2rem; vertical-align: middle; margin-right: .5rem; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
`;

/** How a page is answered. */
interface Answer {
  status: number;
  /** The page's own headers are added to them. */
  headers: Headers;
  /** Where its forms may lead besides this server: source expressions of a policy. */
  targets?: readonly string[];
  /** Markup above the page's body. */
  top?: Markup;
  /** Added to the style of all pages. */
  extraStyle?: string;
  /** The path of the page's script, which may call this server, and show views of servlets in frames. */
  script?: string;
}

/** Makes the response of a page. */
export async function documentOf(
  { title, icon }: Site,
  body: Markup,
  { status, headers, targets = [], top, extraStyle = "", script }: Answer,
): Promise<Response> {
  const nonce = crypto.randomUUID();
  const images = [
    ...(script === undefined ? [] : ["data:", "blob:"]),
    ...(icon === undefined ? [] : [policySourceOf(new URL(icon))]),
  ];
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${["'self'", ...targets].join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(script === undefined
      ? []
      : ["script-src 'self'", "connect-src 'self'", "media-src data:", "frame-src 'self'"]),
    ...(images.length === 0 ? [] : [`img-src ${images.join(" ")}`]),
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
        <title>${title}</title>
        <style nonce="${nonce}">
          ${raw(style + extraStyle)}
        </style>
        ${script === undefined ? "" : html`<script type="module" src="${script}"></script>`}
      </head>
      <body>
        ${top ?? ""}
        <main>${body}</main>
      </body>
    </html>`;
  return textResponse(String(page), { status, headers });
}

/**
 * The source expression of a URL for a policy: its scheme alone if it is not of the web, has no host, or one that is not valid there (IPv6)
 * or would end the directive. https://www.w3.org/TR/CSP3/#framework-directive-source-list
 */
export const policySourceOf = ({ protocol, hostname, origin }: URL): string =>
  /^(https?|wss?):$/.test(protocol) && /^[\w.-]+$/.test(hostname) ? origin : protocol;
