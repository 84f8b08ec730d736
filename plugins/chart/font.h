// A proportional bitmap font, 5 by 9 at scale 1 (two rows below the baseline).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FONT_ASCENT = 7, FONT_HEIGHT = 9 };

/// What is drawn for a code point: itself where it is ASCII, the plain letter
/// for an accented Latin one, else '?'.
char font_letter(uint32_t code_point);

/// Width of the letter and of the gap behind it.
int font_advance(char letter, int scale);

/// Whether the pixel is set. `scale` is 1, 2 or 4; the larger ones are smoothed.
bool font_pixel(char letter, int x, int y, int scale);
