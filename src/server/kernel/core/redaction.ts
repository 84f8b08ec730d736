import type { CallCredentials } from "./call-context.ts";
import { beginningOf } from "./text.ts";

/** Redacts secrets in the first `most` characters of a text, and drops the rest. Never throws. */
export type Redact = (text: string, most?: number) => string;

/**
 * Redacts the credentials of a call in texts, ignoring case: verbatim, each of their longer lines, and as encoded in
 * JSON, in URLs, in forms and in base64 (as in Basic).
 *
 * Takes time linear in the lengths. Regular expressions are not used: V8 rejects one that is too large with an error
 * that quotes it.
 */
export function hiding({ secrets, tokens }: CallCredentials): Redact {
  const values = [...secrets.values(), ...tokens.values()].filter((value) => value !== "");
  if (values.length === 0) return (text, most = text.length) => beginningOf(text, most);
  let needles: Needle[] | undefined;
  return (text, most = text.length) => {
    needles ??= [...new Set(values.flatMap(formsOf).map(folded))].map(needleOf);
    return redact(text, most, needles);
  };
}

/** Redacts one secret. */
export const hidingOne = (secret: string): Redact =>
  hiding({ secrets: new Map([["", secret]]), tokens: new Map() });

/** Shorter parts of a secret occur by chance and reveal little. */
export const SHORTEST_PART = 6;

/** The forms in which a secret may appear: verbatim, in JSON, URLs and forms, and in base64 at any offset. */
export function formsOf(value: string): string[] {
  const text = value.toWellFormed();
  const bytes = new TextEncoder().encode(text);
  const parts = [...text.split(/[\r\n]+/), ...[0, 1, 2].map((skip) => base64In(bytes, skip))];
  const inJson = JSON.stringify(text).slice(1, -1);
  const forms = [
    value,
    text,
    inJson,
    // As PHP writes it.
    inJson.replaceAll("/", "\\/"),
    // As Python's `repr` writes a text with both kinds of quotes.
    inJson.replaceAll('\\"', '"').replaceAll("'", "\\'"),
    encodeURIComponent(text),
    new URLSearchParams({ "": text }).toString().slice(1),
    bytes.toBase64(),
    ...parts.filter(({ length }) => length >= SHORTEST_PART),
  ];
  return forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}

/** The base64 characters that depend only on these bytes, if `skip` more bytes precede them. */
function base64In(bytes: Uint8Array, skip: number): string {
  const padded = new Uint8Array(skip + bytes.length);
  padded.set(bytes, skip);
  return padded.toBase64().slice(Math.ceil((skip * 8) / 6), Math.floor((padded.length * 8) / 6));
}

/** Lower case, one character for each: `toLowerCase` depends on the neighbours of Σ, and turns İ into two. */
const folded = (text: string): string =>
  text.replace(/[Σς]/g, "σ").replaceAll("İ", "i").toLowerCase();

/** A text to search for, with the length of the longest border of each of its prefixes. */
interface Needle {
  text: string;
  borders: Uint32Array;
}

/** By Knuth, Morris and Pratt: `indexOf` may take the product of both lengths. */
function needleOf(text: string): Needle {
  const borders = new Uint32Array(text.length + 1);
  for (let at = 1, border = 0; at < text.length; at++) {
    border = extended({ text, borders }, border, text.charCodeAt(at));
    borders[at + 1] = border;
  }
  return { text, borders };
}

/** The length of the matched part of the needle after one more character. */
function extended({ text, borders }: Needle, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && text.charCodeAt(length) !== code) length = borders[length]!;
  return text.charCodeAt(length) === code ? length + 1 : length;
}

function redact(whole: string, most: number, needles: readonly Needle[]): string {
  const longest = Math.max(...needles.map(({ text }) => text.length));
  const text = whole.slice(0, most + longest);
  const searched = folded(text);
  /** By the start of a match, the end of the longest match there. */
  const ends = new Uint32Array(text.length);
  for (const needle of needles) {
    const { length } = needle.text;
    for (let at = 0, matched = 0; at < text.length; at++) {
      matched = extended(needle, matched, searched.charCodeAt(at));
      if (matched < length) continue;
      const begin = at + 1 - length;
      ends[begin] = Math.max(ends[begin]!, at + 1);
      matched = needle.borders[matched]!;
    }
  }
  return joined(beginningOf(text, most), ends);
}

/** The text with its matches redacted; adjacent matches become one. */
function joined(text: string, ends: Uint32Array): string {
  let result = "";
  let kept = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (ends[at] === 0) continue;
    if (at > end || end === 0) {
      result += text.slice(kept, at) + "[hidden]";
    }
    end = Math.max(end, ends[at]!);
    kept = end;
  }
  return result + text.slice(kept);
}
