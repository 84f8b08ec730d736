import { type Axis, axisAround } from "./axis.ts";
import { AXIS, Canvas, colourOf, GRID, LABEL_INK, type Point, TITLE_INK } from "./canvas.ts";
import { fitted, MEDIUM, REGULAR, textWidth } from "./font.ts";

export interface Series {
  name: string;
  values: readonly number[];
}

export interface Chart {
  kind: "line" | "bar";
  series: readonly Series[];
  /** Below the values, from the left. */
  labels: readonly string[] | undefined;
  title: string;
  xTitle: string;
  yTitle: string;
  width: number;
  height: number;
}

const MARGIN = 14;
const LINE_HEIGHT = 18;
const LABEL_GAP = 8;
const SWATCH = 10;
const WIDEST_LABEL = 140;
const WIDEST_BAR = 90;
/** Where more points stand, they have no dots. */
const MOST_DOTS = 40;

/** The picture and its layout, passed to each step of the drawing. */
interface Plot {
  canvas: Canvas;
  chart: Chart;
  axis: Axis;
  count: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function draw(chart: Chart): Canvas {
  const canvas = new Canvas(chart.width, chart.height);
  const plot = layOut(canvas, chart);
  drawGrid(plot);
  drawPositions(plot);
  if (chart.kind === "bar") chart.series.forEach((one, at) => drawBars(plot, one, at));
  else chart.series.forEach((one, at) => drawLine(plot, one, at));
  drawBaseline(plot);
  if (chart.series.length === 1) drawValues(plot, chart.series[0]!);
  return canvas;
}

/** Draws what stands above the plot, and finds the plot's place. */
function layOut(canvas: Canvas, chart: Chart): Plot {
  const room = chart.width - 2 * MARGIN;
  let top = MARGIN;
  if (chart.title !== "") {
    canvas.text(MEDIUM, fitted(MEDIUM, chart.title, room), MARGIN, top - 4, TITLE_INK);
    top += 24;
  }
  if (chart.series.length > 1) top = drawLegend(canvas, chart.series, top);
  if (chart.yTitle !== "") {
    canvas.text(REGULAR, fitted(REGULAR, chart.yTitle, room), MARGIN, top - 2, LABEL_INK);
    top += LINE_HEIGHT;
  }
  top += 6;
  let bottom = chart.height - MARGIN - LINE_HEIGHT;
  if (chart.xTitle !== "") bottom -= LINE_HEIGHT + 2;
  const axis = chooseAxis(chart, bottom - top);
  let widest = 0;
  for (let tick = axis.first; tick <= axis.last; tick++) {
    widest = Math.max(widest, textWidth(REGULAR, axis.format(tick * axis.step)));
  }
  const count = Math.max(...chart.series.map(({ values }) => values.length));
  const left = MARGIN + widest + LABEL_GAP;
  return { canvas, chart, axis, count, left, top, right: chart.width - MARGIN, bottom };
}

/** Returns where it ends. */
function drawLegend(canvas: Canvas, series: readonly Series[], top: number): number {
  let left = MARGIN;
  series.forEach(({ name }, at) => {
    const text = fitted(REGULAR, name, WIDEST_LABEL);
    const width = SWATCH + 6 + textWidth(REGULAR, text);
    if (left > MARGIN && left + width > canvas.width - MARGIN) {
      left = MARGIN;
      top += LINE_HEIGHT;
    }
    canvas.fill(left, top + 1, left + SWATCH, top + 1 + SWATCH, colourOf(at));
    canvas.text(REGULAR, text, left + SWATCH + 6, top - 1, LABEL_INK);
    left += width + 18;
  });
  return top + LINE_HEIGHT + 2;
}

/** Zero belongs to the picture where bars stand on it, and where it is near. */
function chooseAxis({ kind, series }: Chart, height: number): Axis {
  const values = series.flatMap((one) => one.values);
  let low = values.reduce((one, other) => Math.min(one, other));
  let high = values.reduce((one, other) => Math.max(one, other));
  const near = kind === "bar" || low === high ? Infinity : (high - low) / 2;
  if (low > 0 && low <= near) low = 0;
  if (high < 0 && -high <= near) high = 0;
  if (low === 0 && high === 0) high = 1;
  const axis = axisAround(low, high, Math.min(Math.max(Math.floor(height / 36), 2), 8));
  // The least value of a line is written below it.
  const below = ((low / axis.step - axis.first) / (axis.last - axis.first)) * height;
  if (kind === "line" && series.length === 1 && axis.first !== 0 && below < 22) axis.first--;
  return axis;
}

const slotWidth = ({ left, right, count }: Plot): number => (right - left) / count;

const xOf = (plot: Plot, index: number): number => plot.left + (index + 0.5) * slotWidth(plot);

function yOf({ axis, top, bottom }: Plot, value: number): number {
  return bottom - ((value / axis.step - axis.first) / (axis.last - axis.first)) * (bottom - top);
}

/** Where bars stand: at zero, or at the end that is nearest to it. */
const baseline = (plot: Plot): number =>
  Math.round(yOf(plot, Math.min(Math.max(0, plot.axis.first), plot.axis.last) * plot.axis.step));

function drawGrid(plot: Plot): void {
  const { canvas, axis, left, right } = plot;
  for (let tick = axis.first; tick <= axis.last; tick++) {
    const y = Math.round(yOf(plot, tick * axis.step));
    const text = axis.format(tick * axis.step);
    canvas.fill(left, y, right, y + 1, GRID);
    canvas.text(REGULAR, text, left - LABEL_GAP - textWidth(REGULAR, text), y - 7, LABEL_INK);
  }
}

function drawBaseline(plot: Plot): void {
  const { canvas, left, right, bottom } = plot;
  for (const y of new Set([baseline(plot), bottom])) canvas.fill(left, y, right, y + 1, AXIS);
}

/** Over how many values one has a label below. */
function labelDistance(plot: Plot, width: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [1, 2, 5].find((one) => one * power * slotWidth(plot) >= width + 10);
    if (found !== undefined) return found * power;
  }
}

function drawPositions(plot: Plot): void {
  const { canvas, chart, count, bottom, left, right } = plot;
  // Labels of the caller's are cut to their slots before any is left out.
  const room = Math.min(Math.max(slotWidth(plot) - 8, 50), WIDEST_LABEL);
  const texts = Array.from({ length: count }, (_, at) =>
    chart.labels === undefined ? String(at + 1) : fitted(REGULAR, chart.labels[at] ?? "", room),
  );
  const widths = texts.map((text) => textWidth(REGULAR, text));
  const distance = labelDistance(plot, Math.min(Math.max(...widths), room) - 4);
  for (let at = 0; at < count; at++) {
    const position = chart.labels === undefined ? at + 1 : at;
    // The first keeps its number where the next one leaves room for it.
    if (position % distance !== 0 && !(at === 0 && distance > 2)) continue;
    const x = xOf(plot, at);
    canvas.fill(Math.floor(x), bottom, Math.floor(x) + 1, bottom + 4, AXIS);
    const start = Math.min(Math.round(x - widths[at]! / 2), chart.width - 2 - widths[at]!);
    canvas.text(REGULAR, texts[at]!, Math.max(start, 2), bottom + 5, LABEL_INK);
  }
  const title = fitted(REGULAR, chart.xTitle, right - left);
  canvas.centred(REGULAR, title, (left + right) / 2, bottom + LINE_HEIGHT + 6, LABEL_INK);
}

function drawBars(plot: Plot, { values }: Series, series: number): void {
  const bars = plot.chart.series.length;
  const slot = slotWidth(plot);
  const all = slot < 3 ? slot : Math.min(slot * (bars > 1 ? 0.8 : 0.7), WIDEST_BAR * bars);
  const base = baseline(plot);
  values.forEach((value, at) => {
    const left = xOf(plot, at) - all / 2 + (all / bars) * series;
    const start = Math.round(left);
    const end = Math.round(left + all / bars) - (bars > 1 && all / bars >= 6 ? 1 : 0);
    const tip = Math.round(yOf(plot, value));
    const colour = colourOf(series);
    plot.canvas.fill(
      start,
      Math.min(tip, base),
      Math.max(end, start + 1),
      Math.max(tip, base),
      colour,
    );
  });
}

function drawLine(plot: Plot, { values }: Series, series: number): void {
  const points = values.map((value, at): Point => ({ x: xOf(plot, at), y: yOf(plot, value) }));
  const thickness = values.length > 200 ? 1.5 : 2;
  for (let at = 1; at < points.length; at++) {
    plot.canvas.line(points[at - 1]!, points[at]!, thickness, series);
  }
  if (plot.count > MOST_DOTS) return;
  for (const point of points) plot.canvas.disc(point, 3, series);
}

/** Writes values beside their points: all of them where bars have room for that, else the extremes. */
function drawValues(plot: Plot, { values }: Series): void {
  const { canvas, chart, axis, left, right } = plot;
  const texts = values.map(axis.format);
  const widths = texts.map((text) => textWidth(REGULAR, text));
  const bars = chart.kind === "bar";
  const extremes = [values.indexOf(Math.max(...values)), values.indexOf(Math.min(...values))];
  const all = bars && Math.max(...widths) + 6 <= slotWidth(plot);
  const shown = all ? values.keys() : new Set(extremes);
  let taken: { from: number; to: number; top: number } | undefined;
  for (const at of shown) {
    const point = { x: xOf(plot, at), y: yOf(plot, values[at]!) };
    const below = bars ? values[at]! < 0 : at === extremes[1] && at !== extremes[0];
    const top = Math.round(point.y) + (below ? (bars ? 1 : 5) : bars ? -16 : -20);
    const centred = Math.round(point.x - widths[at]! / 2);
    const from = Math.min(Math.max(centred, left + 2), right - widths[at]!);
    const to = from + widths[at]!;
    if (!bars) canvas.disc(point, 4.5, 0, 2.5);
    const free =
      !taken || from > taken.to + 4 || to < taken.from - 4 || Math.abs(top - taken.top) > 14;
    if (free && top + 15 <= plot.bottom) canvas.text(REGULAR, texts[at]!, from, top, TITLE_INK);
    taken = { from, to, top };
  }
}
