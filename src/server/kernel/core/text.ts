/** Makes untrusted text safe for logs, terminals and pages. */

/**
 * Characters that are obeyed or hidden rather than shown: controls but the tab, formats (bidirectional,
 * zero-width), separators of lines and paragraphs, lone surrogates.
 */
const UNPRINTABLE = /(?!\t)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Fast path: ten times faster than the replacement on plain ASCII. */
const NOT_ASCII_TEXT = /[^\t -~]/;

function escaped(text: string, escape: (character: string) => string): string {
  return NOT_ASCII_TEXT.test(text) ? text.replace(UNPRINTABLE, escape) : text;
}

const hex = (code: number) => code.toString(16);

/** The text as one line that shows all of its characters: others are written as `\u{1b}`. */
export const printable = (text: string): string =>
  escaped(text, (one) => `\\u{${hex(one.codePointAt(0)!)}}`);

/** As `printable`; breaks of lines are spaces. */
export const printableLine = (text: string): string =>
  printable(text.replaceAll(/\s*[\r\n]\s*/g, " "));

/** The text with its line breaks, and all other characters shown: see `printable`. */
export const printableText = (text: string): string =>
  text.split(/\r?\n/).map(printable).join("\n");

/** The text for the log, all characters shown; lines after the first are indented, so that none can imitate another entry. */
export const printableLines = (text: string): string =>
  text
    .split(/[\n\v\f\r\u0085\u2028\u2029]+/)
    .map(printable)
    .join("\n  ");

/** A value as JSON of one line, in which such characters are escaped. */
export const printableJson = (value: unknown): string =>
  escaped(JSON.stringify(value), (one) =>
    one
      .split("")
      .map((unit) => `\\u${hex(unit.charCodeAt(0)).padStart(4, "0")}`)
      .join(""),
  );

/** A text's first UTF-16 units, `most` at most, without half of a character at the end. */
export function beginningOf(text: string, most: number): string {
  const isHalf = most < text.length && /[\ud800-\udbff]/.test(text[most - 1] ?? "");
  return text.slice(0, isHalf ? most - 1 : most);
}

/** The text, or its beginning and an ellipsis if it is longer than `most`. */
export const shortened = (text: string, most: number): string =>
  text.length > most ? `${beginningOf(text, most)}…` : text;

/** The text; of one that is longer than `most` its beginning, its end, and how many characters are between them. */
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

/** Escapes of JSON that may stand for half of a character. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
/** An escaped backslash, a whole character in two escapes, or half of one. */
const SURROGATES =
  /\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})/g;

/**
 * The value of a JSON text, in which each half of a character (a lone surrogate) is U+FFFD: clients in other languages
 * refuse, or never answer, a message that has one. Throws as `JSON.parse`.
 */
export const parseJson = (text: string): unknown => JSON.parse(wellFormedJson(text));

/** JSON text in which each escape of a lone surrogate is replaced by U+FFFD. */
export const wellFormedJson = (text: string): string =>
  // Most texts have no escapes of code points, which is found out at a tenth of the pattern's time.
  text.includes("\\u") && SURROGATE_ESCAPE.test(text)
    ? text.replace(SURROGATES, (whole, half) => (half ? "\ufffd" : whole))
    : text;

/** A text as one word of a shell. Host names, too, may have quotes and `$()` in them. */
export const shellWord = (text: string): string =>
  /^[\w:/.@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A percent-encoded text, decoded; one that is not well encoded stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Causes that a trace lists at most. */
const CAUSES = 10;

/** The stacks of an error, of its causes and of the errors that it collects. */
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
  // An object may have no `toString` of its own, or one that throws.
  return typeof thrown === "string" ? thrown : Object.prototype.toString.call(thrown);
}

/** A size in MiB, or in KiB below one. */
export const mebibytes = (bytes: number): string =>
  bytes < 1024 * 1024
    ? `${Math.round(bytes / 1024)} KiB`
    : `${Number((bytes / 1024 / 1024).toFixed(1))} MiB`;

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

/** A text in JSON that is not trusted; empty for any other value, as `String` would call the `toString` that it names. */
export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
