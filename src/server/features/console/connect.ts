/** How this server is added to each client: the part "Connect" of the home page. */
import { html } from "hono/html";
import { isLoopback, isPrivate } from "../../kernel/http/private-hosts.ts";
import type { Markup } from "../../kernel/http/document.ts";
import { shellWord } from "../../kernel/core/text.ts";
import { badge, snippet } from "../../kernel/http/components.ts";
import { PAGES } from "../people/paths.ts";
import { authorizationOf, KEY, programsFor, type Callee } from "./programs.ts";

/** The facts about this server that clients need. */
export interface Endpoint extends Callee {
  /** Its name, as configured. */
  name: string;
  /** True if clients that can open a web page sign in there, and need no key. */
  hasSignIn: boolean;
}

/** The facts about a server that its clients depend on. */
interface ServerFacts {
  settings: { SERVER_NAME: string };
  authenticator: { isOpen: boolean; proof: string };
}

/** The endpoint at this URL, of a server or of a profile of it. */
export const endpointOf = (
  { settings, authenticator }: ServerFacts,
  url: string,
  profile?: string,
): Endpoint => ({
  url,
  name: [settings.SERVER_NAME, profile].filter(Boolean).join("-"),
  isKeyed: !authenticator.isOpen,
  hasSignIn: authenticator.proof === "sign-in",
});

/** A client and how it is connected. */
interface Client {
  name: string;
  body: Markup;
  /** The reason why it cannot call this server; undefined if it can. */
  why?: string | undefined;
}

const json = (value: object): string => JSON.stringify(value, null, 2);

/** A name that is valid as a settings key in every client, and as one word in a shell. */
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

const button = (label: string, href: string): Markup =>
  html`<p><a class="button" href="${href}" rel="noreferrer">${label}</a></p>`;

const byHand = (file: string, settings: object, label: string): Markup =>
  html`<details>
    <summary class="small dim">By hand, in <code>${file}</code></summary>
    ${snippet(json(settings), label)}
  </details>`;

/** The clients: those that can call this server first. */
function clientsOf(endpoint: Endpoint): Client[] {
  const { url, name, isKeyed, hasSignIn } = endpoint;
  const short = shortName(name);
  // Without the key, an app would sign in and get the rights of the person who does.
  const sendsKey = isKeyed && (!hasSignIn || endpoint.key !== undefined);
  const authorization = authorizationOf(endpoint);
  const headers = sendsKey && { headers: { Authorization: authorization } };
  const flag = sendsKey ? ` --header "Authorization: ${authorization}"` : "";
  const { hostname } = new URL(url);
  const why = isPrivate(hostname)
    ? `Calls from the internet, and cannot reach ${isLoopback(hostname) ? "a server on your machine" : "a server in your own network"}. Deploy the server first.`
    : !sendsKey
      ? undefined
      : hasSignIn
        ? "Signs in on a web page, and takes no key. It would have the rights of whoever signs in there, not those of this key."
        : "Signs in on a web page, and takes no key. Set OWNER_PASSPHRASE, SIGN_IN or OAUTH_ISSUERS on the server first.";
  const remote = [
    "mcp-remote",
    url,
    ...(sendsKey ? ["--header", `Authorization:${authorization}`] : []),
  ];
  const clients: Client[] = [
    {
      name: "Claude",
      why,
      body: html`${button("Add to Claude", claudeLink(short, url))}
        <p class="small dim">
          By hand: Settings, Connectors, Add custom connector; paste the URL above.
        </p>`,
    },
    {
      name: "Claude Code",
      body: snippet(
        `claude mcp add --transport http ${short} ${shellWord(url)}${flag}`,
        "Command for Claude Code",
      ),
    },
    {
      name: "Cursor",
      body: html`${button("Add to Cursor", cursorLink(short, { url, ...headers }))}
      ${byHand("~/.cursor/mcp.json", { mcpServers: { [short]: { url, ...headers } } }, "Settings for Cursor")}`,
    },
    {
      name: "VS Code",
      body: html`${button("Add to VS Code", codeLink({ name: short, type: "http", url, ...headers }))}
      ${byHand(".vscode/mcp.json", { servers: { [short]: { type: "http", url, ...headers } } }, "Settings for VS Code")}`,
    },
    {
      name: "ChatGPT",
      why,
      body: html`<p>
        Turn on Developer mode in
        <a href="https://chatgpt.com/#settings/Connectors/Advanced" rel="noreferrer"
          >Settings, Apps & Connectors, Advanced settings</a
        >. Choose Create, and paste the URL above.
      </p>`,
    },
    {
      name: "Programs",
      body: html`${Object.entries(programsFor(endpoint, { method: "tools/list", params: {} })).map(
        ([language, program]) =>
          html`<details name="program">
            <summary>${language}</summary>
            ${snippet(program, `Program with ${language}`)}
          </details>`,
      )}`,
    },
    {
      name: "Other apps",
      body: html`<p>For apps that can only start local programs, in their settings:</p>
        <details>
          <summary class="small dim">With <code>mcp-remote</code></summary>
          ${snippet(json({ mcpServers: { [short]: { command: "npx", args: remote } } }), "Settings with mcp-remote")}
        </details>`,
    },
  ];
  return clients.toSorted((one, other) => Number(Boolean(one.why)) - Number(Boolean(other.why)));
}

/** One sentence on the key that the snippets need. */
function keyOf({ isKeyed, hasSignIn, key }: Endpoint): Markup | string {
  if (!isKeyed) return "";
  if (key !== undefined) return html`<p>The key is filled in below.</p>`;
  return html`<p>
    ${hasSignIn ? "Apps open this server's page to sign in; programs send an API key. " : ""}Replace
    <code>${KEY}</code> with your API key. An operator of this server makes one on
    <a href="${PAGES.Operate}">Operate</a>, or with <code>npm run keys -- create NAME</code>.
  </p>`;
}

/** The clients, with the URL above them. With `key` in the endpoint, all is filled in. */
export const clientsSection = (endpoint: Endpoint): Markup =>
  html`${snippet(endpoint.url, "URL of this server")}
    <details id="phone" class="scripted" data-url="${endpoint.url}">
      <summary>QR code for a phone</summary>
    </details>
    ${keyOf(endpoint)}
    <ul class="cards">
      ${clientsOf(endpoint).map(
        ({ name, why, body }) =>
          html`<li class="card" data-client="${name}">
            <h3>${name} ${why === undefined ? "" : badge("not available here")}</h3>
            ${why === undefined ? body : html`<p class="dim">${why}</p>`}
          </li>`,
      )}
    </ul>`;

/** A button that opens the clients. `data-callee` describes the server for programs that repeat a call. */
export function connectSection(endpoint: Endpoint, isPrimary: boolean): Markup {
  const { url, isKeyed } = endpoint;
  return html`<details id="connect" data-callee="${JSON.stringify({ url, isKeyed })}">
    <summary class="button ${isPrimary ? "primary" : ""}">Connect</summary>
    <h2>Connect your client</h2>
    ${clientsSection(endpoint)}
  </details>`;
}
