// The part of Extism's host interface that a servlet without configuration
// needs. Offsets and lengths are in the host's memory, not in ours.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define EXTISM(name) \
  __attribute__((import_module("extism:host/env"), import_name(#name)))

EXTISM(alloc) uint64_t extism_alloc(uint64_t length);
EXTISM(input_length) uint64_t extism_input_length(void);
EXTISM(input_load_u8) uint32_t extism_input_load_u8(uint64_t offset);
EXTISM(input_load_u64) uint64_t extism_input_load_u64(uint64_t offset);
EXTISM(store_u8) void extism_store_u8(uint64_t offset, uint32_t byte);
EXTISM(store_u64) void extism_store_u64(uint64_t offset, uint64_t bytes);
EXTISM(output_set) void extism_output_set(uint64_t offset, uint64_t length);
EXTISM(error_set) void extism_error_set(uint64_t offset);

/// The input in the arena, with a NUL behind its last byte.
static inline char *extism_input(size_t *length) {
  size_t total = *length = (size_t)extism_input_length();
  char *bytes = arena_alloc(total + 1);
  size_t i = 0;
  for (; i + 8 <= total; i += 8) {
    uint64_t word = extism_input_load_u64(i);
    memcpy(bytes + i, &word, 8);
  }
  for (; i < total; i++) bytes[i] = (char)extism_input_load_u8(i);
  return bytes;
}

static inline uint64_t extism_copy(const char *bytes, size_t length) {
  uint64_t block = extism_alloc(length);
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    extism_store_u64(block + i, word);
  }
  for (; i < length; i++) extism_store_u8(block + i, (uint8_t)bytes[i]);
  return block;
}

/// Both return what the export then returns.
static inline int32_t extism_output(const char *bytes, size_t length) {
  extism_output_set(extism_copy(bytes, length), length);
  return 0;
}

static inline int32_t extism_fail(const char *message, size_t length) {
  extism_error_set(extism_copy(message, length));
  return 1;
}
