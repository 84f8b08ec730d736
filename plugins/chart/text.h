// Growing strings in the arena, and what is written into them.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Start with {0}. Not NUL-terminated.
struct text {
  char *bytes;
  size_t length, capacity;
};

void text_byte(struct text *text, uint8_t byte);
void text_bytes(struct text *text, const void *bytes, size_t length);
void text_add(struct text *text, const char *string);

/// At most `digits` (1 to 15) significant ones; 1.5e+12 for the very large and
/// the very small.
void text_number(struct text *text, double value, int digits);

/// Exactly `decimals` (0 to 9) of them; |value| below 1e9.
void text_fixed(struct text *text, double value, int decimals);

/// A JSON string with its quotes. The bytes must be UTF-8.
void text_json_string(struct text *text, const char *bytes, size_t length);

void text_utf8(struct text *text, uint32_t code_point);
void text_base64(struct text *text, const char *bytes, size_t length);

/// The code point at *at, which moves behind it; U+FFFD and one byte further
/// where the bytes are not UTF-8.
uint32_t utf8_next(const char **at, const char *end);
