/** The parts that pages are made of. Their classes, which the script uses too, are in `style.ts`. */
import { html } from "hono/html";
import { hiddenFields, shown, type Markup } from "./document.ts";
import { timeAgo } from "../core/times.ts";

/** The color of a status; the words must say it, too. */
export type Tone = "good" | "warn" | "wrong";

/** A card for one thing. Several go into an element of the class `cards`. */
export const card = (body: Markup): Markup => html`<section class="card">${body}</section>`;

/** A word or two about the thing beside it. */
export const badge = (text: string, tone?: Tone | "accent"): Markup =>
  html`<span class="badge ${tone ?? ""}">${text}</span>`;

/** A notice. With the tone `wrong` it is an alert, which screen readers read at once. */
export const notice = (body: Markup | string, tone?: Tone): Markup =>
  html`<div class="notice ${tone ?? ""}" ${tone === "wrong" ? html`role="alert"` : ""}>
    ${typeof body === "string" ? html`<p>${body}</p>` : body}
  </div>`;

/** The place of an empty list: why it is empty, and how it fills. */
export const emptyState = (title: string, body: Markup | string = ""): Markup =>
  html`<div class="empty">
    <p><strong>${title}</strong></p>
    ${body === "" ? "" : html`<p>${body}</p>`}
  </div>`;

/** A form with one button, which posts these fields. `about` is read out after the button's label. */
export function postButton(
  label: string,
  fields: Readonly<Record<string, string>>,
  { about = "", tone = "" }: { about?: string; tone?: "danger" | "primary" | "" } = {},
): Markup {
  const says = html`${shown(label)}${about && html`<span class="unseen"> ${shown(about)}</span>`}`;
  return html`<form method="post" class="one">
    ${hiddenFields(fields)}
    <button class="${tone}">${says}</button>
  </form>`;
}

/** A text with a button that copies it, which the page's script adds. */
export const snippet = (text: string, label: string): Markup =>
  html`<div class="copied">
    <pre data-copy aria-label="${label}" tabindex="0"><code>${text}</code></pre>
  </div>`;

/** A point in time in Unix ms, in words. The exact time is its `title`; the script keeps the words right. */
export const timeTag = (at: number): Markup => {
  const exact = new Date(at);
  return html`<time datetime="${exact.toISOString()}" title="${exact.toUTCString()}"
    >${timeAgo(at)}</time
  >`;
};

type Cell = Markup | string | number;

interface Table {
  /** Shown instead of a table without rows; by default the table's head. */
  empty?: Markup;
  /** For screen readers; everyone sees it if `hasCaption`. */
  caption: string;
  hasCaption?: boolean;
  /** The head of each column; a column of numbers ends at the right. */
  columns: readonly (string | { name: string; isNumber: boolean })[];
  /** The first cell of a row names it. */
  rows: readonly (readonly Cell[])[];
}

/** A table, which on a phone is a card for each row. */
export function tableOf({ caption, hasCaption = false, columns, rows, empty }: Table): Markup {
  if (empty !== undefined && rows.length === 0) return empty;
  const heads = columns.map((one) =>
    typeof one === "string" ? { name: one, isNumber: false } : one,
  );
  const number = (nth: number) => (heads[nth]?.isNumber === true ? html`class="number"` : "");
  const cell = (one: Cell, nth: number) =>
    nth === 0
      ? html`<th scope="row">${one}</th>`
      : html`<td data-label="${heads[nth]?.name ?? ""}" ${number(nth)}>${one}</td>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="${caption}">
    <table class="stacked">
      <caption class="${hasCaption ? "" : "unseen"}">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map(({ name }, nth) => html`<th scope="col" ${number(nth)}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map(cell)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
