#pragma once

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/// Appends `bytes` as a zlib stream (RFC 1950): one block of deflate with the
/// fixed Huffman codes.
void zlib_write(struct text *out, const uint8_t *bytes, size_t length);
