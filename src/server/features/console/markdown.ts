/**
 * Parses the Markdown of descriptions and skills in linear time: paragraphs, headings, lists, quotes, code and links. HTML
 * and pictures stay text. Used by the server and by the pages' script.
 */

/** Inline content of a block. */
export type Inline =
  | string
  | { kind: "code"; text: string }
  | { kind: "strong" | "em"; parts: Inline[] }
  /** A link with an absolute http or https URL. */
  | { kind: "link"; href: string; parts: Inline[] };

export type Block =
  | { kind: "p" | "heading"; parts: Inline[] }
  | { kind: "pre"; text: string }
  | { kind: "ul" | "ol"; items: Block[][] }
  | { kind: "quote"; blocks: Block[] };

/** Maximum nesting of lists and quotes, and of inline marks. */
const DEPTH = 5;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6} +(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)]) +(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE = /^ {0,3}\|/;

/** Parses Markdown; `depth` is the number of lists and quotes around it. */
export function blocksOf(text: string, depth = 0): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let at = 0;
  /** Consumes lines until `next` returns undefined; returns the texts that it returned, joined by line breaks. */
  const take = (next: (line: string) => string | undefined): string => {
    const taken: string[] = [];
    for (; at < lines.length; at++) {
      const one = next(lines[at]!);
      if (one === undefined) break;
      taken.push(one);
    }
    return taken.join("\n");
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const [, fence] = FENCE.exec(line) ?? [];
    const [, heading] = HEADING.exec(line) ?? [];
    if (line.trim() === "") at++;
    else if (fence !== undefined) {
      at++;
      blocks.push({
        kind: "pre",
        text: take((one) => (one.trim().startsWith(fence) ? undefined : one)),
      });
      at++;
    } else if (heading !== undefined) {
      at++;
      blocks.push({ kind: "heading", parts: inlineOf(heading.replace(/ #+ *$/, "")) });
    } else if (depth < DEPTH && QUOTE.test(line)) {
      const inner = take((one) => QUOTE.exec(one)?.[1]);
      blocks.push({ kind: "quote", blocks: blocksOf(inner, depth + 1) });
    } else if (depth < DEPTH && ITEM.test(line)) blocks.push(listAt());
    else if (TABLE.test(line))
      blocks.push({ kind: "pre", text: take((one) => (TABLE.test(one) ? one : undefined)) });
    else {
      const begun = at;
      const isMore = (one: string) => one.trim() !== "" && (at === begun || !startsBlock(one));
      blocks.push({ kind: "p", parts: inlineOf(take((one) => (isMore(one) ? one : undefined))) });
    }
  }
  return blocks;

  function listAt(): Block {
    const isOrdered = /^ *\d/.test(lines[at]!);
    const items: Block[][] = [];
    for (;;) {
      const [, indent, mark, first] = ITEM.exec(lines[at] ?? "") ?? [];
      if (mark === undefined || /\d/.test(mark) !== isOrdered) break;
      const width = indent!.length + 2;
      at++;
      // Indented lines belong to the item, even after a blank line.
      const rest = take((one) => {
        if (one.trim() === "")
          return lines[at + 1]?.startsWith(" ".repeat(width)) === true ? "" : undefined;
        if (one.startsWith(" ".repeat(width))) return one.slice(width);
        return startsBlock(one) ? undefined : one;
      });
      items.push(blocksOf(`${first!}\n${rest}`, depth + 1));
      if (lines[at]?.trim() === "" && ITEM.test(lines[at + 1] ?? "")) at++;
    }
    return { kind: isOrdered ? "ol" : "ul", items };
  }
}

const startsBlock = (line: string): boolean =>
  [FENCE, HEADING, ITEM, QUOTE, TABLE].some((one) => one.test(line));

/** Inline marks, each of bounded length, so that matching takes linear time. */
const MARK =
  /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|\*([^*\s][^*\n]{0,500})\*|!\[([^\]\n]{0,200})\]\([^()\n]{0,2000}\)|\[([^\]\n]{1,200})\]\((https?:\/\/[^()\s]{1,2000})\)/g;

function inlineOf(text: string, depth = 0): Inline[] {
  if (depth > DEPTH) return [text];
  const parts: Inline[] = [];
  let end = 0;
  for (const found of text.matchAll(MARK)) {
    const [whole, code, strong, em, picture, words, href] = found;
    if (found.index > end) parts.push(text.slice(end, found.index));
    end = found.index + whole.length;
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (strong !== undefined)
      parts.push({ kind: "strong", parts: inlineOf(strong, depth + 1) });
    else if (em !== undefined) parts.push({ kind: "em", parts: inlineOf(em, depth + 1) });
    else if (picture !== undefined) parts.push(picture);
    else if (URL.canParse(href!))
      parts.push({ kind: "link", href: new URL(href!).href, parts: inlineOf(words!, depth + 1) });
    else parts.push(whole);
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
