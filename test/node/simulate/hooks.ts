import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** The module that a file's bytes are imported as. */
const VALUES = {
  wasm: "new WebAssembly.Module(bytes)",
  bin: "new Uint8Array(bytes).buffer",
  txt: "String(bytes)",
};

/** Lets Node load what a Worker imports: compiled modules, bytes, texts, and the platform's own module. */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "cloudflare:workers") return next(specifier, context);
    return {
      url: new URL("workers.ts", import.meta.url).href,
      format: "module-typescript",
      shortCircuit: true,
    };
  },
  load(url, context, next) {
    const kind = /\.(wasm|bin|txt)$/.exec(url)?.[1] as keyof typeof VALUES | undefined;
    if (kind === undefined) return next(url, context);
    const path = JSON.stringify(fileURLToPath(url));
    const read = `import { readFileSync } from "node:fs"; const bytes = readFileSync(${path});`;
    const source = `${read} export default ${VALUES[kind]};`;
    return { format: "module", source, shortCircuit: true };
  },
});
