#include "words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

// One code point of UTF-8, which the host has checked.
static uint32_t decode(const unsigned char **at) {
  uint32_t code = *(*at)++;
  int more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : code >= 0xc0 ? 1 : 0;
  if (more) code &= 0x3f >> more;
  while (more--) code = code << 6 | (*(*at)++ & 0x3f);
  return code;
}

static char *encode(uint32_t code, char *to) {
  if (code < 0x80) *to++ = (char)code;
  else {
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *to++ = (char)(0xf00 >> (more + 1) | code >> 6 * more);
    while (more--) *to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
  }
  return to;
}

static bool is_ascii_word(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z');
}

// Chinese and Japanese characters: their words have no spaces between them, so each stands for itself.
static bool is_alone(uint32_t code) {
  return (code >= 0x3040 && code < 0xa000) || (code >= 0xf900 && code < 0xfb00) || code >= 0x20000;
}

// Writes words in lower case, with a space before each. `to` has room for twice the length.
static void fold(const char *text, size_t length, char *to) {
  const unsigned char *at = (const unsigned char *)text, *end = at + length;
  bool inside = false;
  while (at < end) {
    uint32_t code = *at;
    if (code < 0x80) {
      at++;
      if (code == '\\') at += *at == 'u' ? 5 : 1; // An escape, which is never a letter.
      if (code >= 'A' && code <= 'Z') code += 'a' - 'A';
      bool is_word = code != '\\' && is_ascii_word((unsigned char)code);
      if (is_word && !inside) *to++ = ' ';
      if (is_word) *to++ = (char)code;
      inside = is_word;
      continue;
    }
    code = decode(&at);
    bool is_accent = code >= 0x300 && code < 0x370; // It is part of the letter before.
    bool is_word = is_accent || iswalnum((wint_t)code);
    if (is_word && (!inside || is_alone(code))) *to++ = ' ';
    if (is_word) to = encode(towlower((wint_t)code), to);
    inside = is_word;
  }
  *to = 0;
}

static void add(Query *query, const char *from, size_t length) {
  char *term = malloc(2 * length + 1);
  fold(from, length, term);
  if (*term && query->count < MOST_TERMS) query->terms[query->count++] = term;
  else free(term);
}

Query query_of(const char *from, size_t length) {
  Query query = {.count = 0};
  const char *end = from + length, *begin = from;
  bool quoted = false;
  for (const char *at = from; at < end; at++) {
    bool is_quote = *at == '\\' && at[1] == '"';
    if (is_quote || (*at == ' ' && !quoted)) {
      add(&query, begin, (size_t)(at - begin));
      quoted ^= is_quote;
      begin = at + 1 + is_quote;
    }
    at += *at == '\\';
  }
  if (begin < end) add(&query, begin, (size_t)(end - begin));
  return query;
}

void free_query(Query *query) {
  while (query->count) free(query->terms[--query->count]);
}

bool has_all(const Query *query, const char *text, size_t length) {
  static char *folded;
  static size_t room;
  if (2 * length + 1 > room) folded = realloc(folded, room = 2 * length + 1);
  if (query->count) fold(text, length, folded);
  for (size_t nth = 0; nth < query->count; nth++)
    if (!strstr(folded, query->terms[nth])) return false;
  return true;
}
