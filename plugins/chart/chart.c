#include "chart.h"

#include <math.h>

#include "axis.h"
#include "font.h"
#include "text.h"

enum {
  MOST_POINTS_WITH_DOTS = 40,
  WIDEST_BAR = 96,
};

/// What all steps of the drawing share. Lengths are in pixels; `unit` is one at
/// the size that labels are drawn in.
struct plot {
  struct canvas *canvas;
  const struct chart *chart;
  struct summary summary;
  struct axis axis;
  struct box area;
  int unit;
};

struct summary chart_summary(const struct chart *chart) {
  const double *values = chart->values;
  struct summary found = {values[0], values[0], 0, 0, 0};
  double sum = 0;
  for (int i = 0; i < chart->count; i++) {
    sum += values[i];
    if (values[i] < found.min) found.min = values[found.min_at = i];
    if (values[i] > found.max) found.max = values[found.max_at = i];
  }
  found.mean = sum / chart->count;
  return found;
}

static struct label label_of(const struct plot *plot, const struct text *text) {
  return (struct label){text->bytes, text->length, plot->unit, LABEL, false};
}

static double slot_width(const struct plot *plot) {
  return (plot->area.right - plot->area.left) / plot->chart->count;
}

static double x_of(const struct plot *plot, int index) {
  return plot->area.left + (index + 0.5) * slot_width(plot);
}

static double y_of(const struct plot *plot, double value) {
  return plot->area.bottom - axis_place(&plot->axis, value) * (plot->area.bottom - plot->area.top);
}

static struct point point_of(const struct plot *plot, int index) {
  return (struct point){x_of(plot, index), y_of(plot, plot->chart->values[index])};
}

/// Zero belongs to the picture where bars stand on it, and where it is near.
static struct axis choose_axis(const struct plot *plot) {
  double low = plot->summary.min, high = plot->summary.max, span = high - low;
  bool bars = plot->chart->bars;
  if (low > 0 && (bars || low <= span / 2)) low = 0;
  if (high < 0 && (bars || -high <= span / 2)) high = 0;
  if (bars && low == 0 && high == 0) high = 1;

  double height = plot->area.bottom - plot->area.top;
  int ticks = (int)(height / (36 * plot->unit));
  struct axis axis = axis_around(low, high, ticks < 2 ? 2 : ticks > 8 ? 8 : ticks);

  bool labelled_below = plot->summary.min < 0 || (!bars && axis.first > 0);
  bool cramped = axis_place(&axis, plot->summary.min) * height < 20 * plot->unit;
  if (labelled_below && cramped) axis.first--;
  return axis;
}

static int widest_tick(const struct plot *plot) {
  int widest = 0;
  for (double tick = plot->axis.first; tick <= plot->axis.last; tick++) {
    struct text text = {0};
    axis_label(&text, &plot->axis, tick);
    struct label label = label_of(plot, &text);
    int width = label_width(&label);
    if (width > widest) widest = width;
  }
  return widest;
}

static struct plot lay_out(struct canvas *canvas, const struct chart *chart) {
  struct plot plot = {.canvas = canvas, .chart = chart, .summary = chart_summary(chart)};
  plot.unit = canvas->width >= 960 && canvas->height >= 480 ? 2 : 1;
  int unit = plot.unit;
  plot.area.top = (chart->title_length ? 46 : 22) * unit;
  plot.area.bottom = canvas->height - 24 * unit;
  plot.axis = choose_axis(&plot);
  plot.area.left = 12 * unit + widest_tick(&plot) + 8 * unit;
  plot.area.right = canvas->width - 14 * unit;
  return plot;
}

static void paint_row(const struct plot *plot, double y, enum paint paint) {
  double top = floor(y + 0.5) - (plot->unit == 2);
  struct box row = {plot->area.left, top, plot->area.right, top + plot->unit};
  canvas_paint(plot->canvas, row, paint);
}

static void draw_grid(const struct plot *plot) {
  for (double tick = plot->axis.first; tick <= plot->axis.last; tick++) {
    double y = y_of(plot, tick * plot->axis.step);
    struct text text = {0};
    axis_label(&text, &plot->axis, tick);
    struct label label = label_of(plot, &text);
    int left = (int)plot->area.left - 8 * plot->unit - label_width(&label);
    canvas_label(plot->canvas, &label, left, (int)floor(y + 0.5) - 3 * plot->unit);
    paint_row(plot, y, GRID);
  }
}

/// Over how many values one number stands below the chart.
static int tick_distance(const struct plot *plot, int label_width) {
  static const int STEPS[] = {1, 2, 5, 10, 20, 50, 100, 200};
  for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
    if (STEPS[i] * slot_width(plot) >= label_width + 10 * plot->unit) return STEPS[i];
  return 500;
}

/// Numbers the values from one; the first keeps its number where there is room.
static void draw_positions(const struct plot *plot) {
  int count = plot->chart->count, unit = plot->unit, bottom = (int)plot->area.bottom;
  struct text widest = {0};
  text_number(&widest, count, 3);
  struct label label = label_of(plot, &widest);
  int room = label_width(&label) + 10 * unit;
  int distance = tick_distance(plot, label_width(&label));
  bool first_fits = (distance - 1) * slot_width(plot) >= room || distance > count;
  for (int position = 1; position <= count; position++) {
    if (position % distance && !(position == 1 && first_fits)) continue;
    struct text text = {0};
    text_number(&text, position, 3);
    label = label_of(plot, &text);
    int x = (int)x_of(plot, position - 1);
    struct box mark = {x, bottom, x + unit, bottom + 4 * unit};
    canvas_paint(plot->canvas, mark, AXIS);
    canvas_label(plot->canvas, &label, x - label_width(&label) / 2, bottom + 8 * unit);
  }
}

static void draw_axes(const struct plot *plot) {
  struct box left = {plot->area.left, plot->area.top, plot->area.left + plot->unit, plot->area.bottom};
  canvas_paint(plot->canvas, left, AXIS);
  paint_row(plot, plot->area.bottom, AXIS);
  paint_row(plot, y_of(plot, axis_baseline(&plot->axis)), AXIS);
}

static void draw_bars(const struct plot *plot) {
  double slot = slot_width(plot), base = floor(y_of(plot, axis_baseline(&plot->axis)) + 0.5);
  double width = slot < 3 ? slot : slot < 8 ? slot - 1 : fmin(slot * 0.7, WIDEST_BAR * plot->unit);
  for (int i = 0; i < plot->chart->count; i++) {
    struct point tip = point_of(plot, i);
    double left = floor(tip.x - width / 2 + 0.5), right = floor(tip.x + width / 2 + 0.5);
    struct box bar = {left, fmin(tip.y, base), fmax(right, left + 1), fmax(tip.y, base)};
    canvas_bar(plot->canvas, bar);
  }
}

static void draw_area(const struct plot *plot) {
  double base = y_of(plot, axis_baseline(&plot->axis));
  for (int i = 1; i < plot->chart->count; i++) {
    struct point from = point_of(plot, i - 1), to = point_of(plot, i);
    for (int x = (int)ceil(from.x - 0.5); x + 0.5 < to.x; x++) {
      double along = (x + 0.5 - from.x) / (to.x - from.x);
      canvas_fill_column(plot->canvas, x, from.y + along * (to.y - from.y), base);
    }
  }
}

static void draw_line(const struct plot *plot) {
  int count = plot->chart->count;
  double thickness = (count > 200 ? 1.5 : 2) * plot->unit;
  for (int i = 1; i < count; i++)
    canvas_line(plot->canvas, point_of(plot, i - 1), point_of(plot, i), thickness);
  for (int i = 0; i < count && count <= MOST_POINTS_WITH_DOTS; i++)
    canvas_dot(plot->canvas, point_of(plot, i), 2.5 * plot->unit);
  canvas_ring(plot->canvas, point_of(plot, plot->summary.min_at), 4 * plot->unit);
  canvas_ring(plot->canvas, point_of(plot, plot->summary.max_at), 4 * plot->unit);
}

static bool label_goes_below(const struct plot *plot, int index, int distance) {
  double value = plot->chart->values[index];
  if (plot->chart->bars) return value < 0;
  bool fits = y_of(plot, value) + distance + FONT_HEIGHT * plot->unit <= plot->area.bottom;
  return index == plot->summary.min_at && fits && plot->summary.min < plot->summary.max;
}

/// Returns where it stands.
static struct box draw_extreme(const struct plot *plot, int index, const struct box *taken) {
  int unit = plot->unit, distance = (plot->chart->bars ? 4 : 8) * unit;
  struct point at = point_of(plot, index);
  struct text text = {0};
  axis_number(&text, &plot->axis, plot->chart->values[index]);
  struct label label = {text.bytes, text.length, unit, TITLE, true};

  int width = label_width(&label), left = (int)at.x - width / 2;
  int leftmost = (int)plot->area.left + 4 * unit, rightmost = plot->canvas->width - width - 4 * unit;
  left = left < leftmost ? leftmost : left > rightmost ? rightmost : left;
  bool below = label_goes_below(plot, index, distance);
  int top = (int)at.y + (below ? distance : -distance - FONT_ASCENT * unit);

  struct box box = {left - 2, top - 2, left + width + 2, top + FONT_ASCENT * unit + 2};
  bool free = !taken || box.right < taken->left || box.left > taken->right ||
              box.bottom < taken->top || box.top > taken->bottom;
  if (free) canvas_label(plot->canvas, &label, left, top);
  return box;
}

static void draw_extremes(const struct plot *plot) {
  struct box taken = draw_extreme(plot, plot->summary.max_at, NULL);
  if (plot->summary.min < plot->summary.max) draw_extreme(plot, plot->summary.min_at, &taken);
}

/// Large where it fits, else small, else cut.
static void draw_title(const struct plot *plot) {
  struct text text = {0};
  text_bytes(&text, plot->chart->title, plot->chart->title_length);
  struct label label = {text.bytes, text.length, 2 * plot->unit, TITLE, false};
  int left = 12 * plot->unit, room = plot->canvas->width - 2 * left;
  if (label_width(&label) > room) label.scale = plot->unit;
  while (label_width(&label) > room) {
    do text.length--;
    while (text.length && (text.bytes[text.length] & 0xC0) == 0x80);
    size_t kept = text.length;
    text_add(&text, "...");
    label.bytes = text.bytes;
    label.length = text.length;
    text.length = kept;
  }
  canvas_label(plot->canvas, &label, left, 20 * plot->unit - FONT_ASCENT * label.scale / 2);
}

void chart_draw(struct canvas *canvas, const struct chart *chart) {
  struct plot plot = lay_out(canvas, chart);
  draw_grid(&plot);
  if (!chart->bars) draw_area(&plot);
  draw_axes(&plot);
  draw_positions(&plot);
  if (chart->bars) draw_bars(&plot);
  else draw_line(&plot);
  draw_extremes(&plot);
  draw_title(&plot);
}
