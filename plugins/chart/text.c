#include "text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "arena.h"

void text_bytes(struct text *text, const void *bytes, size_t length) {
  if (!length) return;
  if (text->length + length > text->capacity) {
    size_t capacity = 2 * (text->length + length) + 64;
    char *grown = arena_alloc(capacity);
    if (text->length) memcpy(grown, text->bytes, text->length);
    text->bytes = grown;
    text->capacity = capacity;
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

void text_byte(struct text *text, uint8_t byte) {
  text_bytes(text, &byte, 1);
}

void text_add(struct text *text, const char *string) {
  text_bytes(text, string, strlen(string));
}

static void add_integer(struct text *text, uint64_t value, int least_digits) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) || count < least_digits);
  while (count) text_byte(text, (uint8_t)digits[--count]);
}

static double power_of_ten(int exponent) {
  double power = 1;
  for (; exponent > 0; exponent--) power *= 10;
  return power;
}

/// Two steps, because 1e308 is the last power that a double holds.
static double scale(double value, int exponent) {
  if (exponent > 300) return value * 1e300 * power_of_ten(exponent - 300);
  if (exponent >= 0) return value * power_of_ten(exponent);
  return value / power_of_ten(-exponent);
}

void text_fixed(struct text *text, double value, int decimals) {
  uint64_t unit = (uint64_t)power_of_ten(decimals);
  uint64_t scaled = (uint64_t)floor(fabs(value) * (double)unit + 0.5);
  if (value < 0 && scaled) text_byte(text, '-');
  add_integer(text, scaled / unit, 1);
  if (decimals) {
    text_byte(text, '.');
    add_integer(text, scaled % unit, decimals);
  }
}

/// The exponent of the first digit: 2 for 345.
static int exponent_of(double value) {
  int exponent = 0;
  for (; value >= 10 && exponent < 308; exponent++) value /= 10;
  for (; value < 1 && exponent > -308; exponent--) value *= 10;
  return exponent;
}

void text_number(struct text *text, double value, int digits) {
  if (value < 0) text_byte(text, '-');
  value = fabs(value);
  if (value == 0) {
    text_byte(text, '0');
    return;
  }
  int exponent = exponent_of(value);
  uint64_t all = (uint64_t)floor(scale(value, digits - 1 - exponent) + 0.5);
  if (all >= (uint64_t)power_of_ten(digits)) {
    all /= 10;
    exponent++;
  }
  while (digits > 1 && all % 10 == 0) {
    all /= 10;
    digits--;
  }
  bool plain = exponent >= -5 && exponent < 12;
  int before_point = plain ? exponent : 0;
  if (before_point < 0) {
    text_add(text, "0.");
    for (int i = -1; i > before_point; i--) text_byte(text, '0');
    add_integer(text, all, digits);
  } else if (before_point >= digits - 1) {
    add_integer(text, all, digits);
    for (int i = digits; i <= before_point; i++) text_byte(text, '0');
  } else {
    int decimals = digits - 1 - before_point;
    uint64_t unit = (uint64_t)power_of_ten(decimals);
    add_integer(text, all / unit, 1);
    text_byte(text, '.');
    add_integer(text, all % unit, decimals);
  }
  if (!plain) {
    text_add(text, exponent < 0 ? "e-" : "e+");
    add_integer(text, (uint64_t)(exponent < 0 ? -exponent : exponent), 1);
  }
}

void text_json_string(struct text *text, const char *bytes, size_t length) {
  static const char HEX[] = "0123456789abcdef";
  text_byte(text, '"');
  for (size_t i = 0; i < length; i++) {
    uint8_t byte = (uint8_t)bytes[i];
    if (byte == '\n') {
      text_add(text, "\\n");
    } else if (byte < ' ') {
      text_add(text, "\\u00");
      text_byte(text, (uint8_t)HEX[byte >> 4]);
      text_byte(text, (uint8_t)HEX[byte & 15]);
    } else {
      if (byte == '"' || byte == '\\') text_byte(text, '\\');
      text_byte(text, byte);
    }
  }
  text_byte(text, '"');
}

void text_utf8(struct text *text, uint32_t code_point) {
  static const uint8_t LEAD[] = {0, 0xC0, 0xE0, 0xF0};
  int more = (code_point >= 0x80) + (code_point >= 0x800) + (code_point >= 0x10000);
  text_byte(text, (uint8_t)(LEAD[more] | code_point >> 6 * more));
  while (more--) text_byte(text, (uint8_t)(0x80 | (code_point >> 6 * more & 0x3F)));
}

uint32_t utf8_next(const char **at, const char *end) {
  static const uint32_t LEAST[] = {0, 0x80, 0x800, 0x10000};
  const uint32_t BROKEN = 0xFFFD;
  uint8_t lead = (uint8_t) * (*at)++;
  if (lead < 0x80) return lead;
  int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || end - *at < more) return BROKEN;
  uint32_t code_point = lead & (0x3Fu >> more);
  for (int i = 0; i < more; i++) {
    uint8_t byte = (uint8_t)(*at)[i];
    if ((byte & 0xC0) != 0x80) return BROKEN;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < LEAST[more] || code_point > 0x10FFFF || surrogate) return BROKEN;
  *at += more;
  return code_point;
}

void text_base64(struct text *text, const char *bytes, size_t length) {
  static const char ALPHABET[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < length; i += 3) {
    size_t here = length - i < 3 ? length - i : 3;
    uint32_t group = 0;
    for (size_t k = 0; k < 3; k++) group = group << 8 | (k < here ? (uint8_t)bytes[i + k] : 0);
    for (size_t k = 0; k < 4; k++)
      text_byte(text, (uint8_t)(k <= here ? ALPHABET[group >> (18 - 6 * k) & 63] : '='));
  }
}
