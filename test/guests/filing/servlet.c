// filing: does with files what C's library can. A tool answers with what it has read, or with the error's name.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

ENV("input_length") extern uint64_t input_length(void);
ENV("input_load_u8") extern uint8_t input_load_u8(uint64_t offset);
ENV("alloc") extern uint64_t extism_alloc(uint64_t length);
ENV("store_u8") extern void store_u8(uint64_t offset, uint8_t byte);
ENV("output_set") extern void output_set(uint64_t block, uint64_t length);

static char answer[65536];

static void output(const char *text) {
  size_t length = strlen(text);
  uint64_t block = extism_alloc(length);
  for (size_t at = 0; at < length; at++) store_u8(block + at, (uint8_t)text[at]);
  output_set(block, length);
}

/// The text of a member of the input; empty where it has none. No test has escapes in one.
static const char *member(const char *input, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":\"", name);
  const char *from = strstr(input, key);
  if (from == NULL) return "";
  from += strlen(key);
  return strndup(from, strcspn(from, "\""));
}

static void say(const char *text) { strncat(answer, text, sizeof answer - strlen(answer) - 1); }

/// Tells how a function went that gives 0 where it went well.
static void tell(int code) { say(code == 0 ? "done" : strerror(errno)); }

/// A handle that is kept from call to call, as a database is.
static FILE *kept;

/// How many lines `log` has written: in memory, what the file has too.
static int lines;

static void list(const char *path) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  if (count < 0) return tell(count);
  for (int at = 0; at < count; at++) {
    if (strcmp(entries[at]->d_name, ".") == 0 || strcmp(entries[at]->d_name, "..") == 0) continue;
    say(entries[at]->d_name);
    say(entries[at]->d_type == DT_DIR ? "/ " : " ");
  }
}

static void put(const char *path, const char *mode, const char *text) {
  FILE *file = fopen(path, mode);
  if (file == NULL) return tell(-1);
  int failed = fputs(text, file) < 0;
  tell(fclose(file) | failed);
}

static void read_all(FILE *file) {
  if (file == NULL) return tell(-1);
  char text[4096];
  size_t length;
  while ((length = fread(text, 1, sizeof text - 1, file)) > 0) {
    text[length] = 0;
    say(text);
  }
  fclose(file);
}

/// Appends a line, and says how many there are, and all of them.
static void log_line(const char *path, const char *text) {
  FILE *file = fopen(path, "a");
  if (file == NULL) return tell(-1);
  fprintf(file, "%s ", text);
  fclose(file);
  char count[32];
  snprintf(count, sizeof count, "%d ", ++lines);
  say(count);
  read_all(fopen(path, "r"));
}

/// Makes so many files more in a folder, each named by its number.
static void make_many(const char *folder, int count) {
  static int made;
  char path[256];
  for (; count > 0; count--, made++) {
    snprintf(path, sizeof path, "%s/%d", folder, made);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) return tell(-1);
    close(fd);
  }
  tell(0);
}

/// Says how many entries a folder has, one after the other.
static void count_entries(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) return tell(-1);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  snprintf(answer, sizeof answer, "%d", count);
}

/// Where the nth of these writes is, in a file of 50 MB.
static off_t place_of(int nth) { return (off_t)((uint64_t)nth * 7654321 % (50 * 1048576 - 4)); }

/// Writes numbers all over a file, or counts those of them that it has.
static void poke(const char *path, int count, int is_write) {
  int fd = open(path, is_write ? O_RDWR : O_RDONLY), right = 0;
  if (fd < 0) return tell(-1);
  for (int nth = 0; nth < count; nth++) {
    int number = nth;
    if (is_write) right += pwrite(fd, &number, sizeof number, place_of(nth)) == sizeof number;
    else right += pread(fd, &number, sizeof number, place_of(nth)) == sizeof number && number == nth;
  }
  close(fd);
  snprintf(answer, sizeof answer, "%d", right);
}

EXPORT("call_tool") int32_t call_tool(void) {
  size_t length = input_length();
  char *input = malloc(length + 1);
  for (size_t at = 0; at < length; at++) input[at] = (char)input_load_u8(at);
  input[length] = 0;
  const char *what = member(input, "what"), *path = member(input, "path");
  const char *to = member(input, "to"), *text = member(input, "text");
  answer[0] = 0;
  if (strcmp(what, "write") == 0) put(path, "w", text);
  else if (strcmp(what, "append") == 0) put(path, "a", text);
  else if (strcmp(what, "read") == 0) read_all(fopen(path, "r"));
  else if (strcmp(what, "list") == 0) list(path);
  else if (strcmp(what, "mkdir") == 0) tell(mkdir(path, 0777));
  else if (strcmp(what, "remove") == 0) tell(remove(path));
  else if (strcmp(what, "rename") == 0) tell(rename(path, to));
  else if (strcmp(what, "link") == 0) tell(link(path, to));
  else if (strcmp(what, "symlink") == 0) tell(symlink(path, to));
  else if (strcmp(what, "keep") == 0) tell((kept = fopen(path, "r")) == NULL);
  else if (strcmp(what, "next") == 0) {
    char next[2] = {(char)getc(kept), 0};
    say(next);
  } else if (strcmp(what, "many") == 0) make_many(path, atoi(text));
  else if (strcmp(what, "count") == 0) count_entries(path);
  else if (strcmp(what, "poke") == 0) poke(path, atoi(text), 1);
  else if (strcmp(what, "peek") == 0) poke(path, atoi(text), 0);
  else if (strcmp(what, "log") == 0) log_line(path, text);
  else if (strcmp(what, "log_then_trap") == 0) {
    log_line(path, text);
    __builtin_trap();
  } else if (strcmp(what, "write_then_trap") == 0) {
    put(path, "w", text);
    __builtin_trap();
  } else if (strcmp(what, "fill") == 0) {
    static char block[1 << 19];
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    long left = atol(text) << 20;
    for (memset(block, 'x', sizeof block); left > 0;) {
      ssize_t written = write(fd, block, sizeof block);
      if (written < 0) break;
      left -= written;
    }
    close(fd);
    tell(left > 0 ? -1 : 0);
  }
  static char result[sizeof answer + 64];
  snprintf(result, sizeof result, "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", answer);
  output(result);
  return 0;
}

EXPORT("list_tools") int32_t list_tools(void) {
  output("{\"tools\":[{\"name\":\"do\",\"description\":\"Does something with files\",\"inputSchema\":{\"type\":\"object\"}}]}");
  return 0;
}
