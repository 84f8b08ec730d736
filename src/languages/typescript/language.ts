/** TypeScript and JavaScript: `servlet.ts`, bundled into a script that QuickJS runs. */
import { join } from "node:path";
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
  async detect(folder, names) {
    const { serverIn } = await import("./server.ts");
    const own = names.find((name) => this.files.includes(name));
    const entry = own === undefined ? await serverIn(folder, names) : join(folder, own);
    return entry === undefined ? [] : [entry];
  },
  async read(entry, found) {
    const { isServer, readServer } = await import("./server.ts");
    if (await isServer(entry)) return readServer(entry, found);
    const { readTypeScript } = await import("./servlet.ts");
    return readTypeScript(entry);
  },
  async check(entries, views, cache, progress) {
    const { checkTypes, checkViewTypes } = await import("./types.ts");
    const { isServer } = await import("./server.ts");
    const typed: string[] = [];
    // A server for another SDK is checked by its author, with their settings and its types.
    for (const entry of entries) {
      if (entry.endsWith(".ts") && !(await isServer(entry))) typed.push(entry);
    }
    await checkTypes(typed, cache, progress);
    // Views import their servlets, whose errors the check above has already reported.
    await checkViewTypes(await views, typed, cache, progress);
  },
};
