/** TypeScript and JavaScript: `servlet.ts`, bundled into a script that QuickJS runs. */
import type { InterpretedLanguage } from "../../tools/bundle/language.ts";

export const typescript: InterpretedLanguage = {
  name: "TypeScript",
  kind: "typescript",
  files: ["servlet.ts", "servlet.js"],
  template: {
    word: "ts",
    folders: [["templates/ts", "."]],
    main: "servlet.ts",
    withView: { folders: [["templates/view", "."]], main: "servlet.ts", view: "words.tsx" },
  },
  defines: /^export\s+default\s+defineServlet\b/m,
  // Except for names that every script gets from the kit.
  waits:
    /\b(?:elicit\w*|askSecret|sample|roots|requestInput|input_required|inputRequests|fetch|secret|sleep|set(?:Timeout|Interval)|timeout|subtle|runScript(?! } = __kit)|eval)\b|\bFunction\(/,
  async build(_files, cache, progress) {
    const { interpreterPlugin } = await import("./engine.ts");
    return interpreterPlugin(cache, progress);
  },
  async base(interpreter, cache) {
    const { baseWithKit } = await import("./servlet.ts");
    return baseWithKit(interpreter, cache);
  },
  async read(entry) {
    const { readTypeScript } = await import("./servlet.ts");
    return readTypeScript(entry);
  },
  async check(entries, views, cache, progress) {
    const { checkTypes, checkViewTypes } = await import("./types.ts");
    const typed = entries.filter((entry) => entry.endsWith(".ts"));
    await checkTypes(typed, cache, progress);
    // Views import their servlets, whose errors the check above has already reported.
    await checkViewTypes(await views, typed, cache, progress);
  },
};
