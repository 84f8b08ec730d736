// A picture of flat colours (the paint) under one translucent ink.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum paint { PAPER, GRID, AXIS, LABEL, TITLE, FILL, FILL_GRID, PAINTS };

enum { INK_LEVELS = 16, PALETTE_SIZE = 8 * INK_LEVELS };

/// A pixel is its paint in the low three bits and its ink above them.
struct canvas {
  int width, height;
  uint8_t *pixels;
};

struct point {
  double x, y;
};

struct box {
  double left, top, right, bottom;
};

void canvas_init(struct canvas *canvas, int width, int height);

/// RGB triples for every value that a pixel can have.
void canvas_palette(uint8_t palette[3 * PALETTE_SIZE]);

void canvas_paint(struct canvas *canvas, struct box box, enum paint paint);

/// Paints FILL without hiding the grid. From y1 to y2, in either order.
void canvas_fill_column(struct canvas *canvas, int x, double y1, double y2);

/// Ink, with soft edges.
void canvas_bar(struct canvas *canvas, struct box box);
void canvas_line(struct canvas *canvas, struct point from, struct point to, double thickness);
void canvas_dot(struct canvas *canvas, struct point centre, double radius);
void canvas_ring(struct canvas *canvas, struct point centre, double radius);

/// Text in UTF-8, at a scale of the font (1, 2 or 4).
struct label {
  const char *bytes;
  size_t length;
  int scale;
  enum paint paint;
  /// Keeps a rim of paper around the letters.
  bool halo;
};

int label_width(const struct label *label);
void canvas_label(struct canvas *canvas, const struct label *label, int left, int top);
