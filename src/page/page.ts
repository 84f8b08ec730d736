import { html, raw } from "hono/html";
import { printable, printableText } from "../text.ts";
import type { Catalog } from "../servlets/catalog.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";

interface PageContent {
  title: string;
  version: string;
  /** The URL to give to a client. */
  endpoint: string;
  /** The servlets to list; undefined if visitors may not see them. */
  offers: { servlets: readonly PreparedServlet[]; catalog: Catalog } | undefined;
  /** True if anybody may call and AUTH is not set to none. */
  isExposed: boolean;
  /** The means of authentication; empty where none is required. */
  proof: keyof typeof PROOFS | "";
}

export const HOW_TO_CLOSE =
  "Make a key by npm run keys -- create NAME or a passphrase by npm run passphrase, or set AUTH to none if public access is intended.";

const PROOFS = {
  key: "Requires an API key. Clients send it as Authorization: Bearer.",
  "sign-in": "Requires sign-in. Your client opens the sign-in page.",
};

const style = `
  :root { color-scheme: light dark; --dim: color-mix(in srgb, currentColor 60%, transparent);
    --line: color-mix(in srgb, currentColor 15%, transparent); }
  body { font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem; }
  h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
  p { margin: .4rem 0; } small, .dim { color: var(--dim); }
  code { font: .92em ui-monospace, monospace; }
  .url { display: block; padding: .8rem 1rem; margin: 1rem 0; border: 1px solid var(--line);
    border-radius: .5rem; user-select: all; overflow-wrap: anywhere; }
  .open { border-left: .25rem solid #d97706; padding-left: .75rem; }
  dl { margin: .4rem 0; } dt { margin-top: .6rem; font-weight: 600; }
  dd { margin: 0; color: var(--dim); white-space: pre-line; overflow-wrap: anywhere; }
`;

/** The page for people who open the server in a browser. */
export function page({ title, version, endpoint, offers, isExposed, proof }: PageContent) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${raw(style)}
        </style>
      </head>
      <body>
        <h1>${title} <small>${version}</small></h1>
        <p>An MCP server. Give this URL to an MCP client, as a remote server (Streamable HTTP).</p>
        <code class="url">${endpoint}</code>
        ${proof && html`<p>${PROOFS[proof]}</p>`}
        ${isExposed ? html`<p class="open">This server requires no authentication. ${HOW_TO_CLOSE}</p>` : ""}
        ${offers?.servlets.map((servlet) => section(servlet, offers.catalog))}
      </body>
    </html>`;
}

function section(servlet: PreparedServlet, catalog: Catalog) {
  const entries = [
    ...[...catalog.tools.values()]
      .filter((entry) => entry.servlet === servlet)
      .map(({ tool }) => [tool.name, tool.description ?? tool.title]),
    ...[...catalog.prompts.values()]
      .filter((entry) => entry.servlet === servlet)
      .map(({ prompt }) => [`prompt: ${prompt.name}`, prompt.description ?? prompt.title]),
    ...[...catalog.resources.values()]
      .filter((entry) => entry.servlet === servlet)
      .map(({ resource }) => [`resource: ${resource.uri}`, resource.description ?? resource.name]),
    ...catalog.templates
      .filter((entry) => entry.servlet === servlet)
      .map(({ template }) => [
        `resource: ${template.uriTemplate}`,
        template.description ?? template.name,
      ]),
  ];
  return html`
    <h2>${servlet.name}</h2>
    ${servlet.manifest.description === undefined ? "" : html`<p>${printable(servlet.manifest.description)}</p>`}
    <dl>
      ${entries.map(
        ([name, about]) =>
          html`<dt><code>${printable(name ?? "")}</code></dt>
            <dd>${printableText(about ?? "")}</dd>`,
      )}
    </dl>
  `;
}
