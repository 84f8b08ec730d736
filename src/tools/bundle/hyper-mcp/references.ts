import { REFERENCE } from "../../../server/kernel/servlets/variables.ts";

/** A reference to an environment variable: `${NAME}` or `${NAME:-default}`. */
export interface VariableReference {
  name: string;
  fallback: string | undefined;
}

const unescaped = (text: string) => text.replaceAll("$${", "${");

/** The references in a hyper-mcp config, in order. */
export const referencesIn = (text: string): VariableReference[] =>
  [...text.matchAll(REFERENCE)]
    .filter(([, name]) => name !== undefined)
    .map(([, name, fallback]) => ({
      name: name!,
      fallback: fallback === undefined ? undefined : unescaped(fallback),
    }));

/** The text with the nth reference replaced by `replacement(n)`, and each `$${` by `${`. */
export function replaceReferences(text: string, replacement: (at: number) => string): string {
  let at = 0;
  return text.replace(REFERENCE, (_, name?: string) =>
    name === undefined ? "${" : replacement(at++),
  );
}

/** The reference that is the whole text; undefined for any other text. */
export function onlyReference(text: string): VariableReference | undefined {
  const [whole, name, fallback] = [...text.matchAll(REFERENCE)][0] ?? [];
  return name !== undefined && whole === text ? { name, fallback } : undefined;
}

/** Renames the variables in the text's references. */
export const renameReferences = (text: string, rename: (name: string) => string): string =>
  text.replace(REFERENCE, (whole, name?: string, fallback?: string) => {
    if (name === undefined) return whole;
    return fallback === undefined ? `\${${rename(name)}}` : `\${${rename(name)}:-${fallback}}`;
  });
