/**
 * What the compiler may set by esbuild's `define`, so that a servlet carries less into each call. A
 * servlet works without, and the same.
 */

/** False where no file of the servlet mentions `fetch`: `context.fetch` is left out. */
declare const SERVLET_FETCH: boolean | undefined;

/**
 * By kind ("tools", …): the JSON text of what each list export gave when the servlet was built without
 * this. Schemas are not made into JSON Schema again.
 */
declare const SERVLET_LISTS: Readonly<Record<string, string>> | undefined;

export const usesFetch: boolean = typeof SERVLET_FETCH === "undefined" || SERVLET_FETCH;

export const knownLists: Readonly<Record<string, string>> | undefined =
  typeof SERVLET_LISTS === "undefined" ? undefined : SERVLET_LISTS;
