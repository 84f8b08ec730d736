import { html, raw } from "hono/html";
import { limits } from "../limits.ts";
import { printable } from "../text.ts";

/** Pages with forms: no scripts, no frames, nothing loaded, nothing kept. */

/** The server as people see it. */
export interface Site {
  title: string;
}

export type Markup = ReturnType<typeof html>;

/** Foreign text, shortened and printable. */
export const shown = (text: string): string => printable(text.slice(0, limits.pageCharacters));

const style = `
  :root { color-scheme: light dark; --dim: color-mix(in srgb, currentColor 60%, transparent);
    --line: color-mix(in srgb, currentColor 25%, transparent); }
  body { font: 16px/1.55 system-ui, sans-serif; max-width: 26rem; margin: 0 auto; padding: 2rem 1.25rem; }
  h1 { font-size: 1.4rem; line-height: 1.25; } p { overflow-wrap: anywhere; } .dim { color: var(--dim); }
  .note { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
  label { display: block; font-weight: 600; }
  input, select, textarea, button { font: inherit; box-sizing: border-box; width: 100%; padding: .7rem;
    margin: .4rem 0; border: 1px solid var(--dim); border-radius: .5rem; }
  input[type=radio], input[type=checkbox] { width: auto; margin: .4rem .5rem .4rem 0; }
  fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: .8rem 0; padding: .4rem .8rem; }
  legend { font-weight: 600; } fieldset label { font-weight: 400; }
  .wrong { color: light-dark(#991b1b, #fca5a5); } .text { white-space: pre-line; overflow-wrap: anywhere; }
  dt { font-weight: 600; } dd { margin: 0 0 .4rem; white-space: pre-line; overflow-wrap: anywhere; }
  button { cursor: pointer; } .allow { background: #14532d; color: #fff; }
`;

interface Answer {
  status: number;
  /** The response adds to them. */
  headers: Headers;
  /** Where its forms may lead besides this server, as sources of a policy. */
  targets?: readonly string[];
}

/** A page whose body is this markup. */
export async function documentOf(
  site: Site,
  body: Markup,
  { status, headers, targets = [] }: Answer,
): Promise<Response> {
  const nonce = crypto.randomUUID();
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action ${["'self'", ...targets].join(" ")}`,
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
        <main>${body}</main>
      </body>
    </html>`;
  return new Response(String(page), { status, headers });
}
