/** Stand-ins for what a servlet does not have, but its packages import: using them throws. */

/**
 * A value that stands for `what` wherever it is imported, as a function, a class or an object. Calling or constructing it, or any
 * member of it, throws an `Error` with this advice; a class may extend it.
 */
export function absent(what: string, advice: string): unknown {
  const fail = (): never => {
    throw new Error(`${what} is not available in a servlet. ${advice}`);
  };
  return new Proxy(class {}, {
    apply: fail,
    construct: fail,
    get(target, key) {
      if (key in target) return Reflect.get(target, key);
      if (typeof key !== "string" || key === "then" || key === "__esModule") return undefined;
      return key === "default" ? absent(what, advice) : absent(`${what}.${key}`, advice);
    },
  });
}
