import { expect, test } from "vitest";
import { redeclarable } from "./declarations.ts";

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
  ...["const", "let", "let = 1", "`${", "/*", "'", "/[", "}})"],
])("%j stays", (script) => {
  expect(redeclarable(script, kept)).toBe(script);
});
