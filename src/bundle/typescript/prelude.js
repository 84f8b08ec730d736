"use strict";
// Runs in the engine before the kit: gives the engine's functions their names (engine.wat tells what each
// does) and calls the kit when an export is called.
{
  const users = [
    "ask_client",
    "notify_progress",
    "notify_logging_message",
    "notify_resource_updated",
    "notify_tool_list_changed",
    "notify_prompt_list_changed",
    "notify_resource_list_changed",
    "notify_url_elicitation_completed",
    "get_keyring_secret",
    "get_access_token",
    "discard_changes",
    "reset_state",
  ];
  const exported = [
    "list_tools",
    "list_resources",
    "list_resource_templates",
    "list_prompts",
    "call_tool",
    "read_resource",
    "get_prompt",
    "complete",
    "on_roots_list_changed",
  ];
  /** @type {string[]} */
  let files = [];
  /** @type {Uint16Array | Uint32Array} Runs of lines that follow each other in a source: the number of the first, its source, and its line there. */
  let runs = new Uint32Array(3);
  /**
   * Called by each servlet's script, in its first line, with the places of its other lines in the source. They are read
   * here, when the servlet is built: a call that looks some up pays for a few steps.
   */
  globalThis.__sources = (all) => {
    delete globalThis.__sources;
    let [at, source, line] = [0, 0, 0];
    const read = [at, source, line];
    for (const step of all.lines.split(";")) {
      const [first, second] = step.split(",").map(Number);
      if (second === undefined) {
        at += first;
        line += first;
      } else {
        at++;
        source += first;
        line += second;
        read.push(at, source, line);
      }
    }
    files = all.files;
    const isShort = read.every((one) => one < 65_536);
    runs = isShort ? Uint16Array.from(read) : Uint32Array.from(read);
  };
  /** Where a line of the servlet's script comes from, as `file:line`. */
  const sourceOf = (scriptLine) => {
    const at = scriptLine - 1;
    let [first, end] = [0, runs.length / 3];
    while (end - first > 1) {
      const middle = (first + end) >> 1;
      if (runs[middle * 3] <= at) first = middle;
      else end = middle;
    }
    const [start, source, line] = runs.subarray(first * 3, first * 3 + 3);
    return `${files[source]}:${line + at - start + 1}`;
  };
  const inSource = (trace) =>
    !trace.includes(".js:")
      ? trace
      : trace
          .replace(/\n[^\n]*\bkit\.js:[^\n]*/g, "")
          .replace(/\bservlet\.js:(\d+)(?::\d+)?/g, (_, line) => sourceOf(Number(line)));
  const [call, exchange, log] = [globalThis.__D, globalThis.__E, globalThis.__H];
  globalThis.__host = {
    input: globalThis.__A,
    output: globalThis.__B,
    fail: globalThis.__C,
    call: (name, payload) => call(users.indexOf(name), payload),
    http: exchange,
    files: (head, body) => exchange(head, body, 1),
    httpStatus: globalThis.__F,
    httpHeaders: globalThis.__G,
    log: (level, text) => log(level, inSource(text)),
    config: globalThis.__I,
    random: globalThis.__J,
    sleep: globalThis.__K,
    evaluate: globalThis.__L,
  };
  for (const letter of "ABCDEFGHIJKL") delete globalThis[`__${letter}`];
  globalThis.__begin = (which) => globalThis.__servlet.begin(exported[which]);
  globalThis.__rejected = (promise, reason, isHandled) =>
    globalThis.__servlet?.rejection(promise, reason, isHandled !== 0);
  globalThis.__turn = () => globalThis.__servlet.turn();
}
