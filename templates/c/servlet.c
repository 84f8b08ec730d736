#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) int32_t name(void)
#define EXTISM(name) __attribute__((import_module("extism:host/env"), import_name(#name)))

EXTISM(input_length) uint64_t input_length(void);
EXTISM(input_load_u8) uint32_t input_load_u8(uint64_t offset);
EXTISM(alloc) uint64_t extism_alloc(uint64_t length);
EXTISM(store_u8) void store_u8(uint64_t offset, uint32_t byte);
EXTISM(output_set) void output_set(uint64_t offset, uint64_t length);

static int32_t output(const char *json, size_t length) {
  uint64_t block = extism_alloc(length);
  for (size_t at = 0; at < length; at++) store_u8(block + at, (uint8_t)json[at]);
  output_set(block, length);
  return 0;
}

EXPORT(list_tools) {
  static const char TOOLS[] = {
#embed "tools.json"
  };
  return output(TOOLS, sizeof TOOLS);
}

typedef struct {
  const char *from;
  size_t length;
} Slice;

// The end of a JSON value. The host writes JSON without spaces.
static const char *end_of(const char *at) {
  int depth = 0;
  do {
    if (*at == '"') {
      for (at++; *at != '"'; at++) at += *at == '\\';
    } else if (*at == '{' || *at == '[') depth++;
    else if (*at == '}' || *at == ']') depth--;
    at++;
  } while (depth > 0 || !strchr(",:]}", *at));
  return at;
}

// A member of a JSON object, as it is written there; of length 0 if there is none.
static Slice member(Slice object, const char *key) {
  for (const char *at = object.from + 1; *at == '"';) {
    const char *name_end = end_of(at), *value = name_end + 1, *end = end_of(value);
    size_t length = (size_t)(name_end - at) - 2;
    if (strlen(key) == length && !memcmp(at + 1, key, length)) return (Slice){value, (size_t)(end - value)};
    at = end + (*end == ',');
  }
  return (Slice){"{}", 0};
}

// The arguments fit the tool's schema: the host has checked them.
EXPORT(call_tool) {
  size_t length = input_length();
  char *input = calloc(length + 1, 1), *json = malloc(length + 100);
  for (size_t at = 0; at < length; at++) input[at] = (char)input_load_u8(at);
  Slice request = member((Slice){input, length}, "request");
  Slice name = member(member(request, "arguments"), "name");
  // Between its quotes, what is escaped in the argument is escaped in the answer.
  int written = sprintf(json, "{\"content\":[{\"type\":\"text\",\"text\":\"Hello, %.*s!\"}]}",
                        (int)name.length - 2, name.from + 1);
  return output(json, (size_t)written);
}
