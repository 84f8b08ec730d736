/** By the engine's message for a pattern that V8 takes: what to write instead. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /too many captures/,
    "A pattern has at most 254 groups here, each of those with the same name too: write (?:…) where a group is not read",
  ],
  [
    /invalid (?:character in class|class set operation) in regular expression/,
    "With the flag v, -, / and doubled signs such as && and :: are refused here outside of a class too: write \\x2d, \\/ and \\x26\\x26, or use the flag u",
  ],
];

/** What to do about a regular expression that the engine refuses; undefined for other messages. */
export const patternAdvice = (message: string): string | undefined =>
  ADVICE.find(([known]) => known.test(message))?.[1];
