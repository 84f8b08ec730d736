import { readFileSync } from "node:fs";
import { join } from "node:path";

const toml = readFileSync(join(import.meta.dirname, "../../wrangler.toml"), "utf8");

/** The classes of the Durable Objects by the names of their bindings, as wrangler.toml has them. */
export const OBJECTS: Record<string, string> = Object.fromEntries(
  [...toml.matchAll(/^name = "(\w+)"\nclass_name = "(\w+)"$/gm)].map(([, name, of]) => [name, of]),
);
