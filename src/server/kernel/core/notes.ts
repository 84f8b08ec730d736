/**
 * Notes on objects, each stored in a property of its object. Like a WeakMap, but cheaper for objects that every request
 * makes: the garbage collector has to scan a WeakMap.
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
