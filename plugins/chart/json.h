#pragma once

#include <stdbool.h>
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/// A value in the arena. `text` is decoded UTF-8 and may hold NULs; arrays and
/// objects are the list that starts at `first`.
struct json {
  enum json_kind kind;
  bool boolean;
  double number;
  const char *text;
  size_t length;
  const char *key;
  size_t key_length;
  struct json *first, *next;
};

/// `source` must end in a NUL at source[length]. NULL when it is not JSON;
/// *stopped then is the byte where reading ended.
struct json *json_parse(const char *source, size_t length, size_t *stopped);

/// The member of that name (the last, where it stands twice); NULL where there
/// is none, where it is null, and where `object` is NULL or no object.
const struct json *json_member(const struct json *object, const char *key);

bool json_is(const struct json *string, const char *expected);

/// "a string", "an array", …
const char *json_kind_name(const struct json *value);
