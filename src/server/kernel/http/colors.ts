/** The page colours derived from one accent, readable on light and on dark paper. */

/** The default accent. */
export const ACCENT = "#3b5bdb";

/** The lightest and darkest background of coloured text, by scheme. */
export const GROUNDS = { light: "#f4f5f8", dark: "#1d212a" } as const;

/** WCAG 2.2 requires this contrast of text. https://www.w3.org/TR/WCAG22/#contrast-minimum */
const CONTRAST = 4.5;

type Rgb = readonly number[];

/** The channels of `#rgb` or `#rrggbb`, each from 0 to 255. */
function rgbOf(hex: string): Rgb {
  const digits = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}

const hexOf = (rgb: Rgb): string =>
  `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

/** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminanceOf(color: string): number {
  const [red, green, blue] = rgbOf(color).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** The contrast of two colours, from 1 to 21. https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrastOf(one: string, other: string): number {
  const [light, dark] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

/** The colour itself, or the nearest one towards black or white that is readable on this background. */
function readableOn(ground: string, color: string): string {
  const [from, to] = [rgbOf(color), rgbOf(luminanceOf(ground) > 0.5 ? "#000" : "#fff")];
  for (let step = 0; step < 100; step++) {
    const mixed = hexOf(from.map((part, nth) => part + ((to[nth]! - part) * step) / 100));
    if (contrastOf(mixed, ground) >= CONTRAST) return mixed;
  }
  return hexOf(to);
}

/**
 * The colours derived from an accent, by scheme: of links, focus and the edges of buttons; and the colour of text on
 * the accent itself.
 */
export const colorsOf = (accent: string) => ({
  light: readableOn(GROUNDS.light, accent),
  dark: readableOn(GROUNDS.dark, accent),
  ink: inkOn(accent),
});

const inkOn = (accent: string) =>
  contrastOf(accent, "#ffffff") >= CONTRAST ? "#ffffff" : "#000000";

/** The default icon, as a `data:` URL: a rounded square of the accent with the first letter of a title. */
export function iconOf(accent: string, title: string): string {
  const [letter = ""] = title.toUpperCase().match(/[\p{L}\p{N}]/u) ?? [];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${accent}"/><text x="16" y="22.5" text-anchor="middle" font-family="system-ui,sans-serif" font-size="18" font-weight="700" fill="${inkOn(accent)}">${letter}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed())}`;
}
