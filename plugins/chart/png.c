#include "png.h"

#include <string.h>

#include "arena.h"
#include "deflate.h"

static void add_u32(struct text *out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text_byte(out, (uint8_t)(value >> shift));
}

static uint32_t crc32(const char *bytes, size_t length) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < length; i++) {
    crc ^= (uint8_t)bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

/// The checksum covers the type and the data, not the length.
static void add_chunk(struct text *out, const char *type, const struct text *data) {
  add_u32(out, (uint32_t)data->length);
  size_t checked = out->length;
  text_add(out, type);
  text_bytes(out, data->bytes, data->length);
  add_u32(out, crc32(out->bytes + checked, out->length - checked));
}

static struct text header(const struct png *image) {
  struct text out = {0};
  add_u32(&out, (uint32_t)image->width);
  add_u32(&out, (uint32_t)image->height);
  text_bytes(&out, "\x08\x03\0\0\0", 5);  // eight bits, palette, not interlaced
  return out;
}

/// Every row begins with its filter: 0, none.
static struct text rows(const struct png *image) {
  size_t width = (size_t)image->width, height = (size_t)image->height;
  uint8_t *bytes = arena_alloc((width + 1) * height);
  for (size_t y = 0; y < height; y++)
    memcpy(bytes + y * (width + 1) + 1, image->pixels + y * width, width);
  struct text out = {0};
  zlib_write(&out, bytes, (width + 1) * height);
  return out;
}

void png_write(struct text *out, const struct png *image) {
  struct text ihdr = header(image), plte = {0}, idat = rows(image), iend = {0};
  text_bytes(&plte, image->palette, 3 * (size_t)image->colours);
  text_bytes(out, "\x89PNG\r\n\x1a\n", 8);
  add_chunk(out, "IHDR", &ihdr);
  add_chunk(out, "PLTE", &plte);
  add_chunk(out, "IDAT", &idat);
  add_chunk(out, "IEND", &iend);
}
