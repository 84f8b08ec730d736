import { type Font, glyphsOf, textWidth } from "./font.ts";
import type { Indexed } from "./png.ts";

type Colour = readonly [number, number, number];

export interface Point {
  x: number;
  y: number;
}

/** Told apart by the colour-blind (after Okabe and Ito), and dark enough on white. */
const SERIES: readonly Colour[] = [
  [0x00, 0x72, 0xb2],
  [0xd5, 0x5e, 0x00],
  [0x00, 0x9e, 0x73],
  [0xcc, 0x79, 0xa7],
  [0xe6, 0x9f, 0x00],
  [0x56, 0xb4, 0xe9],
  [0x88, 0x22, 0x55],
  [0x44, 0x44, 0x44],
];
export const MOST_SERIES = SERIES.length;

const WHITE: Colour = [255, 255, 255];
/** Numbers of colours. A text's three inks stand one after the other, as a series' shades do. */
export const BACKGROUND = 0;
export const GRID = 1;
export const AXIS = 2;
export const LABEL_INK = 3;
export const TITLE_INK = 6;
const FIRST_SHADE = 9;
/** Of each series, from nearly white to its colour. */
const SHADES = 14;

const mixed = (colour: Colour, part: number): Colour =>
  colour.map((one, at) => Math.round(one * part + WHITE[at]! * (1 - part))) as unknown as Colour;
const shades = (colour: Colour, count: number) =>
  Array.from({ length: count }, (_, at) => mixed(colour, (at + 1) / count));

const PALETTE: readonly Colour[] = [
  WHITE,
  [0xe4, 0xe7, 0xeb],
  [0x8a, 0x93, 0x9e],
  ...shades([0x52, 0x5c, 0x69], 3),
  ...shades([0x1c, 0x23, 0x2b], 3),
  ...SERIES.flatMap((colour) => shades(colour, SHADES)),
];

/** The number of a series' own colour. */
export const colourOf = (series: number): number => FIRST_SHADE + SHADES * (series + 1) - 1;

/** An image of numbered colours, white at first. Coordinates are in pixels, from the top left corner. */
export class Canvas implements Indexed {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array<ArrayBuffer>;
  readonly palette = PALETTE;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint8Array(this.width * height);
  }

  fill(left: number, top: number, right: number, bottom: number, colour: number): void {
    for (let row = top; row < bottom; row++) {
      const start = row * this.width;
      this.pixels.fill(colour, start + left, start + right);
    }
  }

  /** `ink` is the faintest of three. */
  text(font: Font, text: string, left: number, top: number, ink: number): void {
    for (const glyph of glyphsOf(font, text)) {
      for (let place = 0; place < glyph.width * glyph.height; place++) {
        const level = (glyph.ink[place >> 2]! >> (2 * (place & 3))) & 3;
        if (level === 0) continue;
        const x = left + glyph.left + (place % glyph.width);
        const y = top + glyph.top + Math.floor(place / glyph.width);
        if (x >= 0 && x < this.width && y >= 0 && y < this.height) {
          this.pixels[y * this.width + x] = ink + level - 1;
        }
      }
      left += glyph.advance;
    }
  }

  centred(font: Font, text: string, middle: number, top: number, ink: number): void {
    this.text(font, text, Math.round(middle - textWidth(font, text) / 2), top, ink);
  }

  line(from: Point, to: Point, thickness: number, series: number): void {
    const steep = Math.abs(to.y - from.y) > Math.abs(to.x - from.x);
    // Along the longer way, pixel by pixel; across it, each pixel by how much of it is covered.
    let [a, b] = steep
      ? [
          [from.y, from.x],
          [to.y, to.x],
        ]
      : [
          [from.x, from.y],
          [to.x, to.y],
        ];
    if (a![0]! > b![0]!) [a, b] = [b, a];
    const [start = 0, across = 0] = a!;
    const [end = 0, acrossEnd = 0] = b!;
    const slope = end > start ? (acrossEnd - across) / (end - start) : 0;
    const half = (thickness / 2) * Math.hypot(1, slope);
    const [along, aside] = steep ? [this.width, 1] : [1, this.width];
    const last = Math.ceil(end);
    for (let place = Math.floor(start); place < last; place++) {
      const middle = across + slope * (Math.min(Math.max(place + 0.5, start), end) - start);
      const top = middle - half;
      const bottom = middle + half;
      for (let pixel = Math.floor(top); pixel < bottom; pixel++) {
        const covered = Math.min(pixel + 1, bottom) - Math.max(pixel, top);
        this.#cover(place * along + pixel * aside, covered, series);
      }
    }
  }

  /** A disc of the series' colour; with `hole` it is white inside of that radius. */
  disc(centre: Point, radius: number, series: number, hole = 0): void {
    const { x, y } = centre;
    for (let row = Math.floor(y - radius); row <= y + radius; row++) {
      for (let column = Math.floor(x - radius); column <= x + radius; column++) {
        const away = Math.hypot(column + 0.5 - x, row + 0.5 - y);
        const at = row * this.width + column;
        if (hole > 0 && away < hole) this.pixels[at] = BACKGROUND;
        this.#cover(at, Math.min(radius + 0.5 - away, hole > 0 ? away - hole + 0.5 : 1, 1), series);
      }
    }
  }

  /** Lays a shade over what is there; something faint does not hide another series. */
  #cover(at: number, covered: number, series: number): void {
    const shade = Math.round(covered * SHADES);
    if (shade <= 0) return;
    const strongest = colourOf(series);
    const old = this.pixels[at]!;
    const colour = strongest - SHADES + Math.min(shade, SHADES);
    const own = old > strongest - SHADES && old <= strongest;
    if (own ? colour > old : old < FIRST_SHADE || shade > SHADES / 2) this.pixels[at] = colour;
  }
}
