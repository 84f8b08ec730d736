/** The section "Connect" of the start page: how to add this server to each client. */
import { html } from "hono/html";
import { isLoopback } from "../http/private-hosts.ts";
import type { Markup } from "../http/document.ts";
import { shellWord } from "../core/text.ts";
import { KEY, programsFor, type Callee } from "./programs.ts";

/** The facts about this server that clients need. */
export interface Endpoint extends Callee {
  /** Its name, as configured. */
  name: string;
}

interface Way {
  id: string;
  name: string;
  body: Markup;
}

/** A text with a button that copies it, which the page's script adds. */
const snippet = (text: string, label: string): Markup =>
  html`<pre data-copy aria-label="${label}" tabindex="0"><code>${text}</code></pre>`;

const steps = (...all: (string | Markup)[]): Markup =>
  html`<ol>
    ${all.map((one) => html`<li>${one}</li>`)}
  </ol>`;

const json = (value: object): string => JSON.stringify(value, null, 2);

/** A name that every client accepts as a key of its settings, and that a shell takes as one word. */
export const shortName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "") || "server";

/** Opens the dialog for a custom connector, filled in. */
const claudeLink = (connectorName: string, connectorUrl: string): string =>
  `https://claude.ai/customize/connectors?${String(new URLSearchParams({ modal: "add-custom-connector", connectorName, connectorUrl }))}`;

/** https://docs.cursor.com/en/tools/developers */
const cursorLink = (name: string, settings: object): string =>
  `cursor://anysphere.cursor-deeplink/mcp/install?${String(new URLSearchParams({ name, config: btoa(JSON.stringify(settings)) }))}`;

/** https://code.visualstudio.com/api/extension-guides/ai/mcp#create-an-mcp-installation-url */
const codeLink = (settings: object): string =>
  `vscode:mcp/install?${encodeURIComponent(JSON.stringify(settings))}`;

/** The clients, in the order of the tabs. */
function waysTo({ url, name, isKeyed }: Endpoint): Way[] {
  const short = shortName(name);
  const header = isKeyed && { Authorization: `Bearer ${KEY}` };
  const headers = header && { headers: header };
  const flag = (option: string) => (isKeyed ? ` ${option} "Authorization: Bearer ${KEY}"` : "");
  const noKeys = isKeyed
    ? html`<p class="note">
        This client signs in on a web page and takes no API key. Set
        <code>OWNER_PASSPHRASE</code> or <code>OAUTH_ISSUERS</code> on the server to use it.
      </p>`
    : "";
  const notLocal = isLoopback(new URL(url).hostname)
    ? html`<p class="note">
        This client calls from the internet and cannot reach a server on your machine. Use the URL
        of the deployed server.
      </p>`
    : "";
  const remote = [
    "mcp-remote",
    url,
    ...(isKeyed ? ["--header", `Authorization:Bearer ${KEY}`] : []),
  ];
  return [
    {
      id: "claude",
      name: "Claude",
      body: html`<p>
          <a class="button" href="${claudeLink(short, url)}" rel="noreferrer">Add to Claude</a>
        </p>
        <p>Or open Settings, Connectors, choose Add custom connector, and paste this URL:</p>
        ${snippet(url, "URL for Claude")} ${noKeys} ${notLocal}`,
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
        html`Open
          <a href="https://chatgpt.com/#settings/Connectors/Advanced" rel="noreferrer"
            >Settings, Apps & Connectors, Advanced settings</a
          >
          and turn on Developer mode.`,
        "Choose Create, and paste this URL:",
      )}
      ${snippet(url, "URL for ChatGPT")} ${noKeys} ${notLocal}`,
    },
    {
      id: "mcp-remote",
      name: "mcp-remote",
      body: html`<p>For clients that can only start local programs. In their settings:</p>
        ${snippet(
          json({ mcpServers: { [short]: { command: "npx", args: remote } } }),
          "Settings with mcp-remote",
        )}`,
    },
    ...Object.entries(programsFor({ url, isKeyed }, { method: "tools/list", params: {} })).map(
      ([language, program]) => ({
        id: language.toLowerCase(),
        name: language,
        body: snippet(program, `Program with ${language}`),
      }),
    ),
  ];
}

/** The section. Its tabs work without script and by keyboard. */
export function connectSection(endpoint: Endpoint): Markup {
  const ways = waysTo(endpoint);
  return html`<section aria-labelledby="connect">
    <h2 id="connect">Connect</h2>
    <pre data-copy aria-label="URL of this server" tabindex="0"><code>${endpoint.url}</code></pre>
    <details id="phone" data-url="${endpoint.url}" data-keyed="${endpoint.isKeyed}" hidden>
      <summary>QR code for a phone</summary>
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

/** Styles that show the chosen client only. */
export const connectStyle = (endpoint: Endpoint): string =>
  waysTo(endpoint)
    .map(({ id }) => `.ways:has(input[value=${id}]:checked) [data-way=${id}] { display: block; }`)
    .join("\n");
