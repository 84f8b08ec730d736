/** Advice about a regular expression that V8 accepts and QuickJS rejects; undefined for other messages. */
export function patternAdvice(message: string): string | undefined {
  if (message.includes("too many captures")) {
    return "A pattern has at most 254 groups here, each of those with the same name too: write (?:…) where a group is not read";
  }
  const isOfSets =
    message.includes("invalid character in class in regular") ||
    message.includes("invalid class set operation in regular");
  return isOfSets
    ? "With the flag v, -, / and doubled signs such as && and :: are refused here outside of a class too: write \\x2d, \\/ and \\x26\\x26, or use the flag u"
    : undefined;
}
