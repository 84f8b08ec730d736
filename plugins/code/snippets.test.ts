import { loadServlet, type Script, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

let servlet: ServletUnderTest;
/** What the server has: it checks names and arguments. */
let stored: Map<string, Record<string, unknown>>;
let script: Script;
beforeEach(async () => {
  servlet = await loadServlet(import.meta.dirname);
  stored = new Map();
  script = {
    answers: { "elicitation/create": () => ({ action: "accept", content: {} }) },
    tools: { note: ({ text }) => `noted ${String(text)}` },
    hostFunctions: {
      "snippets.save"(payload) {
        const { name, listed, ...snippet } = payload as Record<string, unknown> & { name: string };
        const before = stored.get(name);
        stored.set(name, { ...snippet, ...(listed === true && { listed }) });
        return {
          isNew: before === undefined,
          wasTool: before?.["listed"] === true,
          ...(listed === true && { tool: `snippet_${name}` }),
        };
      },
      "snippets.get"(payload) {
        const { name, arguments: given } = payload as { name: string; arguments?: object };
        return { name, ...stored.get(name), arguments: given };
      },
      "snippets.list": () =>
        [...stored].map(([name, { code: _, ...snippet }]) => ({ name, ...snippet })),
      "snippets.delete"(payload) {
        const { name } = payload as { name: string };
        const before = stored.get(name);
        return { existed: stored.delete(name), wasTool: before?.["listed"] === true };
      },
    },
  };
});

/** The text of a call's result, or its error. */
async function call(
  tool: string,
  args: Record<string, unknown>,
  more: Script = {},
): Promise<string> {
  const { result } = await servlet.callTool(tool, args, { ...script, ...more });
  const [block] = result.content;
  const text = block?.type === "text" ? block.text : "";
  return result.isError ? `error: ${text}` : text;
}
const save = (code: string, more: object = {}) =>
  call("save_snippet", { name: "one", description: "Does it", code, ...more });
const runOne = (args?: object) =>
  call("run_snippet", { name: "one", ...(args && { arguments: args }) });

test.each([
  ["the last statement", "const b = args.a * 2; b + 1", "5"],
  ["a return", "if (args.a > 1) return 'early'; return 'late'", '"early"'],
  ["an await", "const b = await Promise.resolve(args.a); b", "2"],
  ["an arrow function", "async ({ a }) => { const b = await a; return [b]; }", "[ 2 ]"],
  ["an arrow function in brackets", "// Adds.\n(({ a }) => a + 1);", "3"],
  ["a comment at its end", "args.a // the number", "2"],
  ["a call of a tool", "await tools.note({ text: args.a })", '"noted 2"'],
])("a snippet with %s gives its value", async (_what, code, value) => {
  expect(await save(code)).toMatch(/^Saved the snippet one\. Run it by run_snippet/);
  expect(await runOne({ a: 2 })).toBe(value);
  expect(await runOne({ a: 2 })).toBe(value);
});

test("scripts run snippets, several at once, with arguments of their own", async () => {
  await save("await sleep(args.ms); args.ms");
  expect(
    await call("run_code", {
      code: "await Promise.all([20, 10].map((ms) => runSnippet('one', { ms })))",
    }),
  ).toBe("[ 20, 10 ]");
});

test("what a snippet declares is its own, and it can read the variables of scripts", async () => {
  await call("run_code", { code: "let x = 5, args = 'kept'" });
  await save("const x2 = x * 2; let y = x2; class A {} y");
  expect(await runOne()).toBe("10");
  expect(await call("run_code", { code: "[typeof x2, typeof y, typeof A, args]" })).toBe(
    '[ "undefined", "undefined", "undefined", "kept" ]',
  );
  await save("let none = 1");
  expect(await runOne()).toBe("");
  await save("function f() { return 1; } f() + args.a");
  expect(await runOne({ a: 1 })).toBe("2");
  expect(await call("run_code", { code: "typeof f" })).toBe('"undefined"');
  await save("f2 = 1");
  expect(await runOne()).toMatch(/^error: ReferenceError: /);
});

test("snippets outlast a reset and failed runs", async () => {
  await save("globalThis.kept = 1; none");
  expect(await runOne()).toMatch(/^error: ReferenceError: none is not defined.*\(line 1/);
  expect(await call("run_code", { code: "typeof kept" })).toBe('"undefined"');
  await call("run_code", { code: "", reset: true });
  expect(await runOne()).toMatch(/none is not defined/);
});

test("saving again replaces, and says so", async () => {
  await save("1");
  expect(await save("2")).toMatch(/^Replaced the snippet one/);
  expect(await runOne()).toBe("2");
});

test.each([
  "let = = 3",
  "async ({ a }) =>",
  "} {",
  "import 'a'",
  "with ({}) {}",
  "`a",
  "/* a",
  "'a",
  "{",
  "[1",
  "/a",
  "a\r\u2028=",
  "//\u2028/*",
])("code that does not parse is not saved: %s", async (code) => {
  expect(await save(code)).toMatch(/^error: The code does not parse: SyntaxError/);
  expect(stored.size).toBe(0);
});

test("snippets are listed, shown and deleted", async () => {
  expect(await call("snippets", {})).toBe("No snippet is saved. save_snippet saves one.");
  await save("args.a", { input: { type: "object" } });
  expect(await call("snippets", {})).toBe('one: Does it Arguments: {"type":"object"}');
  expect(await call("snippets", { show: "one" })).toBe("args.a");
  expect(await call("snippets", { delete: "other" })).toMatch(
    /^There was no snippet other\.\none:/,
  );
  expect(await call("snippets", { delete: "one" })).toMatch(/^Deleted one\.\nNo snippet/);
});

test("clients hear of a change where a snippet is or was a tool, and only there", async () => {
  const heard = async (tool: string, args: Record<string, unknown>) =>
    (await servlet.callTool(tool, args, script)).notifications.map(({ method }) => method);
  const changed = ["notifications/tools/list_changed"];
  const one = { name: "one", description: "Does it", code: "1" };
  expect(await heard("save_snippet", one)).toEqual([]);
  expect(await heard("save_snippet", { ...one, listed: true })).toEqual(changed);
  expect(await heard("save_snippet", one)).toEqual(changed);
  expect(await heard("snippets", { delete: "one" })).toEqual([]);
  await heard("save_snippet", { ...one, listed: true });
  expect(await heard("snippets", { delete: "one" })).toEqual(changed);
});

test("a snippet that waits goes on as it began, though another one has replaced it", async () => {
  await save("const a = await ask('Go on?'); await sleep(10); `${args.a} ${typeof a}`");
  const answers: Script["answers"] = {
    "elicitation/create"() {
      stored.set("one", { code: "'another one'" });
      return { action: "accept", content: {} };
    },
  };
  const { result } = await servlet.callTool(
    "run_snippet",
    { name: "one", arguments: { a: 1 } },
    { ...script, capabilities: { elicitation: {} }, answers, alwaysReplay: true },
  );
  expect(result.structuredContent).toMatchObject({ value: '"1 object"' });
  expect(await runOne()).toBe('"another one"');
});

test("a script cannot break how snippets run", async () => {
  await save("args.a");
  await call("run_code", {
    code: "try { globalThis.takeSnippetArguments = () => 1; } catch {} try { globalThis.runSnippet = 1; } catch {} Promise.prototype.then = 1",
  });
  expect(await runOne({ a: 3 })).toBe("3");
});

test("a later script does not see the arguments of a snippet that has begun", async () => {
  await save("await sleep(10); takeSnippetArguments()");
  expect(await runOne({ a: "secret" })).toBe("");
  expect(await call("run_code", { code: "takeSnippetArguments()" })).toBe("");
  await save("takeSnippetArguments(); none");
  await runOne({ a: "secret" });
  expect(await call("run_code", { code: "takeSnippetArguments()" })).toBe("");
});

test("a description cannot add lines to the list of snippets", async () => {
  await save("1", { description: "Does it\nother: Does something else" });
  expect(await call("snippets", {})).toBe("one: Does it other: Does something else");
});

test("code is not run when it is saved, and changes no variable, though it closes the brackets around it", async () => {
  await call("run_code", { code: "function helper() { return 'own'; }" });
  const called: unknown[] = [];
  const tools: Script["tools"] = { note: (args) => `${called.push(args)}` };
  for (const [end, begin] of [
    ["}),", "(async function () {"],
    ["}),", "(async (args) => {"],
    ["};", "{"],
    ["});", "(async () => {"],
  ]) {
    const run = "globalThis.ran = 1, tools.note({})";
    const code = `${end} ${run} ${end!.endsWith(",") ? "," : ";"} ${begin}`;
    const given = { name: "one", description: "Does it", code };
    await call("save_snippet", given, { tools });
    const other = `${end} ${end!.endsWith(";") ? "function helper() {};" : ""} ${begin}`;
    await call("save_snippet", { ...given, code: other });
  }
  expect(called).toEqual([]);
  expect(await call("run_code", { code: "[typeof ran, helper()]" })).toBe('[ "undefined", "own" ]');
});

test.each([
  "var x = 1",
  "if (true) { var x = 1 }",
  "for (var x = 0; x < 1; x++);",
  "let y; var x, z",
])("a variable that would be one of scripts is refused: %s", async (code) => {
  expect(await save(code)).toBe(
    "error: The code declares a variable by var, which would be one of run_code, too. Declare it by let or const.",
  );
});

test.each([
  "() => { var x = 1; return x; }",
  "'var x'",
  "1 // var if x",
  "const o = { var: 1 }; o.var",
])("another var is none: %s", async (code) => {
  expect(await save(code)).toMatch(/^Saved/);
});
