/**
 * What is known of some objects besides, which goes with them. For objects that each request makes: where they stand in a
 * WeakMap, the garbage collector takes five times as long.
 */
export class Notes<K extends object, V> {
  readonly #name = Symbol("note");

  get(of: K): V | undefined {
    return (of as Record<symbol, V>)[this.#name];
  }

  set(of: K, note: V): void {
    (of as Record<symbol, V>)[this.#name] = note;
  }
}
