/** `node:module`: all modules of a servlet are known when it is built. */

/** Returns a `require` that finds nothing: modules required by a constant name are bundled into the script. */
export const createRequire = () => {
  const require = (name: string): never => {
    throw new Error(`A servlet cannot load "${name}" in a call: import it.`);
  };
  return Object.assign(require, { resolve: (name: string) => name });
};

export const builtinModules: string[] = [];
export const isBuiltin = (): boolean => false;
export default { createRequire, builtinModules, isBuiltin };
