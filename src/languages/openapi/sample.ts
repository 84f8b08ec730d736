/** The call in a servlet's test, with the smallest values that the schemas allow. */
import { isObject } from "../../server/kernel/core/model.ts";
import { arrayLength, numberOf, textOf } from "../../server/kernel/schema/example.ts";
import type { ToolRequest, ApiTool, Argument } from "./api-tool.ts";
import type { Schemas, Shape } from "./schemas.ts";

/** A call with only the required arguments. */
export function sampleCall(
  args: readonly Argument[],
  path: ToolRequest["path"],
  schemas: Schemas,
): ApiTool["sample"] {
  const values = new Map(
    args.filter((one) => one.isRequired).map((one) => [one, sampleOf(one.shape, schemas)]),
  );
  const inPath = (one: Argument) =>
    [values.get(one)].flat().map((value) => encodeURIComponent(String(value)));
  const parts = path.map((part) => (typeof part === "string" ? part : inPath(part).join(",")));
  return {
    args: Object.fromEntries([...values].map(([{ name }, value]) => [name, value])),
    path: parts.join("").split("?")[0]!,
  };
}

function sampleOf(shape: Shape, schemas: Schemas, depth = 0): unknown {
  const { keywords, values, type, properties, required, choices, references } = shape;
  const {
    example,
    examples,
    default: usual = example ?? (Array.isArray(examples) ? examples[0] : undefined),
  } = keywords;
  const kind = type === "integer" ? "number" : type;
  const inner = (schema: unknown) =>
    sampleOf(schemas.shapeOf(schema, references), schemas, depth + 1);
  if (values.length > 0) return values[0];
  if (typeof usual === kind && usual !== "" && !(type === "object")) return usual;
  switch (type) {
    case "string":
      return textOf(keywords);
    case "integer":
    case "number":
      return numberOf({ ...keywords, type });
    case "boolean":
      return true;
    case "array":
      return depth > 8 ? [] : Array(arrayLength(keywords)).fill(inner(keywords["items"]));
    case "choice":
      return depth > 8 ? "example" : inner(choices[0]);
    case "object":
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required.has(name) && depth < 8)
          .map(([name, one]) => [name, inner(one)]),
      );
    default:
      return isObject(usual) ? usual : "example";
  }
}
