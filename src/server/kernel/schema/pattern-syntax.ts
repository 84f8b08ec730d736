/** Characters of a pattern in a schema or a manifest: hand-written patterns have some hundred. */
const PATTERN_CHARACTERS = 4000;
/** Nesting depth of groups in a pattern: each level takes stack. */
const PATTERN_DEPTH = 100;
/** Lookarounds in one pattern: each takes one bit of a number. */
const PATTERN_LOOKAROUNDS = 16;

/** Thrown if a pattern is invalid, or cannot be matched in linear time. The message follows the pattern's name. */
export class PatternError extends Error {
  /** True if the pattern is valid ECMA-262, but not supported here. */
  readonly isUnsupported: boolean;

  constructor(message: string, isUnsupported = true) {
    super(message);
    this.isUnsupported = isUnsupported;
  }
}

/** Facts about a position in the text. Each lookaround adds one bit, from `LOOKAROUND` on. */
export const START = 1;
export const END = 2;
export const BOUNDARY = 4;
const LOOKAROUND = 8;

/** Returns true if one character, given by its code point, fits. */
export type Fits = (character: number) => boolean;

/** A regular expression as a tree. */
export type Node =
  | { kind: "character"; fits: Fits }
  | { kind: "sequence"; parts: Node[] }
  | { kind: "choice"; parts: Node[] }
  | { kind: "repeat"; part: Node; min: number; max: number }
  /** Holds at a position whose facts include `fact`; at all others if it is negated. */
  | { kind: "assertion"; fact: number; isNegated: boolean };

interface Lookaround {
  root: Node;
  fact: number;
  isBehind: boolean;
}

interface Parsed {
  root: Node;
  /** Inner lookarounds before those that contain them. */
  lookarounds: Lookaround[];
  usesBoundaries: boolean;
}

const GROUP = /\((?:\?(?:(?<look><?[=!])|:|<[^>=!][^>]*>))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
/** One escape, or one character, by flag: with `u` a surrogate pair is one. */
const ATOM = {
  u: /\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u[\da-fA-F]{4}|x..|c.|[pP]\{[^}]*\}|[^])|[^]/uy,
  "": /\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[^])|[^]/y,
};
const CLASS = /\[(?:\\[^]|[^\\\]])*\]/y;

/** Parses a regular expression of ECMA-262. Throws a `PatternError`. */
export function parse(source: string, flags: "u" | ""): Parsed {
  if (source.length > PATTERN_CHARACTERS) {
    throw new PatternError(`has more than ${PATTERN_CHARACTERS} characters`);
  }
  try {
    // From here on the syntax is known to be valid.
    void new RegExp(source, flags);
  } catch {
    throw new PatternError("is not a valid regular expression of ECMA-262", false);
  }
  const lookarounds: Lookaround[] = [];
  let usesBoundaries = false;
  let at = 0;
  const take = (form: RegExp): RegExpExecArray | undefined => {
    form.lastIndex = at;
    const found = form.exec(source) ?? undefined;
    if (found !== undefined) at = form.lastIndex;
    return found;
  };

  const choice = (depth: number): Node => {
    if (depth > PATTERN_DEPTH) {
      throw new PatternError(`has groups nested more than ${PATTERN_DEPTH} deep`);
    }
    const parts = [sequence(depth)];
    for (; source[at] === "|";) {
      at++;
      parts.push(sequence(depth));
    }
    return parts.length === 1 ? parts[0]! : { kind: "choice", parts };
  };
  const sequence = (depth: number): Node => {
    const parts: Node[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      const part = term(depth);
      const [, sign, min, comma, max] = take(QUANTIFIER) ?? [];
      if (sign !== undefined) {
        parts.push({
          kind: "repeat",
          part,
          min: +(sign === "+"),
          max: sign === "?" ? 1 : Infinity,
        });
      } else if (min !== undefined) {
        const most = comma === undefined ? min : max || Infinity;
        parts.push({ kind: "repeat", part, min: Number(min), max: Number(most) });
      } else parts.push(part);
    }
    return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
  };
  const term = (depth: number): Node => {
    if (source[at] === "(") return group(depth);
    const [atom] = take(CLASS) ?? take(ATOM[flags])!;
    if (atom === "^") return { kind: "assertion", fact: START, isNegated: false };
    if (atom === "$") return { kind: "assertion", fact: END, isNegated: false };
    if (atom === "\\b" || atom === "\\B") {
      usesBoundaries = true;
      return { kind: "assertion", fact: BOUNDARY, isNegated: atom === "\\B" };
    }
    if (/^\\(?:[1-9]|k$)/.test(atom)) throw new PatternError("has a backreference");
    const isPlain = atom !== "." && !(atom.length > 1 && /^[\\[]/.test(atom));
    if (isPlain) {
      const code = atom.codePointAt(0);
      return { kind: "character", fits: (character) => character === code };
    }
    const one = new RegExp(`^${atom}$`, flags);
    return { kind: "character", fits: (character) => one.test(String.fromCodePoint(character)) };
  };
  const group = (depth: number): Node => {
    const opening = take(GROUP)!;
    if (source[at] === "?") throw new PatternError("has a group with modifiers");
    const inner = choice(depth + 1);
    at++; // Its closing parenthesis.
    const look = opening.groups!["look"];
    if (look === undefined) return inner;
    if (lookarounds.length >= PATTERN_LOOKAROUNDS) {
      throw new PatternError(`has more than ${PATTERN_LOOKAROUNDS} lookarounds`);
    }
    const fact = LOOKAROUND << lookarounds.length;
    lookarounds.push({ root: inner, fact, isBehind: look.startsWith("<") });
    return { kind: "assertion", fact, isNegated: look.endsWith("!") };
  };
  const root = choice(0);
  return { root, lookarounds, usesBoundaries };
}
