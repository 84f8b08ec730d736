import { html } from "hono/html";
import type { Markup } from "../http/document.ts";

/** Charts as inline SVG, without script. */

/** A bar of a chart. */
export interface Bar {
  /** Its tooltip. */
  label: string;
  value: number;
  /** The part of the value that is drawn in the color of errors. */
  wrong: number;
}

const [WIDTH, HEIGHT] = [720, 160];

/** A bar chart; `title` is its caption and its text for screen readers. */
export function barChart(title: string, bars: readonly Bar[]): Markup {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = WIDTH / Math.max(1, bars.length);
  const high = (value: number) => (value / most) * HEIGHT;
  return html`<figure>
    <svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" role="img" aria-label="${title}">
      ${bars.map(({ label, value, wrong }, nth) => {
        const [x, wide] = [(nth * step).toFixed(1), (step * 0.8).toFixed(1)];
        const bar = (of: number, className: string) =>
          html`<rect
            class="${className}"
            x="${x}"
            y="${(HEIGHT - high(of)).toFixed(1)}"
            width="${wide}"
            height="${high(of).toFixed(1)}"
          />`;
        return html`<g
          ><title>${label}</title>${bar(value, "bar")} ${wrong > 0 ? bar(wrong, "bad") : ""}</g
        >`;
      })}
      <line class="ground" x1="0" x2="${WIDTH}" y1="${HEIGHT + 0.5}" y2="${HEIGHT + 0.5}" />
    </svg>
    <figcaption class="dim">${title}. The highest bar is ${most.toLocaleString("en")}.</figcaption>
  </figure>`;
}

/** A horizontal bar whose full width stands for `most`. */
export const share = (value: number, most: number): Markup =>
  html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar" width="${((value / Math.max(1, most)) * 100).toFixed(1)}" height="8" />
  </svg>`;

export const chartStyle = `
  .chart { width: 100%; height: auto; max-height: 14rem; } .bar { fill: var(--link); } .bad { fill: var(--wrong); }
  .ground { stroke: var(--edge); } .share { width: 100%; height: .4rem; display: block; } figure { margin: .8rem 0; }
  td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; min-width: 4rem; white-space: nowrap; }
  .big { display: flex; flex-wrap: wrap; gap: .6rem 2rem; } .big div { display: flex; flex-direction: column-reverse; }
  .big dd { font-size: 1.4rem; margin: 0; } .big dt { font-weight: 400; color: var(--dim); }
  .choices { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
`;
