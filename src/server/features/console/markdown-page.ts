/** Renders the Markdown of servlets as HTML. */
import { html } from "hono/html";
import { shown, type Markup } from "../../kernel/http/document.ts";
import { printableText } from "../../kernel/core/text.ts";
import { blocksOf, type Block, type Inline } from "./markdown.ts";

/** Renders untrusted Markdown. Its headings become bold text, to keep them out of the page's outline. */
export const markdownOf = (text: string): Markup =>
  html`<div class="markdown">${blocksOf(printableText(text)).map(blockOf)}</div>`;

function blockOf(block: Block): Markup {
  switch (block.kind) {
    case "p":
      return html`<p class="text">${block.parts.map(inlineOf)}</p>`;
    case "heading":
      return html`<p><strong>${block.parts.map(inlineOf)}</strong></p>`;
    case "pre":
      return html`<pre tabindex="0">${`\n${block.text}`}</pre>`;
    case "quote":
      return html`<blockquote>${block.blocks.map(blockOf)}</blockquote>`;
    case "ul":
      return html`<ul>
        ${itemsOf(block.items)}
      </ul>`;
    case "ol":
      return html`<ol>
        ${itemsOf(block.items)}
      </ol>`;
  }
}

const itemsOf = (items: readonly Block[][]): Markup[] =>
  items.map((blocks) => html`<li>${blocks.map(blockOf)}</li>`);

function inlineOf(part: Inline): Markup | string {
  if (typeof part === "string") return part;
  switch (part.kind) {
    case "code":
      return html`<code>${part.text}</code>`;
    case "strong":
      return html`<strong>${part.parts.map(inlineOf)}</strong>`;
    case "em":
      return html`<em>${part.parts.map(inlineOf)}</em>`;
    case "link":
      return html`<a href="${part.href}" target="_blank" rel="noreferrer noopener" data-foreign
          >${part.parts.map(inlineOf)}</a
        >
        <span class="dim">(${shown(new URL(part.href).host)})</span>`;
  }
}
