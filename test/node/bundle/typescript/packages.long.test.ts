import { expect, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { servletFolder, textOf, tool } from "./writing.ts";

/** Packages of the servlet's own project, outside of this one, and which of their builds is taken. */
const folder = servletFolder();

/** A package in the servlet's `node_modules`. */
const installed = (name: string, manifest: object, files: Record<string, string>) =>
  Object.fromEntries(
    Object.entries({ "package.json": JSON.stringify({ name, ...manifest }), ...files }).map(
      ([file, text]) => [`node_modules/${name}/${file}`, text],
    ),
  );

const using = (expression: string, ...packages: string[]) => ({
  "servlet.js": tool(
    `return String(${expression});`,
    packages.map((name) => `import * as ${name} from "${name}";\n`).join(""),
  ),
});

async function answerOf(files: Record<string, string>) {
  const servlet = await loadServlet(await folder.write(files));
  const { result } = await servlet.callTool("try_it");
  return textOf(result);
}

const messageOf = async (files: Record<string, string>) =>
  loadServlet(await folder.write(files)).then(
    () => "",
    (error: unknown) => String(error),
  );

test("a package is that of the servlet's own project, at its version", async () => {
  const mine = installed(
    "ky",
    { version: "0.0.1", main: "index.js" },
    {
      "index.js": 'exports.who = "mine";',
    },
  );
  expect(await answerOf({ ...using("ky.who", "ky"), ...mine })).toBe("mine");
});

test("a package finds its mode, and the global object by its names", async () => {
  const asks = installed(
    "asks",
    {},
    {
      "index.js": `exports.found = [process.env.NODE_ENV, typeof process, typeof self, self === globalThis,
      typeof window, typeof global, typeof Buffer].join();`,
    },
  );
  const expected = "production,undefined,object,true,undefined,undefined,undefined";
  expect(await answerOf({ ...using("asks.found", "asks"), ...asks })).toBe(expected);
});

test("the browser build of a package is used if the usual one needs Node", async () => {
  const whole = installed(
    "whole",
    { main: "main.js", browser: "dist/browser.js" },
    {
      "main.js": 'exports.built = require("stream") && "for Node";',
      "dist/browser.js": 'exports.built = "whole";',
    },
  );
  const parts = installed(
    "parts",
    { main: "main", browser: { "./lib/node.js": "./lib/browser.js", fs: false, os: "./os.js" } },
    {
      "main.js":
        'exports.built = [require("./lib/node"), require("fs").readFile, require("os")].join();',
      "lib/node.js": 'module.exports = require("node:http") && "for Node";',
      "lib/browser.js": 'module.exports = "parts";',
      "os.js": 'module.exports = "os";',
    },
  );
  const modules = installed(
    "modules",
    { type: "module", exports: "./index.js", browser: { "./node.js": "./web.js" } },
    {
      "index.js": 'export { built } from "./node.js";',
      "node.js": 'import { readFile } from "node:fs"; export const built = readFile;',
      "web.js": 'export const built = "modules";',
    },
  );
  const used = using("[whole.built, parts.built, modules.built]", "whole", "parts", "modules");
  expect(await answerOf({ ...used, ...whole, ...parts, ...modules })).toBe(
    "whole,parts,,os,modules",
  );
});

test("a package that does not need Node keeps its usual build, also beside one that needs it", async () => {
  const needs = installed(
    "needs",
    { browser: "browser.js" },
    {
      "index.js": 'exports.built = require("fs") && "for Node";',
      "browser.js": 'exports.built = "for browsers";',
    },
  );
  const plain = installed(
    "plain",
    { browser: "browser.js" },
    {
      "index.js": 'exports.built = "plain";',
      "browser.js": "exports.built = document.title;",
    },
  );
  const used = using("[needs.built, plain.built]", "needs", "plain");
  expect(await answerOf({ ...used, ...needs, ...plain })).toBe("for browsers,plain");
});

test("a file that uses a global of Node is replaced as its package says, unless by one that uses the DOM", async () => {
  const coloured = installed(
    "coloured",
    { browser: { "./index.js": "./lib/browser.js" } },
    {
      "index.js": "exports.built = process.argv.length;",
      "lib/browser.js": 'exports.built = require("./more");',
      "lib/more.js": 'module.exports = "for browsers";',
    },
  );
  const plain = installed(
    "plain",
    { browser: { "./index.js": "./browser.js" } },
    {
      "index.js": 'exports.built = process.env.NODE_ENV === "production" && "plain";',
      "browser.js": 'exports.built = "for browsers";',
    },
  );
  const drawn = installed(
    "drawn",
    { browser: { "./index.js": "./dom.js", "./other.js": "./none.js" } },
    {
      "index.js": 'exports.built = typeof process === "undefined" ? "drawn" : process.pid;',
      "dom.js": "exports.built = document.title;",
    },
  );
  const used = using("[coloured.built, plain.built, drawn.built]", "coloured", "plain", "drawn");
  expect(await answerOf({ ...used, ...coloured, ...plain, ...drawn })).toBe(
    "for browsers,plain,drawn",
  );
});

test("a browser's file is found where the package names the replaced one without its ending", async () => {
  const zip = installed(
    "zip",
    {
      main: "./lib/index",
      browser: { "./lib/index": "./dist/zip.min.js", streams: "./lib/streams-browser.js" },
    },
    {
      "lib/index.js": 'exports.built = require("streams");',
      "lib/streams-browser.js": 'module.exports = require("stream");',
      "dist/zip.min.js": 'exports.built = "for browsers";',
    },
  );
  const streams = installed("streams", {}, { "index.js": 'module.exports = require("stream");' });
  expect(await answerOf({ ...using("zip.built", "zip"), ...zip, ...streams })).toBe("for browsers");
});

test("a package that misses a global in a call says that a servlet is neither Node nor a browser", async () => {
  const wasm = installed("wasm", {}, { "index.js": "exports.run = () => WebAssembly.compile;" });
  expect(await answerOf({ ...using("wasm.run()", "wasm"), ...wasm })).toBe(
    "WebAssembly is not defined. A servlet runs neither in Node nor in a browser: docs/packages.md says which packages work.",
  );
  const atOnce = installed("wasm", {}, { "index.js": "exports.run = WebAssembly.compile;" });
  expect(await messageOf({ ...using("wasm.run", "wasm"), ...atOnce })).toMatch(
    /WebAssembly is not defined[^]*WebAssembly: A servlet does not have it: take a package in plain JavaScript/,
  );
});

test("a package whose only file uses a global of Node is replaced as a whole, where it names another", async () => {
  const files = {
    "lib/main.js": 'exports.built = Buffer.from("x") && "for Node";',
    "index.js": 'exports.built = Buffer.from("x") && "for Node";',
    "browser.js": 'exports.built = "for browsers";',
  };
  const usual = installed("usual", { browser: "browser.js" }, files);
  const own = installed("own", { main: "lib/main", browser: "./browser.js" }, files);
  const used = using("[usual.built, own.built]", "usual", "own");
  expect(await answerOf({ ...used, ...usual, ...own })).toBe("for browsers,for browsers");
});

test("names that every object has, and a field that is odd, replace nothing", async () => {
  const named = installed("constructor", {}, { "index.js": 'module.exports = "named";' });
  const needs = installed(
    "needs",
    { browser: { fs: false, named: 7 } },
    { "index.js": 'require("fs"); exports.built = require("constructor");' },
  );
  expect(await answerOf({ ...using("needs.built", "needs"), ...needs, ...named })).toBe("named");
});

test("a package's replacement for another one that needs Node is used", async () => {
  const deep = installed("deep", {}, { "index.js": 'module.exports = require("net");' });
  const outer = installed(
    "outer",
    { browser: { deep: "./instead.js" } },
    {
      "index.js": 'exports.built = require("deep");',
      "instead.js": 'module.exports = "instead";',
    },
  );
  expect(await answerOf({ ...using("outer.built", "outer"), ...deep, ...outer })).toBe("instead");
});

test("a package may try to load a module of Node and handle its absence", async () => {
  const tries = installed(
    "tries",
    {},
    {
      "index.js": 'try { exports.found = require("crypto"); } catch { exports.found = "nothing"; }',
    },
  );
  expect(await answerOf({ ...using("tries.found", "tries"), ...tries })).toBe("nothing");
});

test("an installed package with the name of a module of Node is used for that name", async () => {
  const events = installed("events", {}, { "index.js": 'exports.built = "events";' });
  const listens = installed("listens", {}, { "index.js": 'module.exports = require("events");' });
  const used = using("listens.built", "listens");
  expect(await answerOf({ ...used, ...events, ...listens })).toBe("events");
});

test("a package that needs Node is named without those that it brings along", async () => {
  const deep = installed("deep", {}, { "index.js": 'exports.a = require("net");' });
  const outer = installed(
    "outer",
    {},
    { "index.js": 'require("tls");\nexports.built = require("deep");' },
  );
  const said = await messageOf({ ...using("outer.built", "outer"), ...deep, ...outer });
  expect(said).toMatch(/The package outer needs Node \(tls\)/);
  expect(said.match(/ERROR/g)).toHaveLength(1);
});

test("a package that needs Node is named once, with the file that imports it", async () => {
  const deep = installed(
    "deep",
    {},
    {
      "index.js": 'exports.a = require("net");\nexports.b = require("node:tls");',
    },
  );
  const outer = installed("outer", {}, { "index.js": 'exports.built = require("deep");' });
  const said = await messageOf({ ...using("outer.built", "outer"), ...deep, ...outer });
  expect(said).toMatch(/The package deep needs Node \(net, tls\)/);
  expect(said).toMatch(/deep\/index\.js:1:20:/);
  expect(said).toMatch(/mine\/servlet\.js leads to it/);
  expect(said.match(/ERROR/g)).toHaveLength(1);
});
