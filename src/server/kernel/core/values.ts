/** The object with each value replaced by `map`. */
export const mapValues = <T, U>(
  object: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Record<string, U> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
