// echo: gives its argument `text` back as it came, for measuring what moving a megabyte costs.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

ENV("input_length") extern uint64_t input_length(void);
ENV("input_load_u8") extern uint8_t input_load_u8(uint64_t offset);
ENV("input_load_u64") extern uint64_t input_load_u64(uint64_t offset);
ENV("alloc") extern uint64_t extism_alloc(uint64_t length);
ENV("store_u8") extern void store_u8(uint64_t offset, uint8_t byte);
ENV("store_u64") extern void store_u64(uint64_t offset, uint64_t bytes);
ENV("output_set") extern void output_set(uint64_t block, uint64_t length);

static char *read_input(size_t *length) {
  *length = input_length();
  char *bytes = malloc(*length + 8);
  size_t at = 0;
  for (; at + 8 <= *length; at += 8) {
    uint64_t word = input_load_u64(at);
    memcpy(bytes + at, &word, 8);
  }
  for (; at < *length; at++) bytes[at] = (char)input_load_u8(at);
  return bytes;
}

/// Moves bytes into a block, as every plugin kit does: eight at a time.
static void put(uint64_t to, const char *bytes, size_t length) {
  size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    store_u64(to + at, word);
  }
  for (; at < length; at++) store_u8(to + at, (uint8_t)bytes[at]);
}

static int32_t give(const char *before, const char *bytes, size_t length, const char *after) {
  size_t head = strlen(before), tail = strlen(after);
  uint64_t block = extism_alloc(head + length + tail);
  put(block, before, head);
  put(block + head, bytes, length);
  put(block + head + length, after, tail);
  output_set(block, head + length + tail);
  return 0;
}

EXPORT("list_tools") int32_t list_tools(void) {
  return give(
      "{\"tools\":[{\"name\":\"echo\",\"description\":\"Gives text back\",\"inputSchema\":", "", 0,
      "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}]}");
}

EXPORT("call_tool") int32_t call_tool(void) {
  static const char key[] = "\"text\":\"";
  size_t length;
  char *input = read_input(&length);
  input[length] = 0;
  char *from = strstr(input, key);
  if (from == NULL) return 1;
  from += sizeof key - 1;
  char *to = memchr(from, '"', length);
  while (to[-1] == '\\') to = memchr(to + 1, '"', length);
  return give("{\"content\":[{\"type\":\"text\",\"text\":\"", from, (size_t)(to - from), "\"}]}");
}
