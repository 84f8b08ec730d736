#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "canvas.h"

struct chart {
  const double *values;
  int count;
  bool bars;
  /// UTF-8; empty for none.
  const char *title;
  size_t title_length;
};

struct summary {
  double min, max, mean;
  /// Index of the first of them.
  int min_at, max_at;
};

struct summary chart_summary(const struct chart *chart);

/// Fills a fresh canvas.
void chart_draw(struct canvas *canvas, const struct chart *chart);
