/** Cap'n Proto's text format, the format of workerd's configuration. https://capnproto.org/language.html */

/** A file below an import path (`-I`), whose content becomes the value. */
export class Embed {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

/** A value. An object is a struct, whose undefined fields are omitted; null is `void`. */
type Value = string | number | boolean | null | Embed | readonly Value[] | Struct;

export interface Struct {
  readonly [field: string]: Value | undefined;
}

/** The text of a value. */
export function write(value: Value): string {
  if (value === null) return "void";
  if (value instanceof Embed) return `embed ${quoted(value.path)}`;
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object") return String(value);
  if (isList(value)) return `[${value.map(write).join(", ")}]`;
  const fields = Object.entries(value).flatMap(([name, field]) =>
    field === undefined ? [] : `${name} = ${write(field)}`,
  );
  return `(${fields.join(", ")})`;
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

/** A string literal in UTF-8, with the escapes of C, which do not include `\u`. */
const quoted = (text: string): string => `"${text.replace(/["\\]|\p{Cc}/gu, escaped)}"`;

/** Escapes a character; control characters above U+007F need no escape. */
const escaped = (character: string): string => {
  const code = character.charCodeAt(0);
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : character;
};
