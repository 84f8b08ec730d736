/** A function that makes one value for each object, cached for the object's lifetime. */
export function oncePer<K extends object, V extends object | string | number | boolean>(
  make: (key: K) => V,
): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}
