import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const toml = readFileSync(join(import.meta.dirname, "../../wrangler.toml"), "utf8");

/** The classes of the Durable Objects by the names of their bindings, as wrangler.toml has them. */
export const OBJECTS: Record<string, string> = Object.fromEntries(
  [...toml.matchAll(/^name = "(\w+)"\nclass_name = "(\w+)"$/gm)].map(([, name, of]) => [name, of]),
);

/** Wrangler's configuration of the Worker of the tests, with all Durable Objects. */
export const testWorker = (name: string, vars: Record<string, string> = {}) => ({
  name,
  main: resolve("test/worker/index.ts"),
  compatibility_date: "2026-09-01",
  compatibility_flags: ["enable_request_signal", "global_fetch_strictly_public"],
  durable_objects: {
    bindings: Object.entries(OBJECTS).map(([binding, class_name]) => ({
      name: binding,
      class_name,
    })),
  },
  migrations: [{ tag: "v1", new_sqlite_classes: Object.values(OBJECTS) }],
  vars: { SEASON: "plums", ...vars },
});
