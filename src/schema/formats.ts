import { format } from "@cfworker/json-schema";
import { limits } from "../limits.ts";
import type { Formats } from "./keyword.ts";

/** The library's expressions take linear time, save this one; and a long text has none of the formats. */
const all: Formats = { ...format, url: (text) => URL.canParse(text) };

/** Formats that are asserted where the schema is known only at run time; in the bundle they are annotations. */
export const FORMATS: Formats = Object.fromEntries(
  Object.entries(all).map(([name, hasFormat]) => [
    name,
    (text: string) => text.length <= limits.formatCharacters && hasFormat(text),
  ]),
);
