/** A URI template (RFC 6570), compiled for matching. */
interface Template {
  names: string[];
  /**
   * The variables of a matching URI, decoded by `decode`; undefined if it does not match. Takes time linear in the URI's length.
   */
  match(uri: string, decode?: (text: string) => string): Record<string, string> | undefined;
}

/** Line terminators, which no value may contain. */
const LINE_ENDS = "\n\r\u2028\u2029";

/** By operator: its prefix, separator, and the characters that a value may not contain. `?` and `&` name their values. */
const OPERATORS: Record<string, readonly [prefix: string, separator: string, not: string]> = {
  "": ["", ",", "/?#,"],
  "+": ["", ",", LINE_ENDS],
  "#": ["#", ",", LINE_ENDS],
  ".": [".", ".", "/?#."],
  "/": ["/", "/", "/?#"],
  ";": [";", ";", "/?#;"],
};

/** A step of matching. A step with two ways tries the first way first. */
type Step =
  | { kind: "text"; text: string }
  | { kind: "character"; of: string; isNot: boolean }
  | { kind: "ways"; steps: readonly [number, number] }
  /** The start or end of a value. */
  | { kind: "mark" };

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function template(source: string): Template {
  const names: string[] = [];
  const queries: string[] = [];
  const steps: Step[] = [];
  const addText = (text: string): void => {
    if (text !== "") steps.push({ kind: "text", text });
  };
  /** Matches any number of characters not in `of`: as many as possible if `isLong`, otherwise as few as possible. */
  const addRun = (of: string, isLong: boolean): void => {
    const at = steps.length;
    const [on, out] = [at + 1, at + 3];
    steps.push({ kind: "ways", steps: isLong ? [on, out] : [out, on] });
    steps.push({ kind: "character", of, isNot: true });
    steps.push({ kind: "ways", steps: [at, at] });
  };
  const addOptional = (of: string, add: () => void): void => {
    const ways = { kind: "ways" as const, steps: [steps.length + 1, 0] as [number, number] };
    steps.push(ways, { kind: "character", of, isNot: false });
    add();
    ways.steps[1] = steps.length;
  };
  const addExpression = (operator: string, variables: string): void => {
    const named = variables.split(",").map((one) => {
      const [, name = "", modifier] = /^([\w.%]+)(\*|:\d+)?$/.exec(one.trim()) ?? [];
      if (name === "")
        throw new Error(
          `The URI template "${source}" has a bad expression: {${operator}${variables}}.`,
        );
      return { name, many: modifier === "*" };
    });
    if (operator === "?" || operator === "&") {
      queries.push(...named.map(({ name }) => name));
      addOptional("?&", () => addRun("#", true));
      return;
    }
    const [prefix, separator, not] = OPERATORS[operator]!;
    for (const [index, { name, many }] of named.entries()) {
      names.push(name);
      addText(index === 0 ? prefix : separator);
      if (operator === ";") {
        addText(name);
        addOptional("=", () => {});
      }
      steps.push({ kind: "mark" });
      addRun(many && operator === "/" ? "?#" : not, false);
      steps.push({ kind: "mark" });
    }
  };
  let at = 0;
  for (const { 0: whole, 1: operator = "", 2: variables = "", index } of source.matchAll(
    /\{([+#./;?&]?)([^{}]*)\}/g,
  )) {
    addText(source.slice(at, index));
    addExpression(operator, variables);
    at = index + whole.length;
  }
  addText(source.slice(at));
  return {
    names: [...names, ...queries],
    match(uri, decode = decoded) {
      const marks = follow(steps, uri);
      if (marks === undefined) return undefined;
      const variables: Record<string, string> = {};
      names.forEach((name, index) => {
        variables[name] = decode(uri.slice(marks[2 * index], marks[2 * index + 1]));
      });
      for (const pair of queries.length === 0
        ? []
        : (/\?([^#]*)/.exec(uri)?.[1] ?? "").split("&")) {
        const [name = "", ...value] = pair.split("=");
        if (queries.includes(decoded(name))) variables[decoded(name)] = decode(value.join("="));
      }
      return variables;
    },
  };
}

/** The marks passed so far, the newest first. */
interface Passed {
  at: number;
  before: Passed | undefined;
}

/**
 * The positions of the marks in a matching URI; undefined if it does not match. Each step is tried once at each position: a
 * second time it would fail again.
 */
function follow(steps: readonly Step[], uri: string): number[] | undefined {
  const width = steps.length + 1;
  const tried = new Uint8Array(width * (uri.length + 1));
  const rest: [step: number, at: number, passed: Passed | undefined][] = [[0, 0, undefined]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [place, at, passed] = next;
    if (tried[at * width + place] === 1) continue;
    tried[at * width + place] = 1;
    const step = steps[place];
    if (step === undefined) {
      if (at === uri.length) return listOf(passed);
    } else if (step.kind === "ways") {
      const [first, second] = step.steps;
      rest.push([second, at, passed], [first, at, passed]);
    } else if (step.kind === "mark") rest.push([place + 1, at, { at, before: passed }]);
    else if (step.kind === "text") {
      if (uri.startsWith(step.text, at)) rest.push([place + 1, at + step.text.length, passed]);
    } else if (at < uri.length && step.of.includes(uri[at]!) !== step.isNot) {
      rest.push([place + 1, at + 1, passed]);
    }
  }
  return undefined;
}

function listOf(passed: Passed | undefined): number[] {
  const marks: number[] = [];
  for (let one = passed; one !== undefined; one = one.before) marks.unshift(one.at);
  return marks;
}
