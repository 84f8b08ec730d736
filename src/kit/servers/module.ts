/** `node:module`: what a servlet is made of is known when it is built. */

/** Gives a `require` that finds nothing: what is required by a constant name is part of the script without it. */
export const createRequire = () => {
  const require = (name: string): never => {
    throw new Error(`A servlet cannot load "${name}" in a call: import it.`);
  };
  return Object.assign(require, { resolve: (name: string) => name });
};

export const builtinModules: string[] = [];
export const isBuiltin = (): boolean => false;
export default { createRequire, builtinModules, isBuiltin };
