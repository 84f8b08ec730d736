// factor: a servlet in C. Input and output are JSON, in the host's memory; the host has checked the arguments.
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

static int32_t answer(const char *json, size_t length) {
  uint64_t block = extism_alloc(length);
  for (size_t i = 0; i < length; i++) store_u8(block + i, (uint8_t)json[i]);
  output_set(block, length);
  return 0;
}

EXPORT(describe) {
  static const char TOOLS[] = {
#embed "describe.json"
  };
  return answer(TOOLS, sizeof TOOLS);
}

EXPORT(call) {
  char *input = calloc(input_length() + 1, 1), json[512], *out = json;
  for (uint64_t i = 0; i < input_length(); i++) input[i] = (char)input_load_u8(i);
  const char *key = strstr(input, "\"number\":");
  if (!key) return 1;
  uint64_t left = strtoull(key + strlen("\"number\":"), NULL, 10);
  out += sprintf(out, "{\"content\":[{\"type\":\"text\",\"text\":\"%llu", left);
  const char *sign = " = ";
  for (uint64_t prime = 2; left > 1; sign = " × ") {
    while (left % prime) prime = prime * prime > left ? left : prime + 1;
    out += sprintf(out, "%s%llu", sign, prime);
    left /= prime;
  }
  out += sprintf(out, "\"}]}");
  return answer(json, (size_t)(out - json));
}
