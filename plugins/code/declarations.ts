/** Rewrites scripts so that they may declare names again, and have a `return` outside of functions, as in other code modes. */

const SPACE = /(?:\s|\/\/.*|\/\*[^]*?\*\/)+/y;
const WORD = /[\w$\u0080-\uFFFF]+/y;
const TEXT = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
/** The rest of a template, or its part before an expression. */
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)?/y;
/** The names after `const` or `let`, up to the first value. */
const NAMES = /\s*(?:[\w$\u0080-\uFFFF]|[[{])[^=;]{0,1000}/y;
/** A variable without a value. */
const BARE = /\s*[\w$\u0080-\uFFFF]+(?=\s*,|[ \t]*(?:;|\/\/|\n|$)(?!\s*=))/y;
const COMMA = /\s*,/y;
/** After one of these a slash divides. */
const VALUE = /[\w$)\]}"'`\u0080-\uFFFF]$/;
const BEFORE_VALUE =
  /^(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)$/;

/** A word outside of brackets. */
interface TopWord {
  word: string;
  at: number;
  /** The token before it; "if()" for the head of a statement. */
  before: string;
}

const matchAt = (pattern: RegExp, script: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(script)?.[0];
};

/** The words of a script that are outside of brackets, in order. */
function* topWords(script: string): Generator<TopWord> {
  /** The open brackets, and "`" for each expression in a template, each with the token before it. */
  const open: { bracket: string; before: string }[] = [];
  /** The last token. */
  let last = "";
  for (let at = 0; at < script.length;) {
    const space = matchAt(SPACE, script, at);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const divides = VALUE.test(last) && !BEFORE_VALUE.test(last);
    const before = last;
    const word = matchAt(WORD, script, at);
    const other = () =>
      matchAt(TEXT, script, at) ?? (divides ? undefined : matchAt(REGEX, script, at));
    last = word ?? other() ?? script[at]!;
    if (word !== undefined && open.length === 0) yield { word, at, before };
    at += last.length;
    if ("([{".includes(last)) open.push({ bracket: last, before });
    const closed = ")]}".includes(last) ? open.pop() : undefined;
    if (last === ")" && HEAD.test(closed?.before ?? "")) last = "if()";
    if (last === "`" || closed?.bracket === "`") {
      const text = matchAt(TEMPLATE, script, at) ?? "";
      at += text.length;
      const isInside = text.endsWith("${");
      if (isInside) open.push({ bracket: "`", before });
      last = isInside ? "{" : "`";
    }
  }
}

/** Words before the head of a statement with a body. */
const HEAD = /^(?:for|if|while|with)$/;

/**
 * The script with `var` in place of each `const` and `let` outside of blocks, and a value for variables without one.
 * Positions stay the same up to there. A declaration that may have one of the names in `kept` is unchanged.
 *
 * @example
 * redeclarable("const a = 1; let b; { const c = 2 }", new Set()); // → "var   a = 1; var b=void 0; { const c = 2 }"
 */
export function redeclarable(script: string, kept: ReadonlySet<string>): string {
  let result = "";
  let copied = 0;
  const replace = (from: number, to: number, text: string) => {
    result += script.slice(copied, from) + text;
    copied = to;
  };
  for (const { word, at, before } of topWords(script)) {
    if (before === "." || !/^(?:const|let)$/.test(word)) continue;
    let end = at + word.length;
    const names = matchAt(NAMES, script, end);
    if (names === undefined || names.match(/[\w$]+/g)?.some((name) => kept.has(name))) continue;
    replace(at, end, "var".padEnd(word.length));
    for (;;) {
      const bare = matchAt(BARE, script, end);
      if (bare === undefined) break;
      end += bare.length;
      replace(end, end, "=void 0");
      end += matchAt(COMMA, script, end)?.length ?? script.length;
    }
  }
  return result + script.slice(copied);
}

/**
 * The script with its first `return` outside of functions replaced by the value, so that its variables last. Undefined if
 * there is no such `return`, or if it belongs to another statement. If statements follow it, the result does not parse.
 *
 * @example
 * withoutReturn("const a = 1; return a;"); // → "const a = 1;     ;(a\n)"
 */
export function withoutReturn(script: string): string | undefined {
  const found = topWords(script).find(({ word, before }) => word === "return" && before !== ".");
  if (found === undefined || /^(?:else|do|if\(\)|:)$/.test(found.before)) return undefined;
  const rest = script.slice(found.at + "return".length).trimEnd();
  // In the middle of a string, the cut leaves no script that parses.
  const value = rest.replace(/(?<!;);(?:[\s;]|\/\/.*)*$/, "");
  if (NO_VALUE.test(value)) return undefined;
  return `${script.slice(0, found.at)}    ;(${value.trim() || "void 0"}\n)`;
}

/** What follows a `return` whose line has no value. */
const NO_VALUE = /^[^\S\n]*(?:\n|\/\/)/;
