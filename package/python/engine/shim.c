// Between CPython and Extism: the exports of a servlet, and `_edge`, the module through which the kit reaches the host.
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Block;
typedef struct Object Object;
typedef struct {
  const char *name;
  void *function;
  int flags;
  const char *doc;
} Method;
typedef struct {
  long head[5];
  const char *name, *doc;
  long size;
  Method *methods;
  void *slots, *traverse, *clear, *free;
} Module;

// Of CPython's stable interface: https://docs.python.org/3/c-api/stable.html
#define PYTHON(name) __attribute__((import_module("python"), import_name(#name)))
PYTHON(__wasm_apply_data_relocs) void relocate(void);
PYTHON(_initialize) void construct(void);
PYTHON(PyInitConfig_Create) void *PyInitConfig_Create(void);
PYTHON(PyInitConfig_SetInt) int PyInitConfig_SetInt(void *, const char *, long long);
PYTHON(PyInitConfig_SetStrList) int PyInitConfig_SetStrList(void *, const char *, int, char *const *);
PYTHON(PyInitConfig_Free) void PyInitConfig_Free(void *);
PYTHON(PyInitConfig_GetError) int PyInitConfig_GetError(void *, const char **);
PYTHON(PyImport_AppendInittab) int PyImport_AppendInittab(const char *, Object *(*)(void));
PYTHON(Py_InitializeFromInitConfig) int Py_InitializeFromInitConfig(void *);
PYTHON(PyModule_Create2) Object *PyModule_Create2(Module *, int);
PYTHON(PyImport_ImportModule) Object *PyImport_ImportModule(const char *);
PYTHON(PyObject_GetAttrString) Object *PyObject_GetAttrString(Object *, const char *);
PYTHON(PyObject_CallOneArg) Object *PyObject_CallOneArg(Object *, Object *);
PYTHON(PyUnicode_FromString) Object *PyUnicode_FromString(const char *);
PYTHON(PyUnicode_AsUTF8AndSize) const char *PyUnicode_AsUTF8AndSize(Object *, int *);
PYTHON(PyBytes_FromStringAndSize) Object *PyBytes_FromStringAndSize(const char *, int);
PYTHON(PyBytes_AsStringAndSize) int PyBytes_AsStringAndSize(Object *, char **, int *);
PYTHON(PyLong_FromLong) Object *PyLong_FromLong(long);
PYTHON(PyLong_AsLong) long PyLong_AsLong(Object *);
PYTHON(PyErr_Occurred) Object *PyErr_Occurred(void);
PYTHON(PyErr_PrintEx) void PyErr_PrintEx(int);
PYTHON(PyErr_SetString) void PyErr_SetString(Object *, const char *);
PYTHON(Py_IncRef) void Py_IncRef(Object *);
PYTHON(Py_DecRef) void Py_DecRef(Object *);
PYTHON(Py_GetConstant) Object *Py_GetConstant(unsigned);
PYTHON(PyGC_Collect) int PyGC_Collect(void);
enum { NONE = 0, FASTCALL = 0x80, API_VERSION = 1013 };

#define HOST(name) __attribute__((import_module("extism:host/env"), import_name(#name)))
HOST(alloc) Block host_alloc(Block);
HOST(free) void host_free(Block);
HOST(length) Block host_length(Block);
HOST(load_u64) Block host_load(Block);
HOST(load_u8) unsigned host_load_byte(Block);
HOST(store_u64) void host_store(Block, Block);
HOST(store_u8) void host_store_byte(Block, unsigned);
HOST(input_offset) Block host_input(void);
HOST(input_length) Block host_input_length(void);
HOST(output_set) void host_output(Block, Block);
HOST(error_set) void host_error(Block);
HOST(config_get) Block host_config(Block);
HOST(http_status_code) int host_status(void);
HOST(http_headers) Block host_headers(void);
HOST(log_trace) void host_trace(Block);
HOST(log_debug) void host_debug(Block);
HOST(log_info) void host_info(Block);
HOST(log_warn) void host_warn(Block);
HOST(log_error) void host_log_error(Block);

// Functions of the host by their kinds: one block or two in, or none; a block out, or none.
#define ONE_TO_ONE(each) each(ask_client) each(get_keyring_secret) each(get_access_token) each(call_tool) each(call_host)
#define ONE_TO_NONE(each) \
  each(notify_progress) each(notify_logging_message) each(notify_resource_updated) each(notify_url_elicitation_completed)
#define NONE_TO_NONE(each) \
  each(notify_tool_list_changed) each(notify_prompt_list_changed) each(notify_resource_list_changed) each(discard_changes) each(reset_state)
#define TWO_TO_ONE(each) each(http_fetch) each(crypto_call) each(decode_text)
#define USER(name) __attribute__((import_module("extism:host/user"), import_name(#name)))
#define DECLARE_ONE_TO_ONE(name) USER(name) Block user_##name(Block);
#define DECLARE_ONE_TO_NONE(name) USER(name) void user_##name(Block);
#define DECLARE_NONE_TO_NONE(name) USER(name) void user_##name(void);
#define DECLARE_TWO_TO_ONE(name) USER(name) Block user_##name(Block, Block);
ONE_TO_ONE(DECLARE_ONE_TO_ONE)
ONE_TO_NONE(DECLARE_ONE_TO_NONE)
NONE_TO_NONE(DECLARE_NONE_TO_NONE)
TWO_TO_ONE(DECLARE_TWO_TO_ONE)

static Object *none(void) { return Py_GetConstant(NONE); }

// Raises an exception of this kind. Exceptions are data, which this module cannot import.
static Object *refused(const char *kindName, const char *why) {
  Object *builtins = PyImport_ImportModule("builtins");
  Object *kind = builtins == 0 ? 0 : PyObject_GetAttrString(builtins, kindName);
  if (kind != 0) PyErr_SetString(kind, why);
  Py_DecRef(kind);
  Py_DecRef(builtins);
  return 0;
}

// A block of the host with these bytes.
static Block put(const char *bytes, int length) {
  Block at = host_alloc(length);
  int done = 0;
  for (Block word; done + 8 <= length; done += 8) {
    memcpy(&word, bytes + done, 8);
    host_store(at + done, word);
  }
  for (; done < length; done++) host_store_byte(at + done, (unsigned char)bytes[done]);
  return at;
}

// The bytes of a range of the host's memory, as a Python object.
static Object *taken(Block at, int length) {
  Object *made = PyBytes_FromStringAndSize(0, length);
  char *bytes;
  int same, done = 0;
  if (made == 0 || PyBytes_AsStringAndSize(made, &bytes, &same)) return 0;
  for (; done + 8 <= length; done += 8) {
    Block word = host_load(at + done);
    memcpy(bytes + done, &word, 8);
  }
  for (; done < length; done++) bytes[done] = (char)host_load_byte(at + done);
  return made;
}

// The bytes of a block, which is freed; None where there is none.
static Object *takenBlock(Block at) {
  if (at == 0) return none();
  Object *made = taken(at, (int)host_length(at));
  host_free(at);
  return made;
}

// A block with the bytes of argument `nth`; 0 with an exception where it has none.
static int argument(Object **arguments, int count, int nth, Block *block) {
  char *bytes;
  int length;
  *block = 0;
  if (nth >= count) return 0;
  if (PyBytes_AsStringAndSize(arguments[nth], &bytes, &length)) return -1;
  *block = put(bytes, length);
  return 0;
}

static Object *input(Object *self, Object **arguments, int count) {
  return taken(host_input(), (int)host_input_length());
}

static Object *output(Object *self, Object **arguments, int count) {
  Block block;
  if (argument(arguments, count, 0, &block)) return 0;
  host_output(block, host_length(block));
  return none();
}

static Object *error(Object *self, Object **arguments, int count) {
  Block block;
  if (argument(arguments, count, 0, &block)) return 0;
  host_error(block);
  return none();
}

static Object *config(Object *self, Object **arguments, int count) {
  Block block;
  if (argument(arguments, count, 0, &block)) return 0;
  Block found = host_config(block);
  host_free(block);
  return takenBlock(found);
}

static Object *status(Object *self, Object **arguments, int count) { return PyLong_FromLong(host_status()); }

static Object *headers(Object *self, Object **arguments, int count) { return takenBlock(host_headers()); }

static Object *logged(Object *self, Object **arguments, int count) {
  static void (*const levels[])(Block) = {host_trace, host_debug, host_info, host_warn, host_log_error};
  long level = count > 0 ? PyLong_AsLong(arguments[0]) : 2;
  Block block;
  if (PyErr_Occurred() || argument(arguments, count, 1, &block)) return 0;
  levels[level < 0 || level > 4 ? 2 : level](block);
  host_free(block);
  return none();
}

// call(name, data, more): runs the host function of this name.
static Object *call(Object *self, Object **arguments, int count) {
  int length;
  const char *name = count > 0 ? PyUnicode_AsUTF8AndSize(arguments[0], &length) : "";
  Block one, two, result = 0;
  if (name == 0 || argument(arguments, count, 1, &one) || argument(arguments, count, 2, &two)) return 0;
#define IS(name_) if (strcmp(name, #name_) == 0)
#define CALL_ONE_TO_ONE(name_) IS(name_) { result = user_##name_(one); } else
#define CALL_ONE_TO_NONE(name_) IS(name_) { user_##name_(one); } else
#define CALL_NONE_TO_NONE(name_) IS(name_) { user_##name_(); } else
#define CALL_TWO_TO_ONE(name_) IS(name_) { result = user_##name_(one, two); } else
  ONE_TO_ONE(CALL_ONE_TO_ONE)
  ONE_TO_NONE(CALL_ONE_TO_NONE)
  NONE_TO_NONE(CALL_NONE_TO_NONE)
  TWO_TO_ONE(CALL_TWO_TO_ONE) return refused("ValueError", "there is no host function of this name");
  if (one) host_free(one);
  if (two) host_free(two);
  return takenBlock(result);
}

static Method methods[] = {
  {"input", input, FASTCALL, "input() -> bytes"},
  {"output", output, FASTCALL, "output(data: bytes) -> None"},
  {"error", error, FASTCALL, "error(text: bytes) -> None"},
  {"config", config, FASTCALL, "config(key: bytes) -> bytes | None"},
  {"http_status", status, FASTCALL, "http_status() -> int"},
  {"http_headers", headers, FASTCALL, "http_headers() -> bytes | None"},
  {"log", logged, FASTCALL, "log(level: int, text: bytes) -> None"},
  {"call", call, FASTCALL, "call(name: str, data: bytes, more: bytes) -> bytes | None"},
  {0, 0, 0, 0},
};
static Module module = {{1, 0, 0, 0, 0}, "_edge", 0, -1, methods, 0, 0, 0, 0};

static Object *makeModule(void) { return PyModule_Create2(&module, API_VERSION); }

// The first chunk of the heap, as dlmalloc has them: its size with two bits of flags is in its second word, and the next
// one follows it.
static char *heap;
enum { CHUNK_HEAD = 8, FLAGS = 7, IS_USED = 2, LINKS = 32 };

// Makes memory zero that is not used, as that takes no room where the memory is kept.
static void scrub(void) {
  char *end = (char *)(__builtin_wasm_memory_size(0) << 16);
  for (char *chunk = heap; chunk + CHUNK_HEAD < end;) {
    unsigned head = ((unsigned *)chunk)[1], size = head & ~FLAGS;
    if (size < 16 || chunk + size > end) break;
    if (!(head & IS_USED) && size > 2 * LINKS) memset(chunk + LINKS, 0, size - LINKS);
    chunk += size;
  }
}

// Of wasi-libc: it looks for its folders anew, which are others in a call than while Python is started.
void __wasilibc_reset_preopens(void);

static int collect(void) {
  PyGC_Collect();
  __wasilibc_reset_preopens();
  scrub();
  return 0;
}

// Starts Python, once. Its modules are in /lib, where there is such a folder.
static void start(void) {
  static int isStarted;
  if (isStarted) return;
  isStarted = 1;
  heap = (char *)malloc(1) - CHUNK_HEAD;
  relocate();
  construct();
  char *const paths[] = {"/lib"};
  void *how = PyInitConfig_Create();
  static const struct { const char *name; int value; } settings[] = {
    {"use_environment", 0}, {"site_import", 0}, {"install_signal_handlers", 0}, {"write_bytecode", 0},
    {"pathconfig_warnings", 0}, {"parse_argv", 0}, {"use_hash_seed", 1}, {"hash_seed", 0},
    {"optimization_level", 0}, {"buffered_stdio", 0}, {"faulthandler", 0}, {"utf8_mode", 1},
    // Those in C are of an earlier release than the library.
    {"use_frozen_modules", 0},
  };
  for (unsigned nth = 0; nth < sizeof settings / sizeof *settings; nth++)
    if (PyInitConfig_SetInt(how, settings[nth].name, settings[nth].value)) goto failed;
  if (PyInitConfig_SetStrList(how, "module_search_paths", 1, paths)) goto failed;
  if (PyImport_AppendInittab("_edge", makeModule) || Py_InitializeFromInitConfig(how)) goto failed;
  PyInitConfig_Free(how);
  return;
failed:;
  const char *why = "";
  PyInitConfig_GetError(how, &why);
  Block text = put(why, (int)strlen(why));
  host_log_error(text);
  abort();
}

// Runs `function(argument)` of a module; gives its result as the code of the export.
static int run(const char *moduleName, const char *name, const char *argumentText) {
  static Object *function;
  static const char *known;
  if (known != name) {
    known = 0;
    Object *found = PyImport_ImportModule(moduleName);
    if (found != 0) function = PyObject_GetAttrString(found, name);
    if (found == 0 || function == 0) goto failed;
    known = name;
  }
  Object *text = PyUnicode_FromString(argumentText);
  Object *result = text == 0 ? 0 : PyObject_CallOneArg(function, text);
  if (result == 0) goto failed;
  int code = (int)PyLong_AsLong(result);
  Py_DecRef(text);
  Py_DecRef(result);
  return code;
failed:
  PyErr_PrintEx(0);
  return 1;
}

// What takes the place of functions of CPython 3.14.0 that later releases mend.
#define INSTEAD(name) instead_##name
#define ORIGINAL(name) __attribute__((import_module("python"), import_name("original " #name)))

// Formats no float with a precision near the largest int, whose length would overflow.
ORIGINAL(PyOS_double_to_string) char *originalDouble(double, int, int, int, int *);
char *INSTEAD(PyOS_double_to_string)(double value, int format, int precision, int flags, int *kind) {
  if (precision < 1 << 30) return originalDouble(value, format, precision, flags, kind);
  return (char *)refused("ValueError", "precision too large");
}

// Converts no model of an element's content that is nested too deeply. The original calls this for each part.
ORIGINAL(conv_content_model) Object *originalModel(void *);
Object *INSTEAD(conv_content_model)(void *model) {
  enum { MOST = 500 };
  static int depth;
  if (depth == MOST) return refused("RecursionError", "an element's declaration is nested too deeply");
  depth++;
  Object *made = originalModel(model);
  depth--;
  return made;
}

// Has a decompressor that fails forget the caller's input, which the caller frees. Input that it has kept itself is its own.
ORIGINAL(zlib_ZlibDecompressor_decompress) Object *originalDecompress(void **, Object **, int, Object *);
Object *INSTEAD(zlib_ZlibDecompressor_decompress)(void **self, Object **arguments, int count, Object *names) {
  enum { NEXT_INPUT = 2 }; // Behind the two words of an object's head.
  int isCallers = self[NEXT_INPUT] == 0;
  Object *made = originalDecompress(self, arguments, count, names);
  if (made == 0 && isCallers) self[NEXT_INPUT] = 0;
  return made;
}

// Of Expat: the salt of its hashes, from the host's random numbers.
int getentropy(void *, size_t);
void writeRandomBytes_arc4random_buf(void *target, size_t count) { getentropy(target, count); }

#define EXPORT(name) __attribute__((export_name(name)))
EXPORT("edge_compile") int edge_compile(void) { return start(), run("_edge_build", "compile_all", ""); }
EXPORT("edge_load") int edge_load(void) { return start(), run("_edge_build", "load", "") || collect(); }
EXPORT("edge_collect") int edge_collect(void) { return collect(); }
#define SERVLET(name) EXPORT(#name) int name(void) { return run("edge_servlets._run", "run", #name); }
SERVLET(list_tools)
SERVLET(list_resources)
SERVLET(list_resource_templates)
SERVLET(list_prompts)
SERVLET(call_tool)
SERVLET(read_resource)
SERVLET(get_prompt)
SERVLET(complete)
SERVLET(on_roots_list_changed)
SERVLET(run_schedule)
SERVLET(receive_webhook)
