/** The pages of a question, as markup. All of them work without scripts. */
import type { Ways } from "./people.ts";
import { providerPath, PAGES } from "./paths.ts";
import { html } from "hono/html";
import type { Ask } from "../../kernel/core/asks.ts";
import { timeTag } from "../../kernel/http/components.ts";
import { hiddenFields, shown, type Markup } from "../../kernel/http/document.ts";
import type { HandedOver } from "../../kernel/calls/task-object.ts";
import { isObject } from "../../kernel/core/model.ts";
import { viewIn } from "../../kernel/core/views.ts";
import { viewAddress } from "./framed-view.ts";
import { printable, printableText } from "../../kernel/core/text.ts";
import type { Field, Typed } from "../../kernel/schema/fields.ts";

/** Options of a choice that are shown one below the other; more become a list. */
const SHOWN_OPTIONS = 12;

export interface Complaint {
  /** An error of the answer as a whole. */
  general: readonly string[];
  /** By the fields' names in the form. */
  fields: ReadonlyMap<string, string>;
}

interface Question {
  called: HandedOver["called"];
  ask: Ask;
  /** How many other questions are open. */
  others: number;
  fields: readonly Field[];
  typed: Typed;
  complaint: Complaint | undefined;
  /** The ask's key and the form's token, which the form sends back. */
  key: string;
  token: string;
  /** When the task is deleted, in Unix ms. */
  expires: number;
}

/**
 * Asks who somebody is. The form sends `kept` back; `back` is the path of this page, for those who sign in elsewhere. They
 * set out from the origin `at`, to which they come back; empty where this page is there.
 */
export const signInPage = (
  { title, proof, providers }: Ways,
  {
    complaint,
    kept = [],
    back,
    at,
    to,
  }: {
    complaint?: string | undefined;
    kept?: readonly [string, string][];
    back: string;
    at: string;
    /** The path to which the person wants. */
    to: string;
  },
): Markup =>
  html`<h1>Sign in to ${shown(title)}</h1>
    <p>${purposeOf(to).join(" Then you go on to ")}.</p>
    ${complaint === undefined ? "" : html`<p class="notice wrong" role="alert" id="wrong">${complaint}</p>`}
    ${
      providers.length > 0 &&
      html`${providerLinks(providers, { at, back })} ${proof !== "" && html`<p class="or">or</p>`}`
    }
    ${proof !== "" && credentialForm(proof, { kept, isWrong: complaint !== undefined, isOnly: providers.length === 0 })}`;

/**
 * Links to the providers with these titles, from which people come back to the path `back`. A single one is primary.
 * `at` is this server's origin, or empty. `isOther` has the provider ask which account to use.
 */
export const providerLinks = (
  titles: readonly string[],
  { at = "", back, isOther }: { at?: string; back: string; isOther?: boolean },
): Markup =>
  html`<div class="stack">
    ${titles.map(
      (title, nth) =>
        html`<a
          class="button ${titles.length === 1 ? "primary" : ""}"
          href="${at}${providerPath(nth, back, isOther)}"
          >Continue with ${shown(title)}</a
        >`,
    )}
  </div>`;

/** The reason to sign in, and the page that follows. Reveals nothing of a call, which only its person may see. */
const purposeOf = (path: string): readonly [why: string, next: string] =>
  PURPOSES.find(([start]) => path.startsWith(start))?.[1] ?? [
    "Sign in to see and try the tools that you may use.",
    "where you came from",
  ];

const QUESTION = [
  "A call that was made for you waits for your answer. Sign in to show that it is yours.",
  "the question",
] as const;
const OPERATORS = "This page is for those who run the server.";

const PURPOSES: [start: string, purpose: readonly [string, string]][] = [
  ["/ask/", QUESTION],
  ["/secret/", QUESTION],
  ["/connect/", QUESTION],
  ["/console/live", ["Sign in to follow your calls, and to answer their questions.", "Live"]],
  ["/console/calls", ["Sign in to see your calls, and why some have failed.", "Calls"]],
  ["/console/usage", [OPERATORS, "Usage"]],
  ["/console/operate", [OPERATORS, "Operate"]],
  ["/console/members", [OPERATORS, "Members"]],
  ["/account", ["Sign in to see what this server keeps for you.", "your account"]],
];

const credentialForm = (
  proof: string,
  {
    kept,
    isWrong,
    isOnly,
  }: {
    kept: readonly [string, string][];
    isWrong: boolean;
    /** True if there is no other way to sign in. */
    isOnly: boolean;
  },
): Markup =>
  html`<form method="post">
    <label for="credential">${proof[0]?.toUpperCase()}${proof.slice(1)}</label>
    <input
      id="credential"
      name="credential"
      type="password"
      autocomplete="current-password"
      maxlength="1000"
      required
      ${isOnly ? html`autofocus` : ""}
      ${isWrong ? html`aria-invalid="true" aria-describedby="wrong"` : ""}
    />
    ${kept.map(([name, text]) => html`<input type="hidden" name="${name}" value="${text}" />`)}
    <button class="${isOnly ? "primary" : ""}">Continue</button>
  </form>`;

/** A page with a message only. */
export const wordsPage = (title: string, ...paragraphs: string[]): Markup =>
  html`<h1>${title}</h1>
    ${paragraphs.map((one) => html`<p>${one}</p>`)}`;

/** A page that says why there is nothing to show, with a link to the home page. */
export const deadEndPage = (title: string, why: string): Markup =>
  html`${wordsPage(title, why)}
    <p class="acts"><a class="button" href="${PAGES.Home}">Go to the home page</a></p>`;

export function questionPage(question: Question): Markup {
  const { ask, called, fields, complaint, key, token, expires, others } = question;
  const { mode, message, url } = ask.params;
  const isPage = mode === "url";
  const until = Math.min(ask.deadline ?? expires, expires);
  return html`<h1>A question for you</h1>
    ${complaint ? summary(complaint, fields) : ""} ${about(called)}
    <h2>The question</h2>
    <p class="text">${typeof message === "string" ? printableText(message) : ""}</p>
    ${isPage ? address(url) : viewPlace(ask)}
    <form method="post" id="answer">
      ${hiddenFields({ ask: key, token })} ${fields.map((field) => control(field, question))}
      <button class="primary" name="decision" value="accept">
        ${isPage ? "I have done so" : fields.length === 0 ? "Accept" : "Send this answer"}
      </button>
      <button name="decision" value="decline" formnovalidate>Decline</button>
    </form>
    <p class="dim">
      The question ends ${timeTag(until)}. You can close this page and open the link again until
      then. ${others === 0 ? "" : `${others} more will be asked.`}
    </p>`;
}

/** The place where the page's script shows the view that a question names; empty without script. */
function viewPlace({ params }: Ask): Markup {
  const uri = viewIn(params);
  if (typeof uri !== "string") return html``;
  const { message, requestedSchema } = params;
  const asked = JSON.stringify({ mode: "form", message, requestedSchema });
  return html`<div id="view" data-address="${viewAddress(uri)}" data-asked="${asked}"></div>`;
}

/** The errors, with links to the fields. */
function summary({ general, fields: wrong }: Complaint, fields: readonly Field[]): Markup {
  const listed = fields.filter(({ id }) => wrong.has(id));
  return html`<div class="notice wrong" role="alert">
    <h2>This was not sent</h2>
    ${general.map((one) => html`<p>${printable(one)}</p>`)}
    ${
      listed.length === 0
        ? ""
        : html`<ul>
            ${listed.map(({ id, label }) => html`<li><a href="#${id}">${shown(label)}: ${printable(wrong.get(id)!)}</a></li>`)}
          </ul>`
    }
  </div>`;
}

/** Who asks, and for which call. */
function about(called: HandedOver["called"]): Markup {
  if (called === undefined) return html``;
  const { servlet, tool, arguments: args } = called;
  const entries = Object.entries(args);
  return html`<p>
      <strong>${shown(servlet)}</strong> asks because its tool <strong>${shown(tool)}</strong> was
      called for you${entries.length === 0 ? "." : " with:"}
    </p>
    ${
      entries.length === 0
        ? ""
        : html`<dl>
            ${entries.map(
              ([name, text]) =>
                html`<dt>${shown(name)}</dt>
                  <dd>${printableText(text)}</dd>`,
            )}
          </dl>`
    }`;
}

/** The address that the servlet asks to be opened, with its host by itself. */
function address(url: unknown): Markup {
  const text = typeof url === "string" ? url : "";
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (parsed === undefined || !isWeb) return html`<p class="text">${shown(text)}</p>`;
  const isForeign = parsed.hostname.split(".").some((label) => label.startsWith("xn--"));
  return html`<p>
      You are asked to open a page of <strong>${parsed.host}</strong>. Enter nothing there that you
      would not tell <strong>${parsed.host}</strong>.
    </p>
    ${isForeign ? html`<p class="notice wrong">${LOOKALIKE}</p>` : ""}
    <p>
      <a href="${parsed.href}" rel="noreferrer noopener" target="_blank">${shown(parsed.href)}</a>
      (in a new tab)
    </p>`;
}

const LOOKALIKE =
  "This name is shown as computers write it. It has letters that may look like those of another name: make sure that it is the one you expect.";

function control(field: Field, { typed, complaint }: Question): Markup {
  const { id, label, hint, isRequired, kind, type, options } = field;
  const texts = typed.get(id) ?? [];
  const [text = ""] = texts;
  const wrong = complaint?.fields.get(id);
  const said = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(wrong === undefined ? [] : [`${id}-wrong`]),
  ];
  const name = html`${shown(label)}${isRequired ? "" : html` <span class="dim">(optional)</span>`}`;
  const words = html`${hint === undefined ? "" : html`<p class="dim text" id="${id}-hint">${printableText(hint)}</p>`}
  ${wrong === undefined ? "" : html`<p class="wrong" id="${id}-wrong">${printable(wrong)}</p>`}`;
  const states = html`${said.length === 0 ? "" : html` aria-describedby="${said.join(" ")}"`}${wrong === undefined ? "" : html` aria-invalid="true"`}`;
  const required = isRequired ? html` required` : "";
  const boxes = (input: "radio" | "checkbox", all: readonly (readonly [string, string])[]) =>
    html`<fieldset id="${id}" ${states}>
      <legend>${name}</legend>
      ${words}
      ${all.map(
        ([value, title], nth) =>
          html`<label
            ><input
              type="${input}"
              name="${id}"
              value="${value}"
              ${texts.includes(value) ? html`checked` : ""}
              ${input === "radio" && nth === 0 ? required : ""}
            />${shown(title)}</label
          >`,
      )}
    </fieldset>`;
  const indexed = options.map(({ title }, nth) => [String(nth), title] as const);
  const labelled = (input: Markup) => html`<label for="${id}">${name}</label>${words}${input}`;
  switch (kind) {
    case "yes-no": {
      const open = isRequired ? [] : [["", "No answer"] as const];
      return boxes("radio", [["true", "Yes"], ["false", "No"], ...open]);
    }
    case "many":
      if (options.length <= SHOWN_OPTIONS) return boxes("checkbox", indexed);
      return labelled(
        html`<select id="${id}" name="${id}" multiple size="10" ${states} ${required}>
          ${choices(indexed, texts)}
        </select>`,
      );
    case "one":
      return labelled(
        html`<select id="${id}" name="${id}" ${states} ${required}>
          ${choices([["", isRequired ? "Choose one" : "No answer"], ...indexed], texts)}
        </select>`,
      );
    case "area":
    case "json":
      return labelled(
        // Browsers drop the first line break.
        html`<textarea id="${id}" name="${id}" rows="4" ${states} ${required}>
${`\n${text}`}</textarea>`,
      );
    case "line":
    case "number": {
      // A text input: of a number input, browsers send nothing if they cannot parse the number.
      const mode = kind === "number" ? html` inputmode="decimal"` : "";
      return labelled(
        html`<input
          id="${id}"
          name="${id}"
          type="${type}"
          value="${text}"
          ${mode}
          ${states}
          ${required}
        />`,
      );
    }
  }
}

function choices(all: readonly (readonly [string, string])[], texts: readonly string[]): Markup[] {
  const chosen = new Set(texts);
  return all.map(
    ([value, title]) =>
      html`<option value="${value}" ${chosen.has(value) ? html`selected` : ""}>
        ${shown(title)}
      </option>`,
  );
}

/** True for an ask that has a form. */
export const schemaIn = ({ params }: Ask) =>
  params["mode"] !== "url" && isObject(params["requestedSchema"])
    ? params["requestedSchema"]
    : undefined;
