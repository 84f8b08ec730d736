/**
 * Makes `toLocaleString` and similar methods throw if they get arguments. Without `Intl` the interpreter would ignore the locale,
 * time zone and options, and silently give a wrong result.
 */
export function refuseLocales(): void {
  refuse(Number.prototype, ["toLocaleString"]);
  refuse(BigInt.prototype, ["toLocaleString"]);
  refuse(Date.prototype, ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]);
}

function refuse<Name extends string>(
  prototype: Record<Name, () => string>,
  names: readonly Name[],
): void {
  for (const name of names) {
    const method = prototype[name];
    const { [name]: value } = {
      [name](this: unknown, ...told: unknown[]) {
        if (told.every((one) => one === undefined)) return method.call(this);
        throw new RangeError(
          `${name} formats for no locale here, as there is no Intl in a servlet: call it without arguments, or format by a package.`,
        );
      },
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}
