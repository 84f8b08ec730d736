import type { Chance } from "./chance.ts";
import { many, nested } from "./hostile-schemas.ts";

/** Values from hostile servlets and callers that try to make the server compute or store without end. */

const long = (chance: Chance): string => {
  const piece = chance.pick(["a", "ab", "aB.", "a😀", "\ud800", "é", "a1_", "x@a."]);
  const count = chance.pick([30, 1000, 30_000, 300_000]);
  return piece.repeat(count / piece.length) + chance.pick(["", "!", "B", "\n"]);
};

/** A value that is close to many others, long, wide or deep. */
export function value(chance: Chance, depth = 0): unknown {
  switch (chance.below(depth > 2 ? 3 : 9)) {
    case 0:
      return long(chance);
    case 1:
      return chance.pick([0, -1e308, 0.1, 1e-320, null, true, "", 9e15]);
    case 2:
      return nested(chance.pick([3, 20, 50]));
    case 3: {
      const width = chance.pick([10, 1000, 8000]);
      const same = chance.pick<unknown>(["a", { x: "a".repeat(50), y: [1, 2] }, [[], []], 1]);
      return Array.from({ length: width }, (_, at) =>
        typeof same === "object" ? { at: at >> 1, same } : at,
      );
    }
    case 4:
      return Object.fromEntries(many(chance, 2000, (at) => [`${"a".repeat(at % 40)}${at}`, at]));
    case 5:
      return many(chance, 6, () => value(chance, depth + 1));
    default:
      return { x: value(chance, depth + 1), y: value(chance, depth + 1) };
  }
}

const EXPRESSIONS = [
  "{a}",
  "{+a}",
  "{#a}",
  "{/a*}",
  "{?a,b}",
  "{&a*}",
  "{;a}",
  "{.a}",
  "{a:3}",
  "{a}{b}{c}",
  "{+a}{+b}",
  "{",
  "}",
  "{}",
  "{a",
  "{=a}",
  "{a:0}",
  "{a:99999}",
  "{a**}",
  "{a,,b}",
  "%zz",
  "{é}",
  "/",
  "a",
  ".",
];

export function template(chance: Chance): string {
  const parts = many(chance, chance.pick([3, 20, 500]), () => chance.pick(EXPRESSIONS));
  // Each variable has a name of its own, most often.
  let nth = 0;
  const named = parts.map((part) =>
    part.replaceAll(/[abc](?=[,}*:])/g, (name) => `${name}${nth++}`),
  );
  return `wild${chance.below(10)}://${(chance.of(0.8) ? named : parts).join("")}`;
}

export function uri(chance: Chance): string {
  const piece = chance.pick([
    "a",
    "/",
    "a/",
    "%41",
    "%",
    "?a=",
    "&",
    "#",
    "é",
    "a,",
    ";a=b",
    ".",
    "😀",
  ]);
  const tail = chance.pick(["", "!", "//", "%0", "\u0000"]);
  return `wild${chance.below(10)}://${piece.repeat(chance.pick([1, 50, 2500]))}${tail}`;
}

const NUMBERS = [
  0, 1, 2, 7, 8, 10, 100, 1024, 1025, 9999, 50_000, 99_980, 100_000, 65_536, 4_000_000,
];
const LARGE = [
  0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x3fffffff, 0x20000001, 4_194_303, 4_194_304,
];

/** Operations of the test guest of that name. */
export function operations(chance: Chance): string {
  const number = () => chance.pick(chance.of(0.8) ? NUMBERS : LARGE);
  const three = (a: number, b: number, c: number) =>
    [a, b, c].map((one) => (one >>> 0).toString(16).padStart(8, "0")).join("");
  const repeat = chance.of(0.5) ? `x${three(chance.pick([2, 1000, 1e9]), 0, 0)}` : "";
  const steps = many(chance, 8, () => {
    const what = chance.pick("gfcoivwreepmb".split(""));
    // Parts that are all over one range, which is what makes them many bytes.
    if (what === "v") {
      const count = chance.pick([1, 1024, 1025, 400_000]);
      const write = chance.pick(["w", "r"]);
      return `v${three(count, chance.pick([0, 1 << 20]), chance.pick([0, 1, 4096, 3 << 20, 0xffffffff]))}${write}${three(1, 65_536, count)}`;
    }
    return what + three(number(), number(), number());
  });
  return repeat + steps.join("");
}

/** Secrets and tokens that are hard to redact from messages. */
export function secret(chance: Chance): string {
  const piece = chance.pick([
    "a",
    "aa",
    "\ud800",
    "\u0000",
    "\r\n",
    "\\",
    '"',
    "%",
    "é",
    "😀",
    "s3cret",
    ".*",
    "\u2028",
  ]);
  return piece.repeat(chance.pick([1, 3, 100, 5000])) + chance.pick(["", "b", "\udc00", "\t"]);
}
