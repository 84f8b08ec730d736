#include "canvas.h"

#include <math.h>
#include <string.h>

#include "arena.h"
#include "font.h"
#include "text.h"

static const uint8_t INK_COLOUR[3] = {0x25, 0x63, 0xEB};

static const uint8_t PAINT_COLOURS[PAINTS][3] = {
    [PAPER] = {0xFF, 0xFF, 0xFF}, [GRID] = {0xE5, 0xE7, 0xEB},
    [AXIS] = {0x9C, 0xA3, 0xAF},  [LABEL] = {0x4B, 0x55, 0x63},
    [TITLE] = {0x11, 0x18, 0x27}, [FILL] = {0xE9, 0xF0, 0xFE},
    [FILL_GRID] = {0xD3, 0xDF, 0xF6},
};

void canvas_init(struct canvas *canvas, int width, int height) {
  *canvas = (struct canvas){width, height, arena_alloc((size_t)width * (size_t)height)};
}

void canvas_palette(uint8_t palette[3 * PALETTE_SIZE]) {
  for (int i = 0; i < PALETTE_SIZE; i++) {
    const uint8_t *paint = PAINT_COLOURS[(i & 7) < PAINTS ? i & 7 : PAPER];
    int ink = i >> 3, most = INK_LEVELS - 1;
    for (int c = 0; c < 3; c++)
      palette[3 * i + c] = (uint8_t)((paint[c] * (most - ink) + INK_COLOUR[c] * ink + most / 2) / most);
  }
}

static uint8_t *pixel_at(struct canvas *canvas, int x, int y) {
  bool inside = x >= 0 && x < canvas->width && y >= 0 && y < canvas->height;
  return inside ? &canvas->pixels[y * canvas->width + x] : NULL;
}

static double clamp01(double value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

/// Ink of overlapping strokes does not add up: the densest one shows.
static void ink(struct canvas *canvas, int x, int y, double coverage) {
  uint8_t *pixel = pixel_at(canvas, x, y);
  int level = (int)(coverage * (INK_LEVELS - 1) + 0.5);
  if (pixel && level > *pixel >> 3) *pixel = (uint8_t)((*pixel & 7) | level << 3);
}

void canvas_paint(struct canvas *canvas, struct box box, enum paint paint) {
  for (int y = (int)box.top; y < (int)box.bottom; y++)
    for (int x = (int)box.left; x < (int)box.right; x++) {
      uint8_t *pixel = pixel_at(canvas, x, y);
      if (pixel) *pixel = (uint8_t)paint;
    }
}

void canvas_fill_column(struct canvas *canvas, int x, double y1, double y2) {
  int bottom = (int)floor(fmax(y1, y2) + 0.5);
  for (int y = (int)floor(fmin(y1, y2) + 0.5); y < bottom; y++) {
    uint8_t *pixel = pixel_at(canvas, x, y);
    if (pixel && *pixel == PAPER) *pixel = FILL;
    if (pixel && *pixel == GRID) *pixel = FILL_GRID;
  }
}

/// How much of the pixel from `at` to `at + 1` lies between the two edges.
static double overlap(int at, double low, double high) {
  return clamp01(fmin(high, at + 1) - fmax(low, at));
}

void canvas_bar(struct canvas *canvas, struct box box) {
  for (int y = (int)floor(box.top); y < box.bottom; y++)
    for (int x = (int)floor(box.left); x < box.right; x++)
      ink(canvas, x, y, overlap(x, box.left, box.right) * overlap(y, box.top, box.bottom));
}

static double distance_to_segment(struct point p, struct point a, struct point b) {
  double dx = b.x - a.x, dy = b.y - a.y, squared = dx * dx + dy * dy;
  double along = squared > 0 ? clamp01(((p.x - a.x) * dx + (p.y - a.y) * dy) / squared) : 0;
  double x = p.x - a.x - along * dx, y = p.y - a.y - along * dy;
  return sqrt(x * x + y * y);
}

void canvas_line(struct canvas *canvas, struct point from, struct point to, double thickness) {
  double reach = thickness / 2 + 0.5;
  int right = (int)ceil(fmax(from.x, to.x) + reach), bottom = (int)ceil(fmax(from.y, to.y) + reach);
  for (int y = (int)floor(fmin(from.y, to.y) - reach); y < bottom; y++)
    for (int x = (int)floor(fmin(from.x, to.x) - reach); x < right; x++)
      ink(canvas, x, y, clamp01(reach - distance_to_segment((struct point){x + 0.5, y + 0.5}, from, to)));
}

void canvas_dot(struct canvas *canvas, struct point centre, double radius) {
  canvas_line(canvas, centre, centre, 2 * radius);
}

void canvas_ring(struct canvas *canvas, struct point centre, double radius) {
  double hole = radius * 0.5;
  canvas_dot(canvas, centre, radius);
  for (int y = (int)floor(centre.y - hole); y <= centre.y + hole; y++)
    for (int x = (int)floor(centre.x - hole); x <= centre.x + hole; x++) {
      double distance = distance_to_segment((struct point){x + 0.5, y + 0.5}, centre, centre);
      double coverage = 1 - clamp01(hole + 0.5 - distance);
      uint8_t *pixel = pixel_at(canvas, x, y);
      if (pixel && coverage < 1) *pixel = PAPER;
      ink(canvas, x, y, coverage);
    }
}

int label_width(const struct label *label) {
  const char *at = label->bytes, *end = at + label->length;
  int width = 0;
  while (at < end) width += font_advance(font_letter(utf8_next(&at, end)), label->scale);
  return width ? width - label->scale : 0;
}

/// The letters grown by `rim` pixels on every side.
static void stamp(struct canvas *canvas, const struct label *label, struct box at, int rim) {
  const char *next = label->bytes, *end = next + label->length;
  enum paint paint = rim ? PAPER : label->paint;
  int left = (int)at.left, top = (int)at.top;
  while (next < end) {
    char letter = font_letter(utf8_next(&next, end));
    int advance = font_advance(letter, label->scale);
    for (int y = 0; y < FONT_HEIGHT * label->scale; y++)
      for (int x = 0; x < advance; x++)
        if (font_pixel(letter, x, y, label->scale)) {
          struct box grown = {left + x - rim, top + y - rim, left + x + 1 + rim, top + y + 1 + rim};
          canvas_paint(canvas, grown, paint);
        }
    left += advance;
  }
}

void canvas_label(struct canvas *canvas, const struct label *label, int left, int top) {
  struct box at = {left, top, 0, 0};
  if (label->halo) stamp(canvas, label, at, 2 * label->scale);
  stamp(canvas, label, at, 0);
}
