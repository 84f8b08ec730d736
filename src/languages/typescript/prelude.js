"use strict";
// Runs in the interpreter before the kit: gives the interpreter's functions their names (engine.wat tells what each
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
    "call_tool",
    "call_host",
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
    "edge_environment",
    "run_schedule",
    "receive_webhook",
  ];
  /** @type {{ files: string[], lines: string }} */
  let sources = { files: [], lines: "" };
  /**
   * Places before some steps of `lines`: its offset there, and the script's line, the source and the source's line that it
   * has come to.
   */
  const marks = [[0, 0, 0, 0]];
  /** The place after the next step, which goes no further than to this line of the script. */
  const stepFrom = ([offset, at, source, line], most) => {
    const semicolon = sources.lines.indexOf(";", offset);
    const end = semicolon < 0 ? sources.lines.length : semicolon;
    const [first, second] = sources.lines.slice(offset, end).split(",").map(Number);
    if (second !== undefined) return [end + 1, at + 1, source + first, line + second];
    const lines = Math.min(first, most - at);
    return [end + 1, at + lines, source, line + lines];
  };
  /**
   * Called by each servlet's script, in its first line, with the places of its other lines in the source. They are read
   * here, when the servlet is built: a call that looks one up pays for a few steps.
   */
  globalThis.__sources = (all) => {
    delete globalThis.__sources;
    sources = all;
    let place = marks[0];
    for (let step = 1; place[0] < all.lines.length; step++) {
      place = stepFrom(place, Infinity);
      if (step % 64 === 0) marks.push(place);
    }
  };
  /** Where a line of the servlet's script comes from, as `file:line`. */
  const sourceOf = (scriptLine) => {
    const at = scriptLine - 1;
    let place =
      marks[
        Math.max(
          0,
          marks.findLastIndex((mark) => mark[1] <= at),
        )
      ];
    while (place[1] < at && place[0] < sources.lines.length) place = stepFrom(place, at);
    return `${sources.files[place[2]]}:${place[3] + 1}`;
  };
  const inSource = (trace) =>
    !/(?:\.js|<null>):/.test(trace)
      ? trace
      : trace
          // The kit and packages that servlets share have no lines; the first line of a script has what is not its author's.
          .replace(/\n[^\n]*(?:<null>:0:|\bservlet\.js:1\b)[^\n]*/g, "")
          .replace(/\bservlet\.js:(\d+)(?::\d+)?/g, (_, line) => sourceOf(Number(line)));
  const { __D: call, __E: exchange, __H: log, __L: evaluate } = globalThis;
  globalThis.__host = {
    input: globalThis.__A,
    output: globalThis.__B,
    fail: globalThis.__C,
    call(name, payload) {
      const which = users.indexOf(name);
      if (which < 0) throw new Error(`There is no host function ${name}.`);
      return call(which, payload);
    },
    http: exchange,
    files: (head, body) => exchange(head, body, 1),
    crypto: (head, bytes) => exchange(head, bytes, 2),
    decode: (head, bytes) => exchange(head, bytes, 3),
    httpStatus: globalThis.__F,
    textOf: globalThis.__F,
    httpHeaders: globalThis.__G,
    bytesOf: globalThis.__G,
    log: (level, text) => log(level, inSource(text)),
    config: globalThis.__I,
    random: globalThis.__J,
    sleep: globalThis.__K,
    evaluate: (script) => evaluate(script),
    load: (bytecode) => evaluate("", bytecode),
  };
  for (const letter of "ABCDEFGHIJKL") delete globalThis[`__${letter}`];
  globalThis.__begin = (which) => globalThis.__servlet.begin(exported[which]);
  globalThis.__rejected = (promise, reason, isHandled) =>
    globalThis.__servlet?.rejection(promise, reason, isHandled !== 0);
  globalThis.__loaded = () => globalThis.__servlet?.loaded?.() ?? 0;
  globalThis.__turn = () => globalThis.__servlet.turn();
}
