/** Makes untrusted text safe for logs, terminals and pages. */

/**
 * Characters that are interpreted or hidden rather than shown: controls except the tab, format characters
 * (bidirectional, zero-width), line and paragraph separators, lone surrogates.
 */
const UNPRINTABLE = /(?!\t)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Fast path: ten times faster than the replacement on plain ASCII. */
const NOT_ASCII_TEXT = /[^\t -~]/;

function escaped(text: string, escape: (character: string) => string): string {
  return NOT_ASCII_TEXT.test(text) ? text.replace(UNPRINTABLE, escape) : text;
}

const hex = (code: number) => code.toString(16);

/** The text as one line with all characters visible: unprintable ones are escaped, as `\u{1b}`. */
export const printable = (text: string): string =>
  escaped(text, (one) => `\\u{${hex(one.codePointAt(0)!)}}`);

/** As `printable`, with spaces for line breaks. */
export const printableLine = (text: string): string =>
  printable(text.replaceAll(/\s*[\r\n]\s*/g, " "));

/** The text with its line breaks, and all other characters visible: see `printable`. */
export const printableText = (text: string): string =>
  text.split(/\r?\n/).map(printable).join("\n");

/**
 * The text for the log, with all characters visible; lines after the first are indented, so that none can imitate
 * another entry.
 */
export const printableLines = (text: string): string =>
  text
    .split(/[\n\v\f\r\u0085\u2028\u2029]+/)
    .map(printable)
    .join("\n  ");

/** A value as one line of JSON, with unprintable characters escaped. */
export const printableJson = (value: unknown): string =>
  escaped(JSON.stringify(value), (one) =>
    one
      .split("")
      .map((unit) => `\\u${hex(unit.charCodeAt(0)).padStart(4, "0")}`)
      .join(""),
  );

/** The first UTF-16 units of a text, at most `most`, without half a surrogate pair at the end. */
export function beginningOf(text: string, most: number): string {
  const isHalf = most < text.length && /[\ud800-\udbff]/.test(text[most - 1] ?? "");
  return text.slice(0, isHalf ? most - 1 : most);
}

/** The text, or its beginning and an ellipsis if it is longer than `most`. */
export const shortened = (text: string, most: number): string =>
  text.length > most ? `${beginningOf(text, most)}…` : text;

/** The text; if longer than `most`, its beginning, its end, and the number of characters left out. */
export function abridged(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = most >> 1;
  const between = `… (${text.length - 2 * half} characters more) …`;
  return [text.slice(0, half), between, text.slice(-half)].join(" ").toWellFormed();
}

/** The value of a JSON text; undefined for a text that is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON escapes that may be lone surrogates. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
/** An escaped backslash, an escaped surrogate pair, or a lone surrogate. */
const SURROGATES =
  /\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})/g;

/**
 * The value of a JSON text, with U+FFFD for each lone surrogate: clients in other languages reject, or never answer, a
 * message that has one. Throws as `JSON.parse`.
 */
export const parseJson = (text: string): unknown => JSON.parse(wellFormedJson(text));

/** JSON text in which each escape of a lone surrogate is replaced by U+FFFD. */
export const wellFormedJson = (text: string): string =>
  // Most texts have no such escapes, and this test takes a tenth of the pattern's time.
  text.includes("\\u") && SURROGATE_ESCAPE.test(text)
    ? text.replace(SURROGATES, (whole, half) => (half ? "\ufffd" : whole))
    : text;

/** A text quoted as one word of a shell. Even host names may contain quotes and `$()`. */
export const shellWord = (text: string): string =>
  /^[\w:/.@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A percent-encoded text, decoded; unchanged if it is not well encoded. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The most causes in a trace. */
const CAUSES = 10;

/** The stacks of an error, of its causes and of its aggregated errors. */
export function stacksOf(error: unknown): string {
  const found = [error];
  for (const one of found) {
    if (!(one instanceof Error)) continue;
    if (one.cause !== undefined) found.push(one.cause);
    if (one instanceof AggregateError) found.push(...(one.errors as unknown[]));
    if (found.length > CAUSES) break;
  }
  return found.map(shown).join("\ncaused by ");
}

function shown(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.stack ?? thrown.message;
  // An object may have no `toString`, or one that throws.
  return typeof thrown === "string" ? thrown : Object.prototype.toString.call(thrown);
}

/** A size in MiB, in KiB below one, and in bytes below 1 KiB. */
export function mebibytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return bytes < 1024 * 1024
    ? `${Math.round(bytes / 1024)} KiB`
    : `${Number((bytes / 1024 / 1024).toFixed(1))} MiB`;
}

/** Bytes of V8's heap that a string takes: two per character if any is beyond Latin-1, otherwise one. */
export const stringBytes = (text: string): number =>
  // oxlint-disable-next-line no-control-regex
  /[^\0-\xff]/.test(text) ? 2 * text.length : text.length;

/** Bytes in a size such as `512Mi`, `64 MiB` or `1000000`; undefined if it is not a size. */
export function memoryBytes(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(|[kmg]i?)b?$/i.exec(text.trim()) ?? [];
  if (number === undefined) return undefined;
  return Math.floor(Number(number) * (unit ? UNITS[unit.toLowerCase()]! : 1));
}

const UNITS: Record<string, number> = {
  k: 1e3,
  ki: 1024,
  m: 1e6,
  mi: 1024 ** 2,
  g: 1e9,
  gi: 1024 ** 3,
};

/** A string from untrusted JSON; empty for any other value, as `String` would call a `toString` that it names. */
export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
