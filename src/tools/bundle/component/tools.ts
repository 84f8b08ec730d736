/** The tools of a component: their names and JSON Schemas, from the types of its functions. */
import { Refusal } from "../refusal.ts";
import { oncePer } from "../../../server/kernel/core/once-per.ts";
import { typeSize, type ComponentOutline, type NamedType, type ValueType } from "./component.ts";

type Schema = Readonly<Record<string, unknown>>;
type Exported = ComponentOutline["exports"][number];

const INTEGERS: Readonly<Record<string, readonly [number, number]>> = {
  u8: [0, 0xff],
  s8: [-0x80, 0x7f],
  u16: [0, 0xffff],
  s16: [-0x8000, 0x7fff],
  u32: [0, 0xffffffff],
  s32: [-0x80000000, 0x7fffffff],
};

/** Integers of 64 bits: a number as far as JSON readers keep it, else a string. */
const long = (isSigned: boolean): Schema => ({
  anyOf: [
    {
      type: "integer",
      minimum: isSigned ? -Number.MAX_SAFE_INTEGER : 0,
      maximum: Number.MAX_SAFE_INTEGER,
    },
    { type: "string", pattern: isSigned ? "^-?[0-9]{1,19}$" : "^[0-9]{1,20}$" },
  ],
});

const only = (name: string, value: Schema): Schema => ({
  type: "object",
  properties: { [name]: value },
  required: [name],
  additionalProperties: false,
});

function schemaOf(type: ValueType): Schema {
  switch (type.kind) {
    case "bool":
      return { type: "boolean" };
    case "f32":
    case "f64":
      return { type: "number" };
    case "u64":
    case "s64":
      return long(type.kind === "s64");
    case "char":
      return { type: "string", minLength: 1, maxLength: 1 };
    case "string":
      return { type: "string" };
    case "list":
      return { type: "array", items: schemaOf(type.of) };
    case "tuple": {
      const { length } = type.of;
      return {
        type: "array",
        prefixItems: type.of.map(schemaOf),
        minItems: length,
        maxItems: length,
      };
    }
    case "record":
      return objectOf(type.fields);
    case "variant":
      return {
        oneOf: type.cases.map((one) => ({
          type: "object",
          properties: {
            tag: { const: one.name },
            ...(one.type !== undefined && { val: schemaOf(one.type) }),
          },
          required: one.type === undefined ? ["tag"] : ["tag", "val"],
          additionalProperties: false,
        })),
      };
    case "enum":
      return { type: "string", enum: type.names };
    case "flags":
      return { type: "array", items: { type: "string", enum: type.names }, uniqueItems: true };
    case "option":
      return { anyOf: [{ type: "null" }, schemaOf(type.of)] };
    case "result": {
      const nothing = { type: "null" };
      const { ok, err } = type;
      return {
        oneOf: [
          only("ok", ok === undefined ? nothing : schemaOf(ok)),
          only("err", err === undefined ? nothing : schemaOf(err)),
        ],
      };
    }
    case "handle":
    case "stream":
    case "future":
      return {};
    default: {
      const [minimum, maximum] = INTEGERS[type.kind]!;
      return { type: "integer", minimum, maximum };
    }
  }
}

const objectOf = (fields: readonly NamedType[]): Schema => ({
  type: "object",
  properties: Object.fromEntries(fields.map(({ name, type }) => [name, schemaOf(type)])),
  required: fields.filter(({ type }) => type.kind !== "option").map(({ name }) => name),
  additionalProperties: false,
});

/** The value of a call that succeeds: of a `result`, what is in its `ok`. */
export const valueOf = (result: ValueType | undefined): ValueType | undefined =>
  result?.kind === "result" ? result.ok : result;

/** The name that clients of wassette know the tool by: `local:shop/prices` and `find` become `local_shop_prices_find`. */
export const toolName = (one: Exported): string =>
  [...(one.interface === undefined ? [] : [one.interface]), one.name]
    .map((part) => part.toLowerCase().replaceAll(/[^a-z0-9-]/g, "_"))
    .join("_");

/** The tool of an exported function, as a client sees it. */
export function componentTool(one: Exported): object {
  const { params, result } = one.function.type;
  const value = valueOf(result);
  return {
    name: toolName(one),
    description: `Calls ${one.name}${one.interface === undefined ? "" : ` of ${one.interface}`}.`,
    inputSchema: objectOf(params),
    ...(value !== undefined && {
      outputSchema: {
        type: "object",
        properties: { result: schemaOf(value) },
        required: ["result"],
      },
    }),
  };
}

/** Each has a schema and code of its own. No client shows more. */
const MOST_TOOLS = 200;
/** Parts of the types of all tools: each has a place in a schema, and code. So many are compiled in ten seconds. */
const MOST_PARTS = 10_000;

/** The exported functions that are for callers. */
const exportedBy = ({ exports }: ComponentOutline): Exported[] =>
  exports.filter(
    ({ interface: from = "", name }) =>
      !from.startsWith("wasi:") &&
      // componentize-py calls it while it builds a component.
      !(from === "exports" && name === "init"),
  );

const passesHandle = ({ function: { type } }: Exported): boolean =>
  [type.result, ...type.params.map((one) => one.type)].some(hasHandle);

/** The names of exported functions that are no tools, as they take or give what no JSON can stand for. */
export const leftOut = (outline: ComponentOutline): string[] =>
  exportedBy(outline).filter(passesHandle).map(toolName);

/** The exported functions that are tools. Throws a `Refusal` for none, and for too many. */
export function componentTools(outline: ComponentOutline): Exported[] {
  const found = exportedBy(outline).filter((one) => !passesHandle(one));
  if (found.length > MOST_TOOLS)
    throw new Refusal(
      `the component exports ${found.length} functions, and at most ${MOST_TOOLS} can be tools: export fewer`,
    );
  if (found.reduce((sum, one) => sum + typeSize(one.function.type), 0) > MOST_PARTS)
    throw new Refusal(
      "the types of the component's functions have too many parts together: export fewer or simpler functions",
    );
  if (found.length > 0) return found;
  throw new Refusal(
    "the component exports no function that could be a tool: export functions of values, without resources, streams and futures",
  );
}

/** True if a type has a resource, a stream or a future in it, which no JSON can stand for. */
const hasHandle = (type: ValueType | undefined): boolean => type !== undefined && holdsHandle(type);

const holdsHandle = oncePer((type: ValueType): boolean => {
  if (type.kind === "record") return type.fields.some((one) => hasHandle(one.type));
  if (type.kind === "variant") return type.cases.some((one) => hasHandle(one.type));
  if (type.kind === "tuple") return type.of.some(hasHandle);
  if (type.kind === "list" || type.kind === "option") return hasHandle(type.of);
  if (type.kind === "result") return hasHandle(type.ok) || hasHandle(type.err);
  return ["handle", "stream", "future"].includes(type.kind);
});
