import { loadServlet, type Script, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

let servlet: ServletUnderTest;
beforeEach(async () => {
  servlet = await loadServlet(import.meta.dirname);
});

/** Runs a script; returns its printed lines and the value of its last statement, or its error. */
async function run(code: string, script: Script = {}): Promise<string> {
  const { result } = await servlet.callTool("run_code", { code }, script);
  const [block] = result.content;
  const text = block?.type === "text" ? block.text : "";
  return result.isError ? `error: ${text}` : text;
}

test("variables, functions and classes last, for each caller", async () => {
  const one = { caller: "ada" };
  await run("let x = 5; const double = (n) => 2 * n; var y = 1; function f() { return x; }", one);
  await run("class Point { constructor(x) { this.x = x; } }; undeclared = new Point(3)", one);
  expect(await run("x = double(x) + y; f()", one)).toBe("11");
  expect(await run("[undeclared, undeclared instanceof Point]", one)).toBe(
    "[ Point { x: 3 }, true ]",
  );
  expect(await run("typeof x", { caller: "eve" })).toBe('"undefined"');
});

test("a later script may declare the same names", async () => {
  await run("const result = 1, [a] = [2]; let total; total = 3; async function f() {}");
  expect(await run("const result = 2; let total; const { a } = { a: 4 }; [result, total, a]")).toBe(
    "[ 2, undefined, 4 ]",
  );
  expect(await run("for (const result of [5]); { let a = 6 } [result, a]")).toBe("[ 2, 4 ]");
  expect(await run("const crypto = 1")).toMatch(/^error: SyntaxError: redeclaration of 'crypto'/);
  await run("class Point {}");
  expect(await run("class Point {}")).toMatch(/ Point is a class or a name of the language/);
});

test("shows what is printed, then the value", async () => {
  expect(await run('console.log("a", 1, [2]); console.error({ b: 3 }); 4')).toBe(
    "a 1 [ 2 ]\n{ b: 3 }\n4",
  );
  const { result } = await servlet.callTool("run_code", { code: "console.log(1); 'two'" });
  expect(result.structuredContent).toEqual({ printed: "1", value: '"two"' });
  expect(await run("let nothing")).toBe("");
});

test("awaits at its top, and has timers", async () => {
  expect(
    await run("const later = await new Promise((r) => setTimeout(() => r(7), 10)); later"),
  ).toBe("7");
  expect(await run("Promise.resolve(later + 1)")).toBe("8");
});

test.each([
  ["throws", "x = 2;\n\nnone.such", /ReferenceError: none is not defined \(line 3, column 1\)/],
  ["throws in a function", "function g() {\n  null.a;\n}\ng()", /\(line 2, column 3\)[^]*script:4/],
  ["does not parse", "x = 2;\nlet = = 3", /SyntaxError.*\(line 2, column 7\)/],
  ["rejects", "x = 2; await Promise.reject(new Error('late'))", /Error: late/],
  ["throws no error", "x = 2; throw { a: 1 }", /The script threw \{ a: 1 \}/],
  ["declares a class twice", "x = 2; class A {}; class A {}", /SyntaxError/],
  ["declares what JavaScript has", "let JSON = 3", /JSON is a class or a name of the language/],
  ["waits for nothing", "x = 2; await new Promise(() => {})", /never settle/],
  ["has no end", "x = 2; for (;;);", /computed for too long/],
  ["takes all memory", "x = 2; for (let a = []; ; ) a.push(new Array(1e6).fill(1.5))", /memory/],
])("a script that %s changes nothing", { timeout: 120_000 }, async (_how, code, message) => {
  await run("let x = 1");
  const said = await run(code);
  expect(said).toMatch(/^error: /);
  expect(said).toMatch(message);
  expect(await run("x")).toBe("1");
  expect(await run("typeof g")).toBe('"undefined"');
});

test("what was printed before an error is shown with it", async () => {
  expect(await run("console.log('before'); none")).toMatch(/^error: before\nReferenceError/);
});

test("reset forgets everything", async () => {
  await run("let x = 1; globalThis.y = 2");
  await servlet.callTool("run_code", { code: "", reset: true });
  expect(await run("[typeof x, typeof y]")).toBe('[ "undefined", "undefined" ]');
  expect(await run("let x = 2; x")).toBe("2");
});

test("scripts cannot break the tools", async () => {
  const broken = `
    const names = Object.getOwnPropertyNames(globalThis), { ownKeys } = Reflect;
    for (let name = 0; name < names.length; name++) {
      const of = globalThis[names[name]];
      try { globalThis[names[name]] = 1; } catch {}
      const keys = of?.prototype ? ownKeys(of.prototype) : [];
      for (let key = 0; key < keys.length; key++) try { of.prototype[keys[key]] = 1; } catch {}
    }
    JSON.stringify = Object.defineProperty = 1;
    Array.prototype.extra = () => "kept";
  `;
  expect(await run(broken)).not.toMatch(/^error/);
  expect(await run("[3, 1].sort().map(String).join() + [].extra()")).toBe('"1,3kept"');
  await servlet.callTool("run_code", { code: "", reset: true });
  expect(await run("typeof [].extra")).toBe('"undefined"');
});

test("scripts cannot break the tools by what no global has", async () => {
  const broken = `
    const { getPrototypeOf, defineProperty } = Object;
    const iterators = [[][Symbol.iterator](), new Map().keys(), new Set().keys(), ""[Symbol.iterator]()];
    iterators.push("".matchAll(/a/g), (function* () {})());
    for (let at = 0; at < iterators.length; at++) getPrototypeOf(iterators[at]).next = 1;
    getPrototypeOf(getPrototypeOf((function* () {})())).next = 1;
    getPrototypeOf(getPrototypeOf([][Symbol.iterator]()))[Symbol.iterator] = 1;
  `;
  expect(await run(broken)).not.toMatch(/^error/);
  expect(await run("console.log(...[1, 2]); [...new Map([[3, 4]]).keys()]")).toBe("1 2\n[ 3 ]");
});

test("scripts cannot break the tools by what built-in classes inherit from", async () => {
  const broken = `
    Object.setPrototypeOf(Array.prototype, null);
    Object.setPrototypeOf(Map.prototype, { get size() { throw 1; } });
    Object.setPrototypeOf(Object.getPrototypeOf(async () => {}), null);
  `;
  expect(await run(broken)).not.toMatch(/^error/);
  expect(
    await run(
      "[Array, Map].map((one) => Object.getPrototypeOf(one.prototype) === Object.prototype)",
    ),
  ).toBe("[ true, true ]");
  expect(await run("(async () => {}).call !== undefined")).toBe("true");
});

test("what it shows is bounded", async () => {
  const many = await run('for (let i = 0; i < 1e5; i++) console.log("line", i)');
  expect(many.length).toBeLessThan(60_000);
  expect(await run('"x".repeat(1e6)')).toMatch(/^"x{49999}… \(\d+ characters more\)$/);
});

const issues = Array.from({ length: 3 }, (_, at) => ({ id: at + 1, title: `Issue ${at + 1}` }));
const picture = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
const asked: string[] = [];
const script: Script = {
  answers: {
    "elicitation/create": ({ message }) => {
      asked.push(String(message));
      return { action: "accept", content: {} };
    },
  },
  tools: {
    list_issues: { structuredContent: { issues } },
    close_issue: ({ id }) =>
      id === 2 ? { isError: true, content: text("is locked") } : `closed ${id}`,
    draw: { content: [...text("a chart"), picture] },
  },
};
function text(said: string) {
  return [{ type: "text" as const, text: said }];
}

test("tools give what is structured, else their text; what they give is shown only where the script says so", async () => {
  expect(
    await run(
      "const { issues } = await tools.list_issues(); const all = await Promise.allSettled(issues.map(({ id }) => tools.close_issue({ id }))); all.map((one) => one.value ?? String(one.reason))",
      script,
    ),
  ).toBe('[ "closed 1", "Error: close_issue: is locked", "closed 3" ]');
  // Later runs have what earlier ones have kept.
  expect(await run("issues.length", script)).toBe("3");
  expect(await run("(await callTool('close_issue', { id: 2 })).isError", script)).toBe("true");
});

test("pictures are kept, and shown where the script says so", async () => {
  await run("let [, chart] = await tools.draw()", script);
  const { result } = await servlet.callTool("run_code", { code: "show(chart)" }, script);
  expect(result.content).toContainEqual(picture);
  expect(await run("for (;;) show(chart)", script)).toMatch(
    /^error: Error: A run shows at most 10/,
  );
});

test("a script that fails says what it has done", async () => {
  const said = await run(
    "await tools.close_issue({ id: 1 }); await tools.close_issue({ id: 3 });\nawait tools.list_issues();\nnone",
    script,
  );
  expect(said).toMatch(/none is not defined \(line 3, column 1\)/);
  expect(said).toContain(
    "Before that it has called close_issue (2), list_issues: what these have done stays.",
  );
  expect(await run("await tools.other()", script)).toMatch(/^error: ToolCallError: .*other/);
});

test("a run calls only the tools that it names, and none after its time", async () => {
  const { result } = await servlet.callTool(
    "run_code",
    { code: "const call = tools; await call['draw']()", tools: ["list_issues"] },
    script,
  );
  expect(JSON.stringify(result)).toContain("This run may call list_issues, not draw.");
  const late = await servlet.callTool(
    "run_code",
    { code: "await sleep(3000); await tools.draw()", timeout: 2 },
    script,
  );
  expect(JSON.stringify(late.result)).toContain("longer than its timeout");
});

test("scripts ask, wait, and say how far they are", async () => {
  const asking: Script = {
    ...script,
    capabilities: { elicitation: {} },
    answers: { "elicitation/create": () => ({ action: "accept", content: { size: 7 } }) },
  };
  const { result, notifications } = await servlet.callTool(
    "run_code",
    {
      code: "progress(1, 2, 'half'); await sleep(60_000); const a = await ask('Which size?', { type: 'object', properties: { size: { type: 'number' } } }); a.size",
    },
    { ...asking, alwaysReplay: true },
  );
  expect(result.structuredContent).toEqual({ printed: "", value: "7" });
  expect(notifications).toMatchObject([{ params: { progress: 1, total: 2, message: "half" } }]);
});

test("the user is asked once, and a tool called once, however often a run stops", async () => {
  const called: unknown[] = [];
  const before = asked.length;
  const tools = { close_issue: ({ id }: Record<string, unknown>) => `closed ${called.push(id)}` };
  const code = "await sleep(1); await tools.close_issue({ id: 7 })";
  const { result } = await servlet.callTool(
    "run_code",
    { code },
    {
      ...script,
      capabilities: { elicitation: {} },
      tools,
      alwaysReplay: true,
    },
  );
  expect(result.structuredContent).toMatchObject({ value: '"closed 1"' });
  expect(asked.slice(before)).toEqual(['code wants to call:\n- close_issue {"id":7}\nAllow it?']);
  expect(called).toEqual([7]);
});

test("what the user allows is called with the arguments that they were shown", async () => {
  const called: unknown[] = [];
  const tools = { close_issue: (args: Record<string, unknown>) => `closed ${called.push(args)}` };
  const code = `
    const args = { id: 1, toJSON() { return { id: this.reads++ ? 666 : 1 }; }, reads: 0 };
    const closing = tools.close_issue(args);
    args.id = 666;
    await closing;
  `;
  const before = asked.length;
  await servlet.callTool("run_code", { code }, { ...script, tools });
  expect(asked.slice(before).join()).toContain('close_issue {"id":1}');
  expect(called).toEqual([{ id: 1 }]);
});

test.each([
  ["a return at its end", "const a = 2; return a * 3;", "6"],
  ["a return without semicolons", "const a = await Promise.resolve(2)\nreturn { a }", "{ a: 2 }"],
  ["an early return", "const a = 2;\nif (a > 1) return 'early';\nreturn 'late'", '"early"'],
  ["a return in a block", "for (const a of [1, 2]) { if (a === 2) return a; }", "2"],
  ["code after its return", "return 1\nfunction f() {}", "1"],
  ["an empty return", "console.log(1); return;", "1"],
  ["one async arrow function", "async () => {\n  const a = await 2;\n  return a * 2;\n}", "4"],
  ["one arrow function", "() => 5", "5"],
  ["an arrow function in brackets", "// Adds.\n(async () => 1 + 1);", "2"],
  [
    "an arrow function and a comment",
    "async () => ({ a: 1 })\n// It is (1).\n/* ** */",
    "{ a: 1 }",
  ],
  ["an arrow function of the tools", "async (sdk) => typeof sdk.draw", '"function"'],
  ["an arrow function of some tools", "async ({ draw }) => typeof draw", '"function"'],
  ["a return and a value on the next line", "return // nothing\n1", ""],
  ["a return behind many spaces", `return 1 +${" ".repeat(50_000)}1`, "2"],
  ["a function that it has called", "(async () => 7)()", "7"],
])("a script with %s gives its value", async (_what, code, value) => {
  expect(await run(code)).toBe(value);
});

test("a return at the end keeps variables, and runs nothing twice", async () => {
  const called: unknown[] = [];
  const noting = { ...script, tools: { note: (args: object) => `${called.push(args)}` } };
  await run("const kept = await tools.note({ n: 1 }); return JSON.parse('{')", noting);
  await run("let kept = 4; await tools.note({ n: 2 }); return kept", noting);
  expect(await run("return kept + 1")).toBe("5");
  expect(called).toEqual([{ n: 1 }, { n: 2 }]);
  await run("const more = 5; return more; // The end.");
  await run("const most = 6;\nreturn;");
  expect(await run("[more, most]")).toBe("[ 5, 6 ]");
});

test.each(["eval('return 1')", "throw new SyntaxError('return not in a function')"])(
  "a script is not run again because of an error of its own: %s",
  async (failing) => {
    const called: unknown[] = [];
    const tools = { note: () => `${called.push(1)}` };
    const said = await run(`await tools.note(); ${failing}`, { ...script, tools });
    expect(said).toMatch(/^error: SyntaxError: return not in a function/);
    expect(called).toEqual([1]);
  },
);

test("a function that is a value is shown, and not called", async () => {
  expect(await run("const f = () => 1; f")).toMatch(/Function/);
  expect(await run("async () => { throw new Error('inside') }")).toMatch(/^error: Error: inside/);
});
