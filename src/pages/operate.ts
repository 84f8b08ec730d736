/** The page on which operators see the server's state, install servlets and revoke keys. */
import { html } from "hono/html";
import type { KeyRecord } from "../auth/key-records.ts";
import type { InstalledVersion } from "../installs/installs-rows.ts";
import { hiddenFields, shown, type Markup } from "../http/document.ts";
import { snippet, tableOf, timeTag } from "./components.ts";
import { clientsSection, type Endpoint } from "./connect.ts";
import { PAGES } from "./paths.ts";
import { scopesInWords } from "../core/key-name.ts";
import { ADVICE } from "../servlets/run-log.ts";
import type { CountedError } from "../observe/counts.ts";
import type { Act } from "../observe/usage-object.ts";

interface ServedServlet {
  name: string;
  hash: string;
  dialect: string;
  /** The scope of the memory and files that it keeps. */
  state: string;
  /** Where it comes from, in words. */
  from: string;
  /** How many tools, prompts and resources it lists. */
  entries: number;
  /** Its runs in the last hour; undefined where they are not counted. */
  runs: { runs: number; errors: number } | undefined;
}

/** An API key and its record of use. */
type ShownKey = {
  name: string;
  scopes: readonly string[] | undefined;
  /** Unix time in ms. */
  expires: number | undefined;
  /** When it was made here, and by whom; undefined for a key of the configuration. */
  made: { at: number; by: string } | undefined;
} & KeyRecord;

/** The data that the page shows. */
export interface Overview {
  servlets: ServedServlet[];
  /** Why some servlet's entries cannot be listed. */
  problem: string | undefined;
  /** Undefined where servlets cannot be installed. */
  installed: { name: string; current: number | null; versions: InstalledVersion[] }[] | undefined;
  installable: { name: string; hash: string; by: string }[];
  keys: ShownKey[];
  /** True if keys can be made here. */
  makesKeys: boolean;
  /** What operators did; undefined where the binding USAGE is missing. */
  acts: Act[] | undefined;
  /** Undefined where the binding USAGE is missing. */
  errors: CountedError[] | undefined;
  limits: { name: string; value: number; usual: number }[];
  token: string;
  /** The message about the action that led to this page. */
  done: string | undefined;
}

export function operatePage(all: Overview): Markup {
  return html`<h1>Operate</h1>
    ${all.done === undefined ? "" : html`<p class="notice" role="status">${shown(all.done)}</p>`}
    ${servletsOf(all)} ${installedOf(all)} ${keysOf(all)} ${errorsOf(all.errors)}
    ${limitsOf(all.limits)} ${actsOf(all.acts)}`;
}

/** A form with one button, which posts these fields. */
const button = (token: string, label: string, of: Record<string, string>): Markup =>
  html`<form method="post" class="one">
    ${hiddenFields({ token, ...of })}
    <button>${shown(label)}</button>
  </form>`;

/** For whom a servlet keeps state, by the manifest's key `state`. */
const STATE_SCOPES: Record<string, string> = {
  session: "for each session",
  caller: "for each caller",
  server: "for all callers",
};

const servletsOf = ({ servlets, problem }: Overview): Markup =>
  html`<h2>Servlets</h2>
    ${
      problem === undefined
        ? html`<p>All servlets list their entries.</p>`
        : html`<p class="notice wrong" role="alert">
            A servlet cannot list its entries: ${shown(problem)} See the log (npx wrangler tail),
            then fix, roll back or uninstall the servlet.
          </p>`
    }
    ${tableOf({
      caption: "Servlets that are served",
      columns: ["Servlet", "From", "Entries", "Keeps state", "Last hour", "Hash"],
      rows: servlets.map(({ name, hash, dialect, state, from, entries, runs }) => [
        html`${shown(name)} <span class="badge">${dialect}</span>`,
        from,
        entries,
        STATE_SCOPES[state] ?? "no",
        html`<span class="${(runs?.errors ?? 0) > 0 ? "wrong" : ""}"
          >${runs === undefined ? "" : `runs: ${runs.runs}, errors: ${runs.errors}`}</span
        >`,
        html`<code>${hash.slice(0, 12)}</code>`,
      ]),
    })}`;

function installedOf({ installed, installable, token }: Overview): Markup {
  if (installed === undefined) {
    return html`<h2>Installed</h2>
      <p>
        Servlets cannot be installed: bind the R2 bucket <code>BUILDS</code>, the Worker Loader
        <code>LOADER</code> and the Durable Object <code>INSTALLS</code> in
        <code>wrangler.toml</code>.
      </p>`;
  }
  return html`<h2>Installed</h2>
    <p>
      Install a servlet from a file or a registry with
      <code>npm run servlets -- install NAME --to URL</code>. Published servlets can be installed
      here.
    </p>
    ${installed.length === 0 ? html`<p class="dim">None.</p>` : ""}
    ${installed.map(({ name, current, versions }) =>
      tableOf({
        caption: `Versions of ${shown(name)}`,
        columns: [shown(name), "Installed", "By", "Hash", "Action"],
        rows: versions.map(({ version, installed: at, by, hash }) => [
          `version ${version}`,
          timeTag(Date.parse(at)),
          shown(by),
          html`<code>${hash.slice(0, 12)}</code>`,
          version === current
            ? button(token, `Uninstall ${shown(name)}`, { do: "ask-uninstall", name })
            : button(token, `Roll ${shown(name)} back to ${version}`, {
                ...{ do: "rollback", name, version: String(version) },
                seen: String(current ?? 0),
              }),
        ]),
      }),
    )}
    ${
      installable.length === 0
        ? ""
        : html`<h3>Published, not installed</h3>
            <ul>
              ${installable.map(
                ({ name, by, hash }) =>
                  html`<li>
                    ${shown(name)}, by ${shown(by)}
                    ${button(token, `Install ${shown(name)}`, { do: "ask-install", name, hash })}
                  </li>`,
              )}
            </ul>`
    }`;
}

function keysOf({ keys, makesKeys, token }: Overview): Markup {
  const when = (at: number | null | undefined) => (at ? timeTag(at) : "never");
  return html`<h2>Keys</h2>
    <p>
      A revoked key is refused everywhere within 30 seconds; calls that were made with it continue.
      Remove one of the configuration there, too: <code>npm run keys -- revoke NAME</code>.
    </p>
    ${makesKeys ? keyForm(token) : html`<p>Create a key with <code>npm run keys -- create NAME</code>.</p>`}
    ${keys.length === 0 ? html`<p class="dim">None.</p>` : ""}
    ${
      keys.length === 0
        ? ""
        : tableOf({
            caption: "API keys",
            columns: ["Key", "Scopes", "Expires", "Last used", "Action"],
            rows: keys.map(({ name, scopes, expires, used, revoked, by, key, made }) => [
              html`${shown(name)}
              ${made && html`<span class="dim">made by ${shown(made.by)}, ${timeTag(made.at)}</span>`}`,
              shown(scopesInWords(scopes)),
              when(expires),
              when(used),
              revoked === null
                ? button(token, `Revoke ${shown(name)}`, { do: "ask-revoke", name, key })
                : html`<span>Revoked by ${shown(by ?? "")}, ${timeTag(revoked)}</span>
                    ${button(token, `Restore ${shown(name)}`, { do: "restore", name, key })}
                    ${made && button(token, `Remove ${shown(name)}`, { do: "remove", name, key })}`,
            ]),
          })
    }`;
}

const keyForm = (token: string): Markup =>
  html`<details>
    <summary>Make a key</summary>
    <form method="post">
      ${hiddenFields({ token, do: "make" })}
      <label>Name <input name="name" required maxlength="64" autocomplete="off" /></label>
      <label
        >Scopes, with commas; all but operator if empty
        <input name="scopes" placeholder="hello:*,web:fetch" autocomplete="off"
      /></label>
      <label
        >Days until it expires; never if empty <input name="days" type="number" min="1" max="3660"
      /></label>
      <button class="primary">Make the key</button>
    </form>
  </details>`;

/** The page that shows a new key, once, and all that it can be put into. */
export const keyPage = (name: string, endpoint: Endpoint & { key: string }): Markup =>
  html`<h1>The key of ${shown(name)}</h1>
    <p>Copy it now: it is not kept, and cannot be shown again. It works within two seconds.</p>
    ${snippet(endpoint.key, "Key")}
    <p><a href="${PAGES.Operate}">Go back to Operate</a></p>
    <h2>Connect a client with it</h2>
    ${clientsSection(endpoint)}`;

const HOW: Record<Act["how"], string> = {
  page: "here",
  command: "by a command",
  agent: "by an agent",
};

function actsOf(acts: readonly Act[] | undefined): Markup {
  if (acts === undefined) return html``;
  return html`<h2>What operators did</h2>
    ${
      acts.length === 0
        ? html`<p class="dim">Nothing in the last 90 days.</p>`
        : tableOf({
            caption: "What operators did",
            columns: ["Who", "What", "When"],
            rows: acts.map(({ at, by, how, what }) => [
              shown(by),
              html`<span>${shown(what)} <span class="dim">${HOW[how]}</span></span>`,
              timeTag(at),
            ]),
          })
    }`;
}

function errorsOf(errors: readonly CountedError[] | undefined): Markup {
  if (errors === undefined) {
    return html`<h2>Errors</h2>
      <p>
        Errors are not recorded: bind the Durable Object <code>USAGE</code> in
        <code>wrangler.toml</code>.
      </p>`;
  }
  return html`<h2>Errors</h2>
    ${
      errors.length === 0
        ? html`<p class="dim">None.</p>`
        : tableOf({
            caption: "The latest errors of servlets",
            columns: ["Tool", "Last seen", "Error", "Count"],
            rows: errors.map(({ servlet, tool, outcome, message, count, last }) => [
              `${shown(tool)} of ${shown(servlet)}`,
              timeTag(last),
              html`<div>${shown(message)} <span class="dim">${ADVICE[outcome] ?? ""}</span></div>`,
              count,
            ]),
          })
    }`;
}

const limitsOf = (all: Overview["limits"]): Markup =>
  html`<h2>Limits</h2>
    <p>
      The variable <code>LIMITS</code> changes these limits; <code>docs/configuration.md</code>
      explains each.
    </p>
    <details>
      <summary>Limits in force</summary>
      ${tableOf({
        caption: "Limits in force",
        columns: ["Limit", "Value", "Default"],
        rows: all.map(({ name, value, usual }) => [
          html`<code>${name}</code>`,
          value.toLocaleString("en"),
          value === usual ? "the same" : html`<strong>${usual.toLocaleString("en")}</strong>`,
        ]),
      })}
    </details>`;

/** The page that asks for confirmation: what the action does, and its button. */
export const confirmPage = (
  title: string,
  lines: readonly string[],
  { token, label, of }: { token: string; label: string; of: Record<string, string> },
): Markup =>
  html`<h1>${shown(title)}</h1>
    <ul>
      ${lines.map((one) => html`<li>${shown(one)}</li>`)}
    </ul>
    ${button(token, label, of)}
    <p><a href="/console/operate">Go back</a></p>`;
