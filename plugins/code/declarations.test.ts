import { expect, test } from "vitest";
import { redeclarable, withoutReturn } from "./declarations.ts";

const kept = new Set(["crypto"]);

test.each([
  ["const a = 1; let b = 2", "var   a = 1; var b = 2"],
  ["let a, b = 2, c", "var a=void 0, b = 2, c"],
  ["let a // none\nlet b\n= 1", "var a=void 0 // none\nvar b\n= 1"],
  ["const {a, b: [c]} = d", "var   {a, b: [c]} = d"],
  [
    "const f = () => { const g = /}/ }\nconst h = 2",
    "var   f = () => { const g = /}/ }\nvar   h = 2",
  ],
  ["/const a/.test(b); const c = a / 2 / d", "/const a/.test(b); var   c = a / 2 / d"],
  ["const a = `${b}`; const c = `\\`${`{`}`", "var   a = `${b}`; var   c = `\\`${`{`}`"],
])("%j: %j", (script, changed) => {
  expect(redeclarable(script, kept)).toBe(changed);
});

test.each([
  "const crypto = 1",
  "const { crypto } = a",
  "for (const a of b) { let c }",
  "`const a = ${ `let b ${ {const: 1}.const }` }\nconst c`",
  "a = { const: 1 }; a.const; a\n.let; b = 'const c = 1' // const d\n/* let e */",
  "const",
  "let",
  "let = 1",
  "`${",
  "/*",
  "'",
  "/[",
  "}})",
])("%j stays", (script) => {
  expect(redeclarable(script, kept)).toBe(script);
});

test.each([
  ["const a = 1; return a;", "const a = 1;     ;(a\n)"],
  ["const a = 1\nreturn a // done", "const a = 1\n    ;(a // done\n)"],
  ["f()\nreturn { a: 1 }\n", "f()\n    ;({ a: 1 }\n)"],
  ["if (a) { return 1 }\nreturn 2", "if (a) { return 1 }\n    ;(2\n)"],
  ["return a; // done;\n// all", "    ;(a\n)"],
  ["f()\nreturn", "f()\n    ;(void 0\n)"],
  ["return;", "    ;(void 0\n)"],
])("%j ends with its value: %j", (script, changed) => {
  expect(withoutReturn(script)).toBe(changed);
});

test.each([
  "1",
  "a.return(1)",
  "() => { return 1 }",
  "`return 1`",
  "// return 1",
  "if (a) return 1",
  "if (a); else return 1",
  "for (;;) return 1",
  "a: return 1",
  "return\n1",
  "return // none\n1",
])("%j has no value in place of a return", (script) => {
  expect(withoutReturn(script)).toBeUndefined();
});
