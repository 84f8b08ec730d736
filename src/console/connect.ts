import { html } from "hono/html";
import type { Markup } from "../document.ts";
import { shellWord } from "../text.ts";

/** How each client is told of this server: what the section "Connect" of the start page shows. */

/** The server as a client must know it. */
export interface Endpoint {
  /** The URL of its MCP endpoint. */
  url: string;
  /** Its name, as configured. */
  name: string;
  /** True if clients send an API key. */
  isKeyed: boolean;
}

interface Way {
  id: string;
  name: string;
  body: Markup;
}

const KEY = "YOUR-KEY";

/** A text to copy. The page's script adds the button. */
const snippet = (text: string, label: string): Markup =>
  html`<pre data-copy aria-label="${label}" tabindex="0"><code>${text}</code></pre>`;

const steps = (...all: (string | Markup)[]): Markup =>
  html`<ol>
    ${all.map((one) => html`<li>${one}</li>`)}
  </ol>`;

const json = (value: object): string => JSON.stringify(value, null, 2);

/** A name that every client accepts as a key of its settings, and a shell as a word. */
export const shortName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "") || "server";

/** https://docs.cursor.com/en/tools/developers */
const cursorLink = (name: string, settings: object): string =>
  `cursor://anysphere.cursor-deeplink/mcp/install?${String(new URLSearchParams({ name, config: btoa(JSON.stringify(settings)) }))}`;

/** https://code.visualstudio.com/api/extension-guides/ai/mcp#create-an-mcp-installation-url */
const codeLink = (settings: object): string =>
  `vscode:mcp/install?${encodeURIComponent(JSON.stringify(settings))}`;

/** The clients, in the order of the tabs. */
export function waysTo({ url, name, isKeyed }: Endpoint): Way[] {
  const short = shortName(name);
  const header = isKeyed && { Authorization: `Bearer ${KEY}` };
  const headers = header && { headers: header };
  const flag = (option: string) => (isKeyed ? ` ${option} "Authorization: Bearer ${KEY}"` : "");
  const noKeys = isKeyed
    ? html`<p class="note">
        It signs in by a page, and takes no API key. Set up <code>OWNER_PASSPHRASE</code> or
        <code>OAUTH_ISSUERS</code> to use it.
      </p>`
    : "";
  const remote = [
    "mcp-remote",
    url,
    ...(isKeyed ? ["--header", `Authorization:Bearer ${KEY}`] : []),
  ];
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  return [
    {
      id: "claude",
      name: "Claude",
      body: html`${steps(
        html`Open
          <a href="https://claude.ai/settings/connectors" rel="noreferrer">Settings, Connectors</a>
          (web, desktop or phone).`,
        "Choose Add custom connector, and paste this URL.",
      )}
      ${snippet(url, "URL for Claude")} ${noKeys}`,
    },
    {
      id: "claude-code",
      name: "Claude Code",
      body: snippet(
        `claude mcp add --transport http ${short} ${shellWord(url)}${flag("--header")}`,
        "Command for Claude Code",
      ),
    },
    {
      id: "cursor",
      name: "Cursor",
      body: html`<p>
          <a class="button" href="${cursorLink(short, { url, ...headers })}">Add to Cursor</a>
        </p>
        <p>Or in <code>~/.cursor/mcp.json</code>:</p>
        ${snippet(json({ mcpServers: { [short]: { url, ...headers } } }), "Settings for Cursor")}`,
    },
    {
      id: "vscode",
      name: "VS Code",
      body: html`<p>
          <a class="button" href="${codeLink({ name: short, type: "http", url, ...headers })}">
            Add to VS Code
          </a>
        </p>
        <p>Or in <code>.vscode/mcp.json</code>:</p>
        ${snippet(
          json({ servers: { [short]: { type: "http", url, ...headers } } }),
          "Settings for VS Code",
        )}`,
    },
    {
      id: "chatgpt",
      name: "ChatGPT",
      body: html`${steps(
        "Open Settings, Apps & Connectors, Advanced settings, and turn on Developer mode.",
        "Choose Create, and paste this URL.",
      )}
      ${snippet(url, "URL for ChatGPT")} ${noKeys}`,
    },
    {
      id: "mcp-remote",
      name: "mcp-remote",
      body: html`<p>For clients that only start programs. In their settings:</p>
        ${snippet(
          json({ mcpServers: { [short]: { command: "npx", args: remote } } }),
          "Settings with mcp-remote",
        )}`,
    },
    {
      id: "curl",
      name: "curl",
      body: snippet(
        `curl ${shellWord(url)} -H 'content-type: application/json' -H 'accept: application/json'${flag("-H")} \\
  -d '${call}'`,
        "Command with curl",
      ),
    },
    {
      id: "typescript",
      name: "TypeScript",
      body: snippet(typescript(url, header), "Program in TypeScript"),
    },
    { id: "python", name: "Python", body: snippet(python(url, header), "Program in Python") },
  ];
}

const typescript = (url: string, headers: object | false): string =>
  `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "me", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})${headers === false ? "" : `, {\n    requestInit: { headers: ${JSON.stringify(headers)} },\n  }`}),
);
console.log(await client.listTools());`;

const python = (url: string, headers: { Authorization: string } | false): string =>
  headers === false
    ? `import asyncio
from mcp import Client

async def main():
    async with Client(${JSON.stringify(url)}) as client:
        print(await client.list_tools())

asyncio.run(main())`
    : `import asyncio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    async with httpx2.AsyncClient(headers=${JSON.stringify(headers)}) as http:
        async with Client(streamable_http_client(${JSON.stringify(url)}, http_client=http)) as client:
            print(await client.list_tools())

asyncio.run(main())`;

/** The section: a choice of clients that works without scripts, by the keyboard too. */
export function connectSection(endpoint: Endpoint): Markup {
  const ways = waysTo(endpoint);
  return html`<section aria-labelledby="connect">
    <h2 id="connect">Connect</h2>
    <pre data-copy aria-label="URL of this server" tabindex="0"><code>${endpoint.url}</code></pre>
    <details id="phone" data-url="${endpoint.url}" hidden>
      <summary>On a phone</summary>
    </details>
    <div class="ways">
      <fieldset class="tabs">
        <legend class="unseen">Your client</legend>
        ${ways.map(
          ({ id, name }, nth) =>
            html`<label
              ><input type="radio" name="way" value="${id}" ${nth === 0 ? "checked" : ""} /><span
                >${name}</span
              ></label
            >`,
        )}
      </fieldset>
      ${ways.map(
        ({ id, name, body }) =>
          html`<section class="way" data-way="${id}" aria-label="${name}">${body}</section>`,
      )}
    </div>
  </section>`;
}

/** Shows the way that is chosen. */
export const connectStyle = (endpoint: Endpoint): string =>
  waysTo(endpoint)
    .map(({ id }) => `.ways:has(input[value=${id}]:checked) [data-way=${id}] { display: block; }`)
    .join("\n");
