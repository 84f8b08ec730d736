import { format } from "@cfworker/json-schema";
import { limits } from "../core/limits.ts";
import { mapValues } from "../core/values.ts";
import type { Formats } from "./keyword.ts";

/** The library's checks take linear time, except that of `url`, which is replaced. */
const all: Formats = { ...format, url: (text) => URL.canParse(text) };

/** Formats that are asserted in schemas received at run time; in the bundle's schemas they are annotations. */
export const FORMATS: Formats = mapValues(
  all,
  (hasFormat) => (text: string) => text.length <= limits.formatCharacters && hasFormat(text),
);
