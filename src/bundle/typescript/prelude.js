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
  /** @type {{ files: string[], lines: string }} */
  let sources = { files: [], lines: "" };
  /** Called by each servlet's script, in its first line, with the places of its other lines in the source. */
  globalThis.__sources = (all) => {
    sources = all;
    delete globalThis.__sources;
  };
  /** Where a line of the servlet's script comes from, as `file:line`. */
  const sourceOf = (scriptLine) => {
    let left = scriptLine - 1;
    let [source, line] = [0, 0];
    for (const step of sources.lines.split(";")) {
      if (left <= 0) break;
      const [first, second] = step.split(",").map(Number);
      if (second === undefined) {
        line += Math.min(first, left);
        left -= first;
      } else {
        source += first;
        line += second;
        left--;
      }
    }
    return `${sources.files[source]}:${line + 1}`;
  };
  const inSource = (trace) =>
    trace
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
    crypto: (head, bytes) => exchange(head, bytes, 2),
    decode: (head, bytes) => exchange(head, bytes, 3),
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
