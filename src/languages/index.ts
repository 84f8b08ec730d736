/** The languages that servlets can be written in. */
import type { Language } from "../tools/bundle/language.ts";
import { assemblyScript } from "./compiled/assemblyscript.ts";
import { c } from "./compiled/c.ts";
import { go } from "./compiled/go.ts";
import { rust } from "./compiled/rust.ts";
import { zig } from "./compiled/zig.ts";
import { python } from "./python/language.ts";
import { typescript } from "./typescript/language.ts";

/** All languages, in the order in which messages name them and the bundle step detects them in a folder. */
export const LANGUAGES: readonly Language[] = [
  typescript,
  python,
  rust,
  go,
  c,
  zig,
  assemblyScript,
];
