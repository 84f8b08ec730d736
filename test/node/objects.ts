import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The classes of the Durable Objects by the names of their bindings, as the wrangler.toml of a checkout has them. */
export function objectsIn(checkout: string): Record<string, string> {
  const toml = readFileSync(join(checkout, "wrangler.toml"), "utf8");
  return Object.fromEntries(
    [...toml.matchAll(/^name = "(\w+)"\nclass_name = "(\w+)"$/gm)].map(([, name, of]) => [
      name,
      of,
    ]),
  );
}

/** Also those that it has as comments, since no servlet of the project needs them: tests' servlets do. */
export const TEST_OBJECTS = {
  ...objectsIn(join(import.meta.dirname, "../..")),
  HOOKS: "Hooks",
  TRANSFERS: "Transfers",
};

export const OBJECTS = objectsIn(join(import.meta.dirname, "../.."));
