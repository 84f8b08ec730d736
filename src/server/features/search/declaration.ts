/** Writes a tool for a model as the declaration of a TypeScript function. */
import { isObject, type Json, type Tool } from "../../kernel/core/model.ts";
import { beginningOf, printable, shortened } from "../../kernel/core/text.ts";

/** Maximum depth of written types, members and values of one type, and characters of a member's description. */
const [DEPTH, MEMBERS, VALUES, WORDS] = [6, 60, 20, 200];

/** The declaration of a tool. A type of more than `most` characters is written as `object`. */
export function declarationOf({ name, inputSchema, outputSchema }: Tool, most: number): string {
  const written = (schema: Json) => {
    const types = new Types(schema, 2 * most);
    const type = types.of(schema, "");
    return types.isCut || type.length > most ? "object" : type;
  };
  const result = outputSchema === undefined ? "unknown" : written(outputSchema);
  return `${name}(args: ${written(inputSchema)}): Promise<${result}>`;
}

/** Writes the types of a schema, whose references are within it. */
class Types {
  readonly #root: Json;
  /** Remaining characters and types: a small recursive schema could expand to billions. */
  #room: number;

  constructor(root: Json, room: number) {
    this.#root = root;
    this.#room = room;
  }

  get isCut(): boolean {
    return this.#room < 0;
  }

  of(schema: unknown, indent: string, depth = 0): string {
    if (--this.#room < 0 || !isObject(schema) || depth > DEPTH)
      return schema === false ? "never" : "unknown";
    const inner = (one: unknown) => this.of(one, indent, depth + 1);
    const { $ref: ref, enum: values, anyOf, oneOf, allOf, type } = schema;
    if (typeof ref === "string") return inner(this.#at(ref));
    if ("const" in schema) return this.#literal(schema["const"]);
    if (Array.isArray(values) && values.length <= VALUES)
      return joined(
        values.map((one) => this.#literal(one)),
        " | ",
      );
    for (const options of [anyOf, oneOf])
      if (Array.isArray(options)) return joined(options.slice(0, VALUES).map(inner), " | ");
    if (Array.isArray(allOf)) return joined(allOf.slice(0, VALUES).map(inner), " & ");
    const types: unknown[] = Array.isArray(type) ? type.slice(0, VALUES) : [type];
    return joined(
      types.map((one) => this.#named(one, schema, indent, depth)),
      " | ",
    );
  }

  #named(type: unknown, schema: Json, indent: string, depth: number): string {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return type;
      case "integer":
        return "number";
      case "array": {
        const item = this.of(schema["items"], indent, depth + 1);
        return /^[\w"]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
      }
      case "object":
        return this.#object(schema, indent, depth);
      default:
        return isObject(schema["properties"]) ? this.#object(schema, indent, depth) : "unknown";
    }
  }

  #object(
    { properties, required, additionalProperties: more }: Json,
    indent: string,
    depth: number,
  ) {
    const needed = new Set(Array.isArray(required) ? required : []);
    const within = `${indent}  `;
    const all = isObject(properties) ? Object.entries(properties) : [];
    const members = all.slice(0, MEMBERS).flatMap(([name, member]) => {
      if (this.isCut) return [];
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      const before = `${this.#commentOn(member, within)}${within}${key}${needed.has(name) ? "" : "?"}: `;
      this.#room -= before.length;
      return `${before}${this.of(member, within, depth + 1)};\n`;
    });
    if (isObject(more) || all.length > MEMBERS)
      members.push(`${within}[name: string]: ${this.of(more, within, depth + 1)};\n`);
    return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`;
  }

  /** The part of the schema that a reference names; undefined for a reference outside of it. */
  #at(ref: string): unknown {
    if (!ref.startsWith("#")) return undefined;
    let at: unknown = this.#root;
    for (const step of ref.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
    }
    return at;
  }

  #literal(value: unknown): string {
    const text = JSON.stringify(value) ?? "unknown";
    this.#room -= text.length;
    return shortened(text, WORDS);
  }

  /** A comment line with the description and default of a member; empty if it has neither. */
  #commentOn(member: unknown, indent: string): string {
    if (!isObject(member)) return "";
    const { description, default: usual } = member;
    const words = [
      ...(typeof description === "string" && description !== "" ? [description] : []),
      ...(usual === undefined ? [] : [`Default: ${this.#literal(usual)}`]),
    ];
    return words.length === 0 ? "" : `${indent}/** ${remark(words.join(" "))} */\n`;
  }
}

const joined = (types: readonly string[], by: string): string =>
  [...new Set(types)].join(by) || "unknown";

/** A text made safe for a one-line comment. */
export const remark = (text: string, most = WORDS): string =>
  printable(
    shortened(
      beginningOf(text, 4 * most)
        .replaceAll(/\s+/g, " ")
        .trim(),
      most,
    ),
  ).replaceAll("*/", "* /");
