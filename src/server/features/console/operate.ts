/** The page on which operators see the server's state, install servlets and revoke keys. */
import { html } from "hono/html";
import type { KeyRecord } from "../../kernel/auth/key-records.ts";
import type { InstalledVersion, Published } from "../installs/installs-rows.ts";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import { isSafe } from "../../kernel/http/private-hosts.ts";
import type { Lack } from "../../kernel/settings/known-features.ts";
import { callsPath } from "./calls.ts";
import {
  badge,
  emptyState,
  notice,
  postButton,
  snippet,
  tableOf,
  timeTag,
} from "../../kernel/http/components.ts";
import { clientsSection, type Endpoint } from "./connect.ts";
import { LIVE_PATH } from "./live.ts";
import { PAGES } from "../people/paths.ts";
import { durationOf } from "../../kernel/core/times.ts";
import { bytesText, computeText, count, several } from "./units.ts";
import { scopesInWords } from "../../kernel/core/key-name.ts";
import { failureOf } from "../../kernel/servlets/failures.ts";
import type { CountedError } from "../../kernel/observe/counted.ts";
import type { Act } from "../usage/usage-object.ts";

interface ServedServlet {
  name: string;
  hash: string;
  dialect: string;
  /** The scope of the memory and files that it keeps. */
  state: string;
  /** Its origin, in words. */
  from: string;
  /** The number of tools, prompts and resources that it lists. */
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

/** An error, and whether its call has a page that this operator may open. */
export type ShownError = CountedError & { isOpen: boolean };

/** The data that the page shows. */
export interface Overview {
  servlets: ServedServlet[];
  /** Why some servlet's entries cannot be listed. */
  problem: string | undefined;
  /** True while the disk of a self-hosted server is full. */
  isStorageFull: boolean;
  /** Undefined where servlets cannot be installed. */
  installed: { name: string; current: number | null; versions: InstalledVersion[] }[] | undefined;
  installable: Published[];
  keys: ShownKey[];
  /** True if keys can be made here. */
  makesKeys: boolean;
  /** The log of operators' actions; undefined where the binding USAGE is missing, or does not answer. */
  acts: Act[] | undefined;
  /** Undefined as `acts`. */
  errors: ShownError[] | undefined;
  limits: { name: string; value: number; usual: number }[];
  setup: ServerSetup;
  token: string;
  /** The message about the action that led to this page. */
  done: string | undefined;
  wrong?: WrongKey | undefined;
}

/** What the server can see of its own configuration. */
export interface ServerSetup {
  /** The address at which the browser has this page. */
  at: URL;
  /** PUBLIC_URL, if it is set. */
  publicUrl: string | undefined;
  lacking: readonly Lack[];
}

/** The form of a key that was not made, and why. */
export interface WrongKey {
  form: URLSearchParams;
  /** The name of the field that is wrong. */
  field: string;
  message: string;
}

export function operatePage(all: Overview): Markup {
  return html`<h1>Operate</h1>
    ${all.done === undefined ? "" : html`<p class="notice good" role="status">${shown(all.done)}</p>`}
    ${healthOf(all)} ${errorsOf(all.errors)} ${servletsOf(all)} ${keysOf(all)} ${installedOf(all)}
    ${setupOf(all.setup)} ${limitsOf(all.limits)} ${actsOf(all.acts)}`;
}

/** Older errors say nothing about the current state of the server. */
const LATELY_MS = 86_400_000;

/** The status in one line. It reports that all is well only if no error that operators can fix is listed. */
function healthOf({ isStorageFull, problem, errors }: Overview): Markup {
  if (isStorageFull)
    return notice(
      html`<p>
        <strong>The disk of this server is full.</strong> Calls that store something fail. Delete
        files that are not needed, or enlarge the disk. The server then continues without a restart.
      </p>`,
      "wrong",
    );
  if (problem !== undefined)
    return notice(
      html`<p>
        <strong>A servlet cannot list its entries:</strong> ${shown(problem)} See the log (<code
          >npx wrangler tail</code
        >), then fix, roll back or uninstall the servlet.
      </p>`,
      "wrong",
    );
  const listed = "All servlets list their entries";
  if (errors === undefined)
    return notice(
      `${listed}. Errors are not known: bind the Durable Object USAGE in wrangler.toml, or see the log for the reason why it does not answer.`,
    );
  const own = errors.filter(({ outcome }) => failureOf(outcome).isOurs);
  const lately = own.filter(({ last }) => last > Date.now() - LATELY_MS).length;
  const linked = (many: number, what: string) =>
    html`<strong><a href="#errors">${several(many, what)}</a></strong>`;
  if (lately > 0)
    return notice(
      html`<p>
        ${linked(lately, "error")} in the last 24 hours ${lately === 1 ? "is" : "are"} for you to
        fix. ${listed}.
      </p>`,
      "warn",
    );
  if (own.length > 0)
    return notice(
      html`<p>
        No errors for you to fix in the last 24 hours; ${linked(own.length, "older error")}
        ${own.length === 1 ? "is" : "are"} listed until 30 days have passed. ${listed}.
      </p>`,
    );
  return notice(
    html`<p><strong>All is well.</strong> ${listed}, and there are no errors for you to fix.</p>`,
    "good",
  );
}

/** Errors: first those for operators, then those that callers have caused and seen. */
function errorsOf(errors: Overview["errors"] = []): Markup {
  const { own = [], others = [] } = Object.groupBy(errors, ({ outcome }) =>
    failureOf(outcome).isOurs ? "own" : "others",
  );
  const list = (some: readonly ShownError[]): Markup =>
    html`<ul class="cards errors">
      ${some.map(errorCard)}
    </ul>`;
  return html`${
    own.length > 0 &&
    html`<h2 id="errors">Errors</h2>
      ${list(own)}`
  }
  ${
    others.length > 0 &&
    html`<details>
      <summary>${several(others.length, "more error")}, which callers were told</summary>
      ${list(others)}
    </details>`
  }`;
}

function errorCard(error: ShownError): Markup {
  const { servlet, tool, outcome, message, count: times, last, caller, task, isOpen } = error;
  const { what, advice } = failureOf(outcome);
  return html`<li class="card">
    <h3>${what} ${times > 1 && badge(`${count(times)} times`)}</h3>
    <p class="dim small">
      <code>${shown(tool)}</code> of ${shown(servlet)}, called by ${shown(caller)}, ${timeTag(last)}
    </p>
    ${message !== "" && html`<pre class="text" tabindex="0">${shown(message)}</pre>`}
    <p>${advice}</p>
    <p>
      ${isOpen && task !== null && html`<a href="${LIVE_PATH}/${task}">Open the call</a> · `}<a
        href="${callsPath({ servlet, tool, outcome })}"
        >Show these calls</a
      >
    </p>
  </li>`;
}

/** The list of servlets is open up to this many. */
const FEW = 8;

/** For whom a servlet keeps state, by the manifest's key `state`. */
const STATE_SCOPES: Record<string, string> = {
  session: "for each session",
  caller: "for each caller",
  server: "for all callers",
};

const servletsOf = ({ servlets }: Overview): Markup =>
  html`<h2>Servlets</h2>
    <details ${servlets.length <= FEW ? "open" : ""}>
      <summary>${several(servlets.length, "servlet")}, with runs of the last hour</summary>
      ${tableOf({
        caption: "Servlets that are served",
        columns: ["Servlet", "From", "Entries", "Keeps state", "Last hour", "Hash"],
        rows: servlets.map(({ name, hash, dialect, state, from, entries, runs }) => [
          html`${shown(name)} ${badge(dialect)}`,
          from,
          entries,
          STATE_SCOPES[state] ?? "no",
          runs === undefined || runs.runs === 0
            ? ""
            : html`<span
                >${several(runs.runs, "run")}${runs.errors > 0 ? html`, <a class="wrong" href="${callsPath({ over: "hour", servlet: name, outcome: "failed" })}">${several(runs.errors, "error")}</a>` : ""}</span
              >`,
          html`<code>${hash.slice(0, 12)}</code>`,
        ]),
      })}
    </details>`;

function installedOf({ installed, installable, token }: Overview): Markup {
  if (installed === undefined)
    return html`<h2>Versions</h2>
      <p>
        Servlets cannot be installed: bind the R2 bucket <code>BUILDS</code>, the Worker Loader
        <code>LOADER</code> and the Durable Object <code>INSTALLS</code> in
        <code>wrangler.toml</code>.
      </p>`;
  const servedBadge = badge("served", "good");
  return html`<h2>Versions</h2>
    ${
      installed.length === 0 &&
      emptyState(
        "Nothing is installed",
        html`All servlets come with the server. Install others with
          <code>npm run servlets -- install NAME --to URL</code>.`,
      )
    }
    ${installed.map(({ name, current, versions }) =>
      tableOf({
        caption: `Versions of ${shown(name)}`,
        columns: [shown(name), "Installed", "By", "Hash", "Action"],
        rows: versions.map(({ version: nth, installed: at, by, hash }) => {
          const [version, seen] = [String(nth), String(current ?? 0)];
          return [
            html`version ${version} ${nth === current && servedBadge}`,
            timeTag(Date.parse(at)),
            shown(by),
            html`<code>${hash.slice(0, 12)}</code>`,
            nth === current
              ? postButton(
                  "Uninstall",
                  { token, do: "ask-uninstall", name },
                  { about: name, tone: "danger" },
                )
              : postButton(
                  "Roll back",
                  { token, do: "ask-rollback", name, version, seen },
                  { about: `${name} to ${version}` },
                ),
          ];
        }),
      }),
    )}
    ${
      installable.length > 0 &&
      html`<h3>Published, not installed</h3>
        ${tableOf({
          caption: "Published servlets, which are not installed",
          columns: ["Servlet", "Published by", "Hash", "Action"],
          rows: installable.map(({ name, by, hash, digest }) => [
            shown(name),
            shown(by),
            html`<code>${hash.slice(0, 12)}</code>`,
            postButton("Install", { token, do: "ask-install", name, digest }, { about: name }),
          ]),
        })}`
    }`;
}

function keysOf({ keys, makesKeys, token, wrong }: Overview): Markup {
  const when = (at: number | null | undefined) => (at ? timeTag(at) : "never");
  const since = (did: string, by: string | null, at: number) =>
    html`<span class="dim small since">${did} by ${shown(by ?? "")}, ${timeTag(at)}</span>`;
  return html`<h2>Keys</h2>
    ${tableOf({
      caption: "API keys",
      columns: ["Key", "May call", "Expires", "Last used", "Action"],
      empty: emptyState("No keys", "Programs call with a key, and people sign in with one."),
      rows: keys.map(({ name, scopes, expires, used, revoked, by, key, made }) => {
        const act = (label: string, what: string, tone: "danger" | "" = "") =>
          postButton(label, { token, do: what, name, key }, { about: name, tone });
        return [
          html`<span
            >${shown(name)} ${revoked !== null && badge("revoked", "wrong")}
            ${made && since("made", made.by, made.at)}
            ${revoked !== null && since("Revoked", by, revoked)}</span
          >`,
          shown(scopesInWords(scopes)),
          when(expires),
          when(used),
          revoked === null
            ? act("Revoke", "ask-revoke", "danger")
            : html`<span class="acts"
                >${act("Restore", "ask-restore")}
                ${made && act("Remove", "ask-remove", "danger")}</span
              >`,
        ];
      }),
    })}
    ${makesKeys ? keyForm(token, wrong) : html`<p>Make a key with <code>npm run keys -- create NAME</code>.</p>`}`;
}

const keyForm = (token: string, wrong: WrongKey | undefined): Markup => {
  /** A field with its explanation. */
  const field = (name: string, label: string, how: Markup | string, attributes: Markup) => {
    const isWrong = wrong?.field === name;
    return html`<label for="key-${name}">${label}</label>
      <input
        id="key-${name}"
        name="${name}"
        value="${wrong?.form.get(name) ?? ""}"
        ${attributes}
        ${isWrong ? html`aria-invalid="true" autofocus` : ""}
        aria-describedby="key-${name}-how"
      />
      <p class="dim small" id="key-${name}-how">
        ${isWrong ? html`<strong class="wrong">${shown(wrong.message)}</strong> ` : ""}${how}
      </p>`;
  };
  return html`<details class="make" ${wrong ? "open" : ""}>
    <summary class="button">Make a key</summary>
    <form method="post" class="card">
      <p>
        You see it once, on the next page. Whoever has it may call, and sign in here, until you
        revoke it.
      </p>
      ${hiddenFields({ token, do: "make" })}
      ${field("name", "Name", "Who or what it is for. Everything that is stored for its calls is kept under this name.", html`required maxlength="64" autocomplete="off"`)}
      ${field(
        "scopes",
        "May call",
        html`Scopes with commas: <code>servlet:tool</code>, where <code>*</code> stands for
          anything; <code>operator</code> for this page. Empty for all tools. No more than your own
          key may.`,
        html`placeholder="hello:*, web:fetch" autocomplete="off"`,
      )}
      ${field("days", "Days until it expires", "Empty for never.", html`type="number" min="1" max="3660"`)}
      <button class="primary">Make the key</button>
    </form>
  </details>`;
};

/** The page that shows a new key, once, and all that it can be put into. */
export const keyPage = (
  name: string,
  endpoint: Endpoint & { key: string },
  unfitting: readonly string[],
): Markup =>
  html`<h1>The key of ${shown(name)}</h1>
    ${notice(
      html`<p>
        <strong>Copy it now.</strong> It is not kept, and cannot be shown again. It works within two
        seconds.
      </p>`,
      "warn",
    )}
    ${
      unfitting.length > 0 &&
      notice(
        `Nothing that this server offers now matches ${shown(unfitting.join(", "))}. Check the names for misspellings.`,
        "warn",
      )
    }
    ${snippet(endpoint.key, "Key")}
    <p class="acts"><a class="button" href="${PAGES.Operate}">Back to Operate</a></p>
    <h2>Connect a client with it</h2>
    ${clientsSection(endpoint)}`;

const HOW: Record<Act["how"], string> = {
  page: "on this page",
  command: "by a command",
  agent: "by an agent",
};

function actsOf(acts: readonly Act[] | undefined): Markup {
  if (acts === undefined) return html``;
  return html`<h2 id="audit">Audit log</h2>
    ${tableOf({
      caption: "Audit log",
      columns: ["Action", "Operator", "Made", "When"],
      empty: emptyState(
        "No actions in the last 90 days",
        "Each change by an operator is listed here, with the operator’s name and the time.",
      ),
      rows: acts.map(({ at, by, how, what }) => [
        html`<span class="did">${shown(what)}</span>`,
        shown(by),
        HOW[how],
        timeTag(at),
      ]),
    })}`;
}

/** A limit with its unit, taken from the end of its name. */
function inUnits(name: string, value: number): string {
  const text = name.endsWith("Bytes")
    ? bytesText(value)
    : name.endsWith("Ms")
      ? durationOf(value)
      : name.endsWith("Fuel")
        ? computeText(value)
        : "";
  return text === "" ? "" : `(${text})`;
}

/** What is wrong with the address of this request, as far as the server can see it. */
function addressOf({ at, publicUrl }: ServerSetup): Markup {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  if (own !== undefined && own !== at.origin)
    return notice(
      html`<p>
        This page is at <code>${at.origin}</code>, and <code>PUBLIC_URL</code> is
        <code>${own}</code>: tokens and links are for that address. Set it to the address that
        clients are given.
      </p>`,
      "warn",
    );
  return isSafe(at)
    ? html`<p>Clients reach this server at <code>${at.origin}/mcp</code>.</p>`
    : notice(
        "This page came over plain http, so keys can be read on the way. Put https in front of the server.",
        "warn",
      );
}

const setupOf = (setup: ServerSetup): Markup =>
  html`<h2 id="setup">Configuration</h2>
    ${addressOf(setup)}
    ${
      setup.lacking.length > 0 &&
      tableOf({
        caption: "What is off, since bindings are missing",
        columns: ["Off", "Not bound"],
        rows: setup.lacking.map(({ bindings, off }) => [
          off,
          html`<code>${bindings.join(", ")}</code>`,
        ]),
      })
    }
    <p>
      What clients meet on their way here (DNS, certificate, sign-in, firewall, streams) is checked
      from outside:
    </p>
    ${snippet(`npm run servlets -- doctor ${setup.at.origin}/mcp`, "Command")}`;

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
          html`<span>${count(value)} <span class="dim">${inUnits(name, value)}</span></span>`,
          value === usual ? "the same" : html`<strong>${count(usual)}</strong>`,
        ]),
      })}
    </details>`;

/** The question before an action. */
export interface ActionQuestion {
  title: string;
  /** The consequences. */
  lines: readonly string[];
  label: string;
  /** True for what deletes or revokes. */
  isDanger: boolean;
  /** The fields that the button posts. */
  of: Record<string, string>;
}

/** The page that asks for confirmation: what the action does, and its button. */
export const confirmPage = (
  token: string,
  { title, lines, label, isDanger, of }: ActionQuestion,
): Markup =>
  html`<h1>${shown(title)}</h1>
    <ul>
      ${lines.map((one) => html`<li>${shown(one)}</li>`)}
    </ul>
    <div class="acts">
      ${postButton(label, { token, ...of }, { tone: isDanger ? "danger" : "primary" })}
      <a class="button" href="${PAGES.Operate}">Go back</a>
    </div>`;

export const operateStyle = `
  .errors { grid-template-columns: 1fr; } .make { margin: 1rem 0; } .make > summary { width: fit-content; } .make .card { max-width: 32rem; }
  .make .card > .dim { margin: -.5rem 0 .75rem; } .did { font-weight: 400; }
  .since { display: block; font-weight: 400; } ul + .acts { margin-top: 1rem; }
`;
