import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Pattern } from "../../../src/server/kernel/schema/pattern.ts";
import { StepsExceeded, Steps } from "../../../src/server/kernel/schema/steps.ts";
import { Chance } from "../fuzz/chance.ts";

/** Patterns are matched as the engine of the language itself does it, but in linear time. */
const ATOMS = String.raw`a b . [ab] [^a] \w \d \s \b \B ^ $ c x \p{L} \u{1F600} \ud83d\ude00 [\]\-a] (?=a) (?!b) (?<=a) (?<!b)`;
const TEXTS = ["a", "b", "c", ".", "1", " ", "é", "x", "_", "😀", "\n", "]", "-"];
const REPEATS = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "{0}"];

function patternBy(chance: Chance, depth: number): string {
  const inner = () => patternBy(chance, depth - 1);
  if (depth === 0 || chance.of(0.3)) return chance.pick(ATOMS.split(" "));
  switch (chance.below(4)) {
    case 0:
      return `(?:${inner()}|${inner()})`;
    case 1:
      return `(${inner()})${chance.pick(REPEATS)}`;
    case 2:
      return `${chance.pick(["(?=", "(?!", "(?<=", "(?<!", "(?<n>"])}${inner()})`;
    default:
      return inner() + inner();
  }
}

const textBy = (chance: Chance) =>
  Array.from({ length: chance.below(7) }, () => chance.pick(TEXTS)).join("");

function nativeOf(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined; // Two groups of one name.
  }
}

test.each([1, 2, 3, 4])("random patterns match what they should, seed %j", (seed) => {
  const chance = new Chance(seed);
  const differing: object[] = [];
  for (let count = 0; count < 3000; count++) {
    const source = patternBy(chance, 4);
    const native = nativeOf(source);
    if (native === undefined) continue;
    // V8 looks between the halves of a surrogate pair, against the specification.
    const looksBehind = /\\B|\(\?<[!=]/.test(source);
    const pattern = new Pattern(source);
    for (let tries = 0; tries < 8; tries++) {
      const text = looksBehind ? textBy(chance).replaceAll("😀", "") : textBy(chance);
      const fits = native.test(text);
      if (fits !== pattern.test(text)) differing.push({ source, text, fits });
    }
  }
  expect(differing).toEqual([]);
});

describe("a text takes steps in proportion to its length", () => {
  test.each([
    ["^(a+)+$", "a", "!"],
    ["^(a|a)*$", "a", "!"],
    ["(a*)*b", "a", ""],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a", ""],
    ["a*a*a*a*a*c", "a", ""],
    ["(?=(a+)+b)c", "a", ""],
    ["(?<!(a|aa)+)c", "a", ""],
    ["^(?!\\.)(?!.*\\.\\.)([a-z.]*)[a-z]@([a-z]+\\.)+[a-z]{2,}$", "a.", "@"],
  ])("%s", (source, part, end) => {
    const pattern = new Pattern(source);
    const text = part.repeat(100_000) + end;
    expect(pattern.test(text, new Steps(20 * text.length))).toBe(false);
  });

  test("and is given up where there are too many", () => {
    const chance = new Chance(1);
    const text = Array.from({ length: 100_000 }, () => chance.pick(["a", "b"])).join("");
    const pattern = new Pattern("(?:.{0,50}a){30}.{1000}c");
    expect(() => pattern.test(text, new Steps(limits.checkSteps))).toThrow(StepsExceeded);
  });
});

test.each([
  ["(a)\\1", /backreference/],
  ["(?<n>a)\\k<n>", /backreference/],
  ["(?i:a)", /modifiers/],
  ["(", /is not a valid regular expression/],
  ["a{2,1}", /is not a valid regular expression/],
  ["(?:(?:a{100}){100}){100}", /more than \d+ states/],
  ["(?=a)".repeat(20), /lookarounds/],
  [`${"(".repeat(101)}${")".repeat(101)}`, /nested more than/],
])("%s is refused", (source, message) => {
  expect(() => new Pattern(source)).toThrow(message);
});

test("repetitions of nothing end", () => {
  expect(new Pattern("^(?:(?:(?:){1000000}){1000000}|(?:)*)*$").test("")).toBe(true);
});

test("without the flag u, old syntax is taken", () => {
  expect(new Pattern("^\\-[\\w-.]{$", "").test("-a{")).toBe(true);
  expect(() => new Pattern("^\\-$")).toThrow();
});
