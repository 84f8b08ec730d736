#pragma once

#include <stdint.h>

#include "text.h"

struct png {
  int width, height;
  /// One byte each, row by row, below `colours`.
  const uint8_t *pixels;
  /// RGB triples.
  const uint8_t *palette;
  int colours;
};

/// Appends the file.
void png_write(struct text *out, const struct png *image);
