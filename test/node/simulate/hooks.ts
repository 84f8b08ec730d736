import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** Lets Node load what a Worker imports: compiled modules, bytes, and the platform's own module. */
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
    const kind = /\.(wasm|bin)$/.exec(url)?.[1];
    if (kind === undefined) return next(url, context);
    const path = JSON.stringify(fileURLToPath(url));
    const read = `import { readFileSync } from "node:fs"; const bytes = readFileSync(${path});`;
    const value =
      kind === "wasm" ? "new WebAssembly.Module(bytes)" : "new Uint8Array(bytes).buffer";
    return { format: "module", source: `${read} export default ${value};`, shortCircuit: true };
  },
});
