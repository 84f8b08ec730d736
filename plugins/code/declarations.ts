/** Lets scripts declare again what earlier ones have declared at their top, as the consoles of browsers do. */

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

/**
 * The script with each `const` and `let` at its top as `var`. All else stays where it is, but that variables without a value
 * get one. A declaration that may have one of the names in `kept` stays as it is.
 *
 * @example
 * redeclarable("const a = 1; let b; { const c = 2 }", new Set()); // → "var   a = 1; var b=void 0; { const c = 2 }"
 */
export function redeclarable(script: string, kept: ReadonlySet<string>): string {
  let result = "";
  let at = 0;
  const next = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(script)?.[0];
  };
  const copy = (text = script[at] ?? "") => {
    result += text;
    at += text.length;
    return text;
  };
  /** Brackets that are open, and "`" for each expression in a template. */
  const open: string[] = [];
  /** The last token. */
  let last = "";
  while (at < script.length) {
    const space = next(SPACE);
    if (space !== undefined) {
      copy(space);
      continue;
    }
    const divides = VALUE.test(last) && !BEFORE_VALUE.test(last);
    const before = last;
    last = copy(next(WORD) ?? next(TEXT) ?? (divides ? undefined : next(REGEX)));
    if ("([{".includes(last)) open.push(last);
    const closed = ")]}".includes(last) ? open.pop() : undefined;
    if (last === "`" || closed === "`") {
      const isInside = copy(next(TEMPLATE)).endsWith("${");
      if (isInside) open.push("`");
      last = isInside ? "{" : "`";
    }
    if (open.length > 0 || before === "." || !/^(?:const|let)$/.test(last)) continue;
    const names = next(NAMES);
    if (names === undefined || names.match(/[\w$]+/g)?.some((name) => kept.has(name))) continue;
    result = result.slice(0, -last.length) + "var".padEnd(last.length);
    for (let bare = next(BARE); bare !== undefined; bare = next(BARE)) {
      copy(bare);
      result += "=void 0";
      const comma = next(COMMA);
      if (comma === undefined) break;
      copy(comma);
    }
  }
  return result;
}
