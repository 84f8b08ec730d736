/** Compiles the checks of tools' arguments and results, for a Worker has no `eval`. */
import type { Ajv as AjvType } from "ajv";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { build } from "esbuild";
import type { Json } from "../model.ts";

const options = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  code: { source: true, esm: true },
};

/** The code of one check, as an ES module whose default export is the check. Throws what is wrong with the schema. */
export function compileCheck(schema: Json): string {
  const dialect = typeof schema["$schema"] === "string" ? schema["$schema"] : "2020-12";
  let ajv: AjvType;
  if (dialect.includes("2020-12")) ajv = new Ajv2020(options);
  else if (dialect.includes("draft-07")) ajv = new Ajv(options);
  else throw new Error(`its dialect ${dialect} is not known here: use 2020-12 or draft-07`);
  return standalone.default(ajv, ajv.compile(schema));
}

/** One script that defines `checks`, an object of checks by these names. */
export async function bundleChecks(modules: ReadonlyMap<string, string>): Promise<string> {
  const names = [...modules.keys()];
  const built = await build({
    stdin: {
      contents: names
        .map((name) => `export { default as ${name} } from "check:${name}";`)
        .join("\n"),
      resolveDir: import.meta.dirname,
    },
    plugins: [
      {
        name: "checks",
        setup(on) {
          on.onResolve({ filter: /^check:/ }, ({ path }) => ({ path, namespace: "check" }));
          on.onLoad({ filter: /.*/, namespace: "check" }, ({ path }) => ({
            contents: modules.get(path.slice("check:".length))!,
            resolveDir: import.meta.dirname,
          }));
        },
      },
    ],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    globalName: "checks",
    target: "es2024",
  });
  return built.outputFiles[0]!.text;
}
