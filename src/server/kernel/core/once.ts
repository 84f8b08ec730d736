/**
 * A function that makes its value at the first call and then returns it: for schemas, which take longer to make than a
 * request that needs none of them.
 */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
