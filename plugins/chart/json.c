#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "text.h"

enum { DEEPEST = 64 };

struct reader {
  const char *at, *end;
  int depth;
};

static struct json *read_value(struct reader *in);

static void skip_space(struct reader *in) {
  while (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t') in->at++;
}

/// The NUL behind the source stops this one and every other look ahead.
static bool take(struct reader *in, const char *expected) {
  size_t length = strlen(expected);
  if (strncmp(in->at, expected, length) != 0) return false;
  in->at += length;
  return true;
}

static bool read_hex(struct reader *in, uint32_t *unit) {
  *unit = 0;
  for (int i = 0; i < 4; i++, in->at++) {
    char c = *in->at;
    if (c >= '0' && c <= '9') *unit = *unit << 4 | (uint32_t)(c - '0');
    else if ((c | 32) >= 'a' && (c | 32) <= 'f') *unit = *unit << 4 | (uint32_t)((c | 32) - 'a' + 10);
    else return false;
  }
  return true;
}

/// Behind "\u". Half a surrogate pair becomes U+FFFD.
static bool read_code_point(struct reader *in, uint32_t *code_point) {
  if (!read_hex(in, code_point)) return false;
  if (*code_point < 0xD800 || *code_point >= 0xE000) return true;
  const char *after_high = in->at;
  uint32_t low;
  if (*code_point < 0xDC00 && take(in, "\\u")) {
    if (!read_hex(in, &low)) return false;
    if (low >= 0xDC00 && low < 0xE000) {
      *code_point = 0x10000 + ((*code_point - 0xD800) << 10) + (low - 0xDC00);
      return true;
    }
  }
  in->at = after_high;
  *code_point = 0xFFFD;
  return true;
}

static bool read_string(struct reader *in, const char **bytes, size_t *length) {
  static const char NAMES[] = "\"\\/bfnrt", MEANINGS[] = "\"\\/\b\f\n\r\t";
  struct text out = {0};
  if (!take(in, "\"")) return false;
  while (in->at < in->end && *in->at != '"') {
    if ((uint8_t)*in->at < ' ') return false;
    if (!take(in, "\\")) {
      text_utf8(&out, utf8_next(&in->at, in->end));
      continue;
    }
    uint32_t code_point;
    const char *name = *in->at ? strchr(NAMES, *in->at) : NULL;
    if (name) {
      in->at++;
      text_byte(&out, (uint8_t)MEANINGS[name - NAMES]);
    } else if (take(in, "u")) {
      if (!read_code_point(in, &code_point)) return false;
      text_utf8(&out, code_point);
    } else {
      return false;
    }
  }
  *bytes = out.bytes;
  *length = out.length;
  return take(in, "\"");
}

static bool skip_digits(struct reader *in) {
  const char *start = in->at;
  while (*in->at >= '0' && *in->at <= '9') in->at++;
  return in->at > start;
}

/// strtod takes more than JSON allows, so the grammar is checked first.
static bool read_number(struct reader *in, double *number) {
  const char *start = in->at;
  take(in, "-");
  if (!take(in, "0") && !skip_digits(in)) return false;
  if (take(in, ".") && !skip_digits(in)) return false;
  if (take(in, "e") || take(in, "E")) {
    if (!take(in, "+")) take(in, "-");
    if (!skip_digits(in)) return false;
  }
  *number = strtod(start, NULL);
  return true;
}

/// Members of an object or items of an array, behind the opening bracket.
static bool read_list(struct reader *in, struct json *list, const char *close) {
  struct json **tail = &list->first;
  skip_space(in);
  if (take(in, close)) return true;
  do {
    const char *key = NULL;
    size_t key_length = 0;
    if (list->kind == JSON_OBJECT) {
      skip_space(in);
      if (!read_string(in, &key, &key_length)) return false;
      skip_space(in);
      if (!take(in, ":")) return false;
    }
    struct json *value = read_value(in);
    if (!value) return false;
    value->key = key;
    value->key_length = key_length;
    *tail = value;
    tail = &value->next;
    skip_space(in);
  } while (take(in, ","));
  return take(in, close);
}

static bool read_into(struct reader *in, struct json *value) {
  if (take(in, "null")) return true;
  if (take(in, "{")) return value->kind = JSON_OBJECT, read_list(in, value, "}");
  if (take(in, "[")) return value->kind = JSON_ARRAY, read_list(in, value, "]");
  if (*in->at == '"') return value->kind = JSON_STRING, read_string(in, &value->text, &value->length);
  value->kind = JSON_BOOLEAN;
  if (take(in, "false")) return true;
  if (take(in, "true")) return value->boolean = true;
  value->kind = JSON_NUMBER;
  return read_number(in, &value->number);
}

static struct json *read_value(struct reader *in) {
  if (in->depth == DEEPEST) return NULL;
  struct json *value = arena_alloc(sizeof *value);
  in->depth++;
  skip_space(in);
  bool good = read_into(in, value);
  in->depth--;
  return good ? value : NULL;
}

struct json *json_parse(const char *source, size_t length, size_t *stopped) {
  struct reader in = {source, source + length, 0};
  struct json *value = read_value(&in);
  skip_space(&in);
  *stopped = (size_t)(in.at - source);
  return in.at == in.end ? value : NULL;
}

static bool same(const char *bytes, size_t length, const char *expected) {
  return length == strlen(expected) && memcmp(bytes, expected, length) == 0;
}

const struct json *json_member(const struct json *object, const char *key) {
  const struct json *found = NULL;
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (const struct json *member = object->first; member; member = member->next)
    if (same(member->key, member->key_length, key)) found = member;
  return found && found->kind != JSON_NULL ? found : NULL;
}

bool json_is(const struct json *string, const char *expected) {
  return string->kind == JSON_STRING && same(string->text, string->length, expected);
}

const char *json_kind_name(const struct json *value) {
  static const char *const NAMES[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
  return NAMES[value->kind];
}
