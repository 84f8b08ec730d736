/** Makes zod as small as what a servlet uses of it. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Plugin } from "esbuild";
import { packageOf } from "./packages.ts";

/** `import { z } from "zod"`, perhaps with other names, and `import z from "zod"`. */
const IMPORT =
  /\bimport\s+(?:\{([^}]*\bz\b[^}]*)\}|z)\s+from\s*(["'])(zod(?:\/v[34]|\/mini|\/v4-mini|\/v4\/mini)?)\2/g;

/**
 * The text with `z` imported as a namespace, which has the same members: of it alone the bundler leaves out what the text does
 * not use. The lines stay.
 */
export const withNamespace = (text: string): string =>
  text.replaceAll(IMPORT, (whole, names: string | undefined, _quote, from: string) => {
    const others = (names ?? "z").split(",").map((name) => name.trim());
    if (!others.includes("z")) return whole;
    const rest = others.filter((name) => name !== "z" && name !== "");
    const also = rest.length === 0 ? "" : `; import { ${rest.join(", ")} } from "${from}"`;
    return `import * as z from "${from}"${also}`;
  });

const LOADERS = { ts: "ts", tsx: "tsx", js: "js", jsx: "jsx" } as const;

export const smallZod: Plugin = {
  name: "small zod",
  setup(on) {
    // The messages of zod 4 in fifty languages are half of it.
    on.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path }) => ({
      contents: 'export { default as en } from "./en.js";',
      resolveDir: dirname(path),
    }));
    on.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, async ({ path }) => {
      if (packageOf(path) !== undefined) return undefined;
      const text = await readFile(path, "utf8");
      const contents = withNamespace(text);
      if (contents === text) return undefined;
      const [, extension] = /\.[cm]?([jt]sx?)$/.exec(path)!;
      return {
        contents,
        loader: LOADERS[extension as keyof typeof LOADERS],
        resolveDir: dirname(path),
      };
    });
  },
};
