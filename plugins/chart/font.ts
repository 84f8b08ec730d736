import { MEDIUM_16, RANGES, REGULAR_12 } from "./font-data.ts";

export interface Font {
  /** All glyphs in base64, one after the other: decoded, they would make the servlet larger. */
  readonly glyphs: string;
  /** Where each begins there, in the order of `RANGES`, and at last where they end. */
  readonly starts: Uint16Array;
}

/** A character as pixels, with 0 to 3 of ink each. Coordinates are in pixels. */
export interface Glyph {
  /** From this character to the next. */
  readonly advance: number;
  /** From where the line stands and from its top to the upper left pixel. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Four pixels in each byte, row by row. */
  readonly ink: Uint8Array;
}

const decoded = (glyphs: string, start: number, end: number): Glyph => {
  const bytes = Uint8Array.fromBase64(glyphs.slice(start, end));
  const [advance = 0, left = 0, top = 0, width = 0, height = 0] = bytes;
  return { advance, left: left - 16, top: top - 16, width, height, ink: bytes.subarray(5) };
};

function font(glyphs: string): Font {
  const starts: number[] = [];
  for (let start = 0; start < glyphs.length;) {
    starts.push(start);
    const { width, height } = decoded(glyphs, start, start + 8);
    start += Math.ceil((5 + Math.ceil((width * height) / 4)) / 3) * 4;
  }
  return { glyphs, starts: Uint16Array.from([...starts, glyphs.length]) };
}

export const REGULAR = font(REGULAR_12);
export const MEDIUM = font(MEDIUM_16);

/** Where a character is among the glyphs; "?" stands for those that are not. */
function placeOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  let before = 0;
  for (const [first = 0, last = 0] of RANGES) {
    if (code >= first && code <= last) return before + code - first;
    before += last - first + 1;
  }
  return placeOf("?");
}

export const glyphsOf = ({ glyphs, starts }: Font, text: string): Glyph[] =>
  Array.from(text.normalize("NFC"), (character) => {
    const place = placeOf(character);
    return decoded(glyphs, starts[place]!, starts[place + 1]!);
  });

/** In pixels. */
export const textWidth = (font: Font, text: string): number =>
  glyphsOf(font, text).reduce((width, { advance }) => width + advance, 0);

/** The text, cut with an ellipsis where it is wider than `room`. */
export function fitted(font: Font, text: string, room: number): string {
  if (textWidth(font, text) <= room) return text;
  let left = room - textWidth(font, "…");
  let kept = "";
  for (const character of text.normalize("NFC")) {
    left -= textWidth(font, character);
    if (left < 0) break;
    kept += character;
  }
  return kept && `${kept}…`;
}
