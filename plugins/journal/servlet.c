// journal: an append-only journal in a file, an entry a line: its number, its time, and its text as JSON has it,
// without the quotes. So a line has no line end in it, and an answer is made of lines as they are.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "words.h"

#define EXPORT(name) __attribute__((export_name(#name))) int32_t name(void)
#define EXTISM(name) __attribute__((import_module("extism:host/env"), import_name(#name)))

EXTISM(input_length) uint64_t input_length(void);
EXTISM(input_load_u8) uint32_t input_load_u8(uint64_t offset);
EXTISM(alloc) uint64_t extism_alloc(uint64_t length);
EXTISM(store_u8) void store_u8(uint64_t offset, uint32_t byte);
EXTISM(output_set) void output_set(uint64_t offset, uint64_t length);

enum { MOST_SHOWN = 100, SHOWN = 20, MOST_BYTES = 16 << 20, MOST_ANSWERED = 1 << 20 };

static const char FILE_NAME[] = "/journal/journal.txt";

// How many entries there are: memory lasts, as the file does. -1 in a new memory, which has to count them.
static long entries = -1;

static int32_t output(const char *json, size_t length) {
  uint64_t block = extism_alloc(length);
  for (size_t i = 0; i < length; i++) store_u8(block + i, (uint8_t)json[i]);
  output_set(block, length);
  return 0;
}

EXPORT(list_tools) {
  static const char TOOLS[] = {
#embed "describe.json"
  };
  return output(TOOLS, sizeof TOOLS);
}

// The end of a value; the host writes JSON without spaces.
static const char *skip(const char *at) {
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

typedef struct {
  const char *from;
  size_t length;
} Slice;

// A member of an object, without the quotes of a string; empty where it has none.
static Slice member(const char *object, const char *key) {
  for (const char *at = object + (*object == '{'); *at == '"';) {
    const char *name_end = skip(at), *value = name_end + 1, *end = skip(value);
    size_t length = (size_t)(name_end - at) - 2;
    if (strlen(key) == length && !memcmp(at + 1, key, length)) {
      int quote = *value == '"';
      return (Slice){value + quote, (size_t)(end - value) - 2 * quote};
    }
    at = end + (*end == ',');
  }
  return (Slice){"", 0};
}

static long number(const char *object, const char *key, long otherwise) {
  Slice given = member(object, key);
  return given.length ? strtol(given.from, NULL, 10) : otherwise;
}

// The answer's text, as JSON.
static char *answer;
static size_t answered;

static void say(const char *text, size_t length) {
  memcpy(answer + answered, text, length);
  answered += length;
}

static int32_t answer_with(const char *before, bool is_error) {
  char *json;
  int length = asprintf(&json, "{\"content\":[{\"type\":\"text\",\"text\":\"%s%.*s\"}],\"isError\":%s}",
                        before, (int)answered, answer ? answer : "", is_error ? "true" : "false");
  output(json, (size_t)length);
  free(json);
  return 0;
}

// An entry as people read it: its number and time, a line end, and its text. False where there is no room for it.
static bool say_entry(const char *line, size_t length) {
  if (answered + length + 8 > MOST_ANSWERED) return false;
  const char *text = strchr(strchr(line, ' ') + 1, ' ');
  say("#", 1);
  say(line, (size_t)(text - line));
  say("\\n", 2);
  say(text + 1, length - (size_t)(text + 1 - line));
  say("\\n\\n", 4);
  return true;
}

static FILE *open_journal(void) {
  FILE *file = fopen(FILE_NAME, "r");
  if (file) setvbuf(file, NULL, _IOFBF, 1 << 16);
  return file;
}

static char *line;

// Reads the next line of a file, without its end; its length, which is 0 where there is none.
static size_t next_line(FILE *file) {
  static size_t room;
  ssize_t length = getline(&line, &room, file);
  if (length <= 0) return 0;
  line[--length] = 0;
  return (size_t)length;
}

static void count_entries(void) {
  FILE *file = open_journal();
  for (entries = 0; file && next_line(file);) entries++;
  if (file) fclose(file);
}

static int32_t write_entry(const char *given) {
  Slice text = member(given, "text");
  if (entries < 0) count_entries();
  FILE *file = fopen(FILE_NAME, "a");
  if (!file) return answer_with("The journal cannot be opened.", true);
  fseek(file, 0, SEEK_END);
  if (ftell(file) + (long)text.length > MOST_BYTES) {
    fclose(file);
    return answer_with("The journal is full.", true);
  }
  char when[32];
  time_t now = time(NULL);
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  bool failed = fprintf(file, "%ld %s %.*s\n", entries + 1, when, (int)text.length, text.from) < 0;
  // Where it fails, the call traps: then nothing of it stays, neither half an entry nor the count.
  if (fclose(file) || failed) __builtin_trap();
  char said[64];
  snprintf(said, sizeof said, "Entry %ld, %s", ++entries, when);
  return answer_with(said, false);
}

static int32_t search(const char *given) {
  Slice since = member(given, "since"), until = member(given, "until");
  Slice words = member(given, "query");
  Query query = query_of(words.from, words.length);
  long limit = number(given, "limit", SHOWN), found = 0;
  // Where the last entries that were found are, in turn.
  struct { long at; size_t length; } last[MOST_SHOWN];
  FILE *file = open_journal();
  long at = 0;
  for (size_t length; file && (length = next_line(file)); at += (long)length + 1) {
    const char *when = strchr(line, ' ') + 1;
    if (since.length && strncmp(when, since.from, since.length) < 0) continue;
    if (until.length && strncmp(when, until.from, until.length) > 0) continue;
    const char *text = strchr(when, ' ') + 1;
    if (!has_all(&query, text, length - (size_t)(text - line))) continue;
    last[found % limit].at = at;
    last[found++ % limit].length = length;
  }
  char said[96];
  long shown = 0;
  for (; shown < limit && shown < found; shown++) {
    fseek(file, last[(found - 1 - shown) % limit].at, SEEK_SET);
    if (!say_entry(line, next_line(file))) break;
  }
  if (file) fclose(file);
  free_query(&query);
  snprintf(said, sizeof said, "%ld found%s\\n\\n", found, shown < found ? ", the newest of them:" : "");
  return answer_with(said, false);
}

static int32_t read_entries(const char *given) {
  long from = number(given, "from", 1), left = number(given, "limit", SHOWN);
  FILE *file = open_journal();
  long nth = 0;
  for (size_t length; file && left && (length = next_line(file));) {
    if (++nth < from) continue;
    if (!say_entry(line, length)) break;
    left--;
  }
  if (file) fclose(file);
  return answer_with(answered ? "" : "There is no such entry.", false);
}

EXPORT(call_tool) {
  static char *input;
  free(input);
  input = calloc(input_length() + 1, 1);
  for (uint64_t i = 0; i < input_length(); i++) input[i] = (char)input_load_u8(i);
  free(answer);
  answer = malloc(MOST_ANSWERED);
  answered = 0;
  const char *request = member(input, "request").from;
  const char *given = member(request, "arguments").from, *name = member(request, "name").from;
  if (*name == 'w') return write_entry(given);
  return *name == 's' ? search(given) : read_entries(given);
}
