/** Protects the built-in classes, since scripts share the global scope of the servlet. */
interface Prototype {
  of: object;
  /** Its own prototype. */
  above: object | null;
  keys: PropertyKey[];
  members: PropertyDescriptor[];
}

const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { deleteProperty, ownKeys } = Reflect;
const prototypes: Prototype[] = [];

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** Prototypes that no global leads to, and whose methods loops, spreads and `await` use. */
function hiddenPrototypes(): object[] {
  const generated = [(function* () {})(), (async function* () {})()].map(getPrototypeOf);
  const iterators = [[], "", new Map(), new Set(), "".matchAll(/a/g)].map((one) =>
    getPrototypeOf((one as Iterable<unknown>)[Symbol.iterator]()),
  );
  const functions = [function* () {}, async () => {}, async function* () {}].map(getPrototypeOf);
  const all = [...generated, ...iterators].flatMap((one) => {
    const above = getPrototypeOf(one);
    return [one, above, getPrototypeOf(above)];
  });
  return [...new Set([...all, ...functions])].filter(isObject);
}

function remember(prototype: object): void {
  const keys = ownKeys(prototype);
  const members = keys.map((key) => getOwnPropertyDescriptor(prototype, key)!);
  prototypes.push({ of: prototype, above: getPrototypeOf(prototype), keys, members });
}

/** Adds globals, and makes all globals read-only: a script that declares such a name does not begin. Returns their names. */
export function protectGlobals(added: Record<string, unknown>): ReadonlySet<string> {
  Object.assign(globalThis, added);
  const names = new Set<string>();
  for (const name of ownKeys(globalThis)) {
    names.add(String(name));
    const { value, get } = getOwnPropertyDescriptor(globalThis, name)!;
    // Some are made when they are first used: of what the script has left of the language then.
    if (get !== undefined) {
      deleteProperty(globalThis, name);
      continue;
    }
    defineProperty(globalThis, name, { configurable: false, ...(value && { writable: false }) });
    if (!isObject(value) || value === globalThis) continue;
    const prototype: unknown = typeof value === "function" ? value.prototype : undefined;
    if (isObject(prototype)) remember(prototype);
    freeze(value);
  }
  for (const prototype of hiddenPrototypes()) remember(prototype);
  return names;
}

/**
 * Restores the members of built-in classes that a script has changed; members that it has added stay. Calls none of these
 * members itself.
 */
export function mendBuiltIns(): void {
  for (let one = 0; one < prototypes.length; one++) {
    const { of, above, keys, members } = prototypes[one]!;
    if (getPrototypeOf(of) !== above) setPrototypeOf(of, above);
    for (let at = 0; at < keys.length; at++) {
      const member = members[at]!;
      const now = getOwnPropertyDescriptor(of, keys[at]!);
      if (now === undefined || now.value !== member.value || now.get !== member.get) {
        defineProperty(of, keys[at]!, member);
      }
    }
  }
}
