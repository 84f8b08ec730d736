// draw_chart: numbers in, a PNG out. The exports, the arguments and the result
// are here; what is drawn is in chart.c, how in canvas.c and png.c.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "canvas.h"
#include "chart.h"
#include "extism.h"
#include "json.h"
#include "png.h"
#include "text.h"

enum {
  MOST_VALUES = 500,
  LONGEST_TITLE = 200,
  /// Significant digits in the text.
  DIGITS = 12,
};

/// Room for sums and for round ticks beyond the values.
static const double LARGEST_VALUE = 1e300;

/// What is nearer to zero is drawn as zero, for doubles lose their digits there.
static const double SMALLEST_VALUE = 1e-300;

static const char VALUES_HINT[] =
    " Send values as an array of 1 to 500 JSON numbers, such as [3, 1.5, 4].";

// As describe.json promises them.
static const struct size_rule {
  const char *name;
  int least, most, otherwise;
} WIDTH = {"width", 200, 1600, 640}, HEIGHT = {"height", 120, 1200, 320};

struct request {
  struct chart chart;
  int width, height;
};

// The readers below return false with `problem` said in words for the model.

static bool known_arguments(const struct json *arguments, struct text *problem) {
  static const char *const KNOWN[] = {"values", "kind", "title", "width", "height"};
  for (const struct json *argument = arguments->first; argument; argument = argument->next) {
    bool known = false;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
      known |= argument->key_length == strlen(KNOWN[i]) &&
               memcmp(argument->key, KNOWN[i], argument->key_length) == 0;
    if (known) continue;
    text_add(problem, "There is no argument ");
    text_json_string(problem, argument->key, argument->key_length);
    text_add(problem, ". draw_chart takes values, kind, title, width and height; leave the others out.");
    return false;
  }
  return true;
}

static bool read_value(const struct json *item, int index, double *value, struct text *problem) {
  double size = fabs(item->number);
  *value = size < SMALLEST_VALUE ? 0 : item->number;
  if (item->kind == JSON_NUMBER && size <= LARGEST_VALUE) return true;
  text_add(problem, "values[");
  text_number(problem, index, DIGITS);
  text_add(problem, "] is ");
  text_add(problem, item->kind == JSON_NUMBER ? "beyond 1e300" : json_kind_name(item));
  text_add(problem, ", not a number that can be drawn; replace it or leave it out.");
  text_add(problem, VALUES_HINT);
  return false;
}

static bool read_values(const struct json *arguments, struct chart *chart, struct text *problem) {
  const struct json *list = json_member(arguments, "values");
  if (!list || list->kind != JSON_ARRAY) {
    text_add(problem, "values is ");
    text_add(problem, list ? json_kind_name(list) : "missing");
    text_add(problem, ".");
    text_add(problem, VALUES_HINT);
    return false;
  }
  int count = 0;
  for (const struct json *item = list->first; item; item = item->next) count++;
  if (count < 1 || count > MOST_VALUES) {
    text_add(problem, "values has ");
    text_number(problem, count, DIGITS);
    text_add(problem, count ? " numbers; at most 500 can be drawn. Send every n-th one, or means of groups."
                            : " numbers.");
    if (!count) text_add(problem, VALUES_HINT);
    return false;
  }
  double *values = arena_alloc((size_t)count * sizeof *values);
  chart->values = values;
  for (const struct json *item = list->first; item; item = item->next, chart->count++)
    if (!read_value(item, chart->count, &values[chart->count], problem)) return false;
  return true;
}

static bool read_kind(const struct json *arguments, bool *bars, struct text *problem) {
  const struct json *kind = json_member(arguments, "kind");
  *bars = kind && json_is(kind, "bar");
  if (!kind || *bars || json_is(kind, "line")) return true;
  text_add(problem, "kind must be \"line\" or \"bar\", not ");
  if (kind->kind == JSON_STRING) text_json_string(problem, kind->text, kind->length);
  else text_add(problem, json_kind_name(kind));
  text_add(problem, ".");
  return false;
}

static bool read_title(const struct json *arguments, struct chart *chart, struct text *problem) {
  const struct json *title = json_member(arguments, "title");
  if (!title) return true;
  if (title->kind != JSON_STRING) {
    text_add(problem, "title must be a string, not ");
    text_add(problem, json_kind_name(title));
    text_add(problem, ".");
    return false;
  }
  int letters = 0;
  for (const char *at = title->text, *end = at + title->length; at < end; letters++) utf8_next(&at, end);
  if (letters > LONGEST_TITLE) {
    text_add(problem, "title has ");
    text_number(problem, letters, DIGITS);
    text_add(problem, " letters; shorten it to 200 or fewer.");
    return false;
  }
  chart->title = title->text;
  chart->title_length = title->length;
  return true;
}

static bool read_size(const struct json *arguments, const struct size_rule *rule, int *pixels,
                      struct text *problem) {
  const struct json *size = json_member(arguments, rule->name);
  *pixels = rule->otherwise;
  if (!size) return true;
  bool number = size->kind == JSON_NUMBER;
  if (number && size->number >= rule->least && size->number <= rule->most &&
      floor(size->number) == size->number) {
    *pixels = (int)size->number;
    return true;
  }
  text_add(problem, rule->name);
  text_add(problem, " must be a whole number of pixels from ");
  text_number(problem, rule->least, DIGITS);
  text_add(problem, " to ");
  text_number(problem, rule->most, DIGITS);
  text_add(problem, ", not ");
  if (number && isfinite(size->number)) text_number(problem, size->number, DIGITS);
  else text_add(problem, json_kind_name(size));
  text_add(problem, ".");
  return false;
}

static bool read_request(const struct json *arguments, struct request *request, struct text *problem) {
  return known_arguments(arguments, problem) && read_values(arguments, &request->chart, problem) &&
         read_kind(arguments, &request->chart.bars, problem) &&
         read_title(arguments, &request->chart, problem) &&
         read_size(arguments, &WIDTH, &request->width, problem) &&
         read_size(arguments, &HEIGHT, &request->height, problem);
}

static void describe_extreme(struct text *out, const char *name, double value, int index) {
  text_add(out, name);
  text_number(out, value, DIGITS);
  text_add(out, " (position ");
  text_number(out, index + 1, DIGITS);
  text_add(out, ")\n");
}

static struct text summary_text(const struct chart *chart) {
  struct summary summary = chart_summary(chart);
  struct text out = {0};
  describe_extreme(&out, "min: ", summary.min, summary.min_at);
  describe_extreme(&out, "max: ", summary.max, summary.max_at);
  text_add(&out, "mean: ");
  text_number(&out, summary.mean, DIGITS);
  text_add(&out, "\ncount: ");
  text_number(&out, chart->count, DIGITS);
  return out;
}

static struct text image_file(const struct request *request) {
  struct canvas canvas;
  canvas_init(&canvas, request->width, request->height);
  chart_draw(&canvas, &request->chart);
  uint8_t palette[3 * PALETTE_SIZE];
  canvas_palette(palette);
  struct png image = {canvas.width, canvas.height, canvas.pixels, palette, PALETTE_SIZE};
  struct text file = {0};
  png_write(&file, &image);
  return file;
}

static int32_t answer(const struct request *request) {
  struct text summary = summary_text(&request->chart), file = image_file(request), out = {0};
  text_add(&out, "{\"content\":[{\"type\":\"text\",\"text\":");
  text_json_string(&out, summary.bytes, summary.length);
  text_add(&out, "},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"");
  text_base64(&out, file.bytes, file.length);
  text_add(&out, "\"}]}");
  return extism_output(out.bytes, out.length);
}

static int32_t fail(const struct text *problem) {
  return extism_fail(problem->bytes, problem->length);
}

EXPORT(call) int32_t call(void) {
  arena_reset();
  struct text problem = {0};
  size_t length, stopped;
  char *input = extism_input(&length);
  struct json *message = json_parse(input, length, &stopped);
  if (!message) {
    text_add(&problem, "The call is not JSON from byte ");
    text_number(&problem, (double)stopped, DIGITS);
    text_add(&problem, " on.");
    return fail(&problem);
  }
  const struct json *params = json_member(message, "params"), *name = json_member(params, "name");
  if (!name || !json_is(name, "draw_chart")) {
    text_add(&problem, "This servlet has one tool: draw_chart.");
    return fail(&problem);
  }
  static const struct json NO_ARGUMENTS = {.kind = JSON_OBJECT};
  const struct json *arguments = json_member(params, "arguments");
  struct request request = {0};
  if (!read_request(arguments ? arguments : &NO_ARGUMENTS, &request, &problem)) return fail(&problem);
  return answer(&request);
}

EXPORT(describe) int32_t describe(void) {
  static const char TOOLS[] = {
#embed "describe.json"
  };
  return extism_output(TOOLS, sizeof TOOLS);
}
