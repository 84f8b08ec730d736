/** Python: `servlet.py` with the modules and packages that it imports, run by CPython. */
import type { InterpretedLanguage } from "../../tools/bundle/language.ts";
import { pythonBase, pythonPlugin } from "./engine.ts";
import { setUpPython } from "./project.ts";

export const python: InterpretedLanguage = {
  name: "Python",
  kind: "python",
  files: ["servlet.py"],
  template: {
    word: "python",
    folders: [["templates/python", "."]],
    main: "servlet.py",
    setUp: setUpPython,
  },
  defines:
    /^(?:from|import)\s+(?:edge_servlets|fastmcp|mcp)\b[^]*^@(?:\w+\.)?(?:tool|resource|prompt|webhook)\b/m,
  waits:
    /\b(?:elicit\w*|ask_\w+|call_host|_edge|sample|list_roots|fetch|secret|sleep|timeout|timeout_at|wait_for|call_tool|tools|input_required|exec|eval|getattr|import_module|__import__)\b/,
  build: (_files, cache) => pythonPlugin(cache),
  base: (_interpreter, cache) => pythonBase(cache),
  read: async (entry) => async (started, cache, progress) => {
    const { loadPython } = await import("./servlet.ts");
    return loadPython(entry, started, cache, progress);
  },
};
