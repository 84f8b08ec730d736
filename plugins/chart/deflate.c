#include "deflate.h"

#include <string.h>

#include "arena.h"

enum {
  SHORTEST = 3,
  LONGEST = 258,
  WINDOW = 32768,
  HASH_SIZE = 1 << 14,
  /// Earlier places that are compared for each byte; more is slower, not much smaller.
  MOST_TRIES = 48,
  END_OF_BLOCK = 256,
  NOWHERE = -1,
};

struct bits {
  struct text *out;
  uint32_t held;
  int count;
};

static void put(struct bits *bits, uint32_t value, int count) {
  bits->held |= value << bits->count;
  bits->count += count;
  for (; bits->count >= 8; bits->count -= 8, bits->held >>= 8)
    text_byte(bits->out, (uint8_t)bits->held);
}

/// Huffman codes go in from their top bit, everything else from its lowest.
static void put_code(struct bits *bits, uint32_t code, int count) {
  while (count--) put(bits, code >> count & 1, 1);
}

/// The fixed code for a literal or a length (RFC 1951, 3.2.6).
static void put_symbol(struct bits *bits, uint32_t symbol) {
  if (symbol < 144) put_code(bits, 0x30 + symbol, 8);
  else if (symbol < 256) put_code(bits, 0x190 + symbol - 144, 9);
  else if (symbol < 280) put_code(bits, symbol - 256, 7);
  else put_code(bits, 0xC0 + symbol - 280, 8);
}

/// Lengths and distances share a pattern: ever more values to a symbol, told
/// apart by extra bits; `steps` symbols for each count of extra bits.
struct slot {
  uint32_t symbol, extra;
  int extra_bits;
};

static struct slot slot_of(uint32_t value, uint32_t steps) {
  int extra_bits = 0;
  while (value >> extra_bits >= 2 * steps) extra_bits++;
  uint32_t symbol = (value >> extra_bits) + steps * (uint32_t)extra_bits;
  return (struct slot){symbol, value & ((1u << extra_bits) - 1), extra_bits};
}

static void put_match(struct bits *bits, uint32_t length, uint32_t distance) {
  struct slot from_length = slot_of(length - SHORTEST, 4);
  if (length == LONGEST) from_length = (struct slot){28, 0, 0};
  put_symbol(bits, 257 + from_length.symbol);
  put(bits, from_length.extra, from_length.extra_bits);
  struct slot from_distance = slot_of(distance - 1, 2);
  put_code(bits, from_distance.symbol, 5);
  put(bits, from_distance.extra, from_distance.extra_bits);
}

/// For every place the last one before it with the same hash, as a chain.
struct history {
  const uint8_t *bytes;
  size_t length;
  int32_t *newest, *older;
};

static uint32_t hash_at(const uint8_t *bytes) {
  uint32_t three = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
  return three * 2654435761u >> 18;
}

static void remember(struct history *history, size_t at) {
  if (at + SHORTEST > history->length) return;
  int32_t *newest = &history->newest[hash_at(history->bytes + at)];
  history->older[at % WINDOW] = *newest;
  *newest = (int32_t)at;
}

static size_t common_length(const struct history *history, size_t earlier, size_t at) {
  size_t most = history->length - at < LONGEST ? history->length - at : LONGEST, length = 0;
  while (length < most && history->bytes[earlier + length] == history->bytes[at + length]) length++;
  return length;
}

/// The longest match for what follows `at`; 0 where there is none.
static size_t find_match(const struct history *history, size_t at, size_t *distance) {
  size_t best = SHORTEST - 1;
  if (at + SHORTEST > history->length) return 0;
  int32_t earlier = history->newest[hash_at(history->bytes + at)];
  for (int tries = 0; tries < MOST_TRIES && best < LONGEST; tries++) {
    if (earlier == NOWHERE || at - (size_t)earlier >= WINDOW) break;
    size_t length = common_length(history, (size_t)earlier, at);
    if (length > best) {
      best = length;
      *distance = at - (size_t)earlier;
    }
    earlier = history->older[earlier % WINDOW];
  }
  return best < SHORTEST ? 0 : best;
}

static uint32_t adler32(const uint8_t *bytes, size_t length) {
  uint32_t low = 1, high = 0;
  for (size_t i = 0; i < length; i++) {
    low = (low + bytes[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

void zlib_write(struct text *out, const uint8_t *bytes, size_t length) {
  struct history history = {bytes, length, arena_alloc(HASH_SIZE * 4), arena_alloc(WINDOW * 4)};
  memset(history.newest, 0xFF, HASH_SIZE * 4);
  struct bits bits = {out, 0, 0};
  text_bytes(out, "\x78\x01", 2);
  put(&bits, 1, 1);  // the last block
  put(&bits, 1, 2);  // fixed codes
  for (size_t at = 0; at < length;) {
    size_t distance = 0, match = find_match(&history, at, &distance);
    if (match) put_match(&bits, (uint32_t)match, (uint32_t)distance);
    else put_symbol(&bits, bytes[at]);
    for (size_t end = at + (match ? match : 1); at < end; at++) remember(&history, at);
  }
  put_symbol(&bits, END_OF_BLOCK);
  put(&bits, 0, 7);  // fills the last byte
  uint32_t check = adler32(bytes, length);
  for (int shift = 24; shift >= 0; shift -= 8) text_byte(out, (uint8_t)(check >> shift));
}
