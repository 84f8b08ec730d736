import { binaryOf, encodeUtf8 } from "./bytes.ts";

/**
 * The percent-encode sets, without controls and non-ASCII characters:
 * https://url.spec.whatwg.org/#percent-encoded-bytes
 */
export const FRAGMENT = ' "<>`';
export const QUERY = ' "#<>';
export const PATH = `${QUERY}?^\`{}`;
export const USER = `${PATH}/:;=@[\\]|`;

const hex = (char: string): string =>
  `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

/** The text with the characters of `set` percent-encoded. */
export function encode(text: string, set: string): string {
  const binary = /^[ -~]*$/.test(text) ? text : binaryOf(encodeUtf8(text));
  return binary.replace(/[^]/g, (char) =>
    char < " " || char > "~" || set.includes(char) ? hex(char) : char,
  );
}

/** The text percent-encoded as in a form: letters, digits and `*-._` stay, and a space becomes "+". */
export const encodeForm = (text: string): string =>
  binaryOf(encodeUtf8(text)).replace(/[^\w*.-]/g, (char) => (char === " " ? "+" : hex(char)));

/** The bytes that a percent-encoded text stands for, as a string of one char each. */
export const decodeBytes = (text: string): string =>
  binaryOf(encodeUtf8(text)).replace(/%([\da-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
