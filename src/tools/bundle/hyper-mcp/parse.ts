import { extname } from "node:path";
import { parse as parseToml, TomlDate, TomlError } from "smol-toml";
import { isScalar, parseDocument, visit, type ParsedNode } from "yaml";
import { Refusal } from "../refusal.ts";

/** Maximum characters of a config, both as written and with its aliases expanded. Real ones have a few thousand. */
const CONFIG_CHARACTERS = 256 * 1024;
/** Maximum comparisons of keys: the parser compares each key of a map with all earlier keys. */
const COMPARISONS = 2_000_000;

/**
 * Parses a config as JSON, YAML or TOML, by the file's extension, as hyper-mcp does.
 *
 * A config has no numbers, so a number is read as the string that was written: `1.10` is a version.
 *
 * Throws a `Refusal` with the line and column, but nothing of the text, which may hold secrets.
 */
export function parseConfig(file: string, text: string): unknown {
  demandShort(file, text.length);
  let left = CONFIG_CHARACTERS;
  const count = (key: string, value: unknown) => {
    left -= key.length + (typeof value === "string" ? value.length : 1);
    if (left < 0) throw new Error("too long");
    return value;
  };
  try {
    // A YAML alias may lead back to itself, which JSON cannot express.
    return JSON.parse(JSON.stringify(parsed(file, text.replace(/^\uFEFF/, "")), count));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(
      `${file}: it nests too deeply, or its aliases repeat too much, lead back to themselves or to nothing, or it has too many keys: write it in a simpler way`,
    );
  }
}

/** Throws a `Refusal` for a config of too many characters. */
export function demandShort(file: string, length: number): void {
  if (length <= CONFIG_CHARACTERS) return;
  throw new Refusal(
    `${file}: it is too long (limit ${CONFIG_CHARACTERS} characters): import its plugins in parts`,
  );
}

function parsed(file: string, text: string): unknown {
  const extension = extname(file);
  switch (extension) {
    case ".json":
      try {
        JSON.parse(text);
      } catch {
        // JSON is also YAML, whose parser reports the line and column.
        parseYaml(file, text, "JSON");
        throw new Refusal(
          `${file}: it is not valid JSON: remove comments, and commas before } or ], or name it .yaml, which may have them`,
        );
      }
      // JSON.parse would keep one of two plugins with the same name.
      return parseYaml(file, text, "JSON");
    case ".yaml":
    case ".yml":
      return parseYaml(file, text, "YAML");
    case ".toml":
      try {
        return withTexts(parseToml(text, { integersAsBigInt: true }));
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        throw new Refusal(
          `${file}: it is not valid TOML: correct line ${error.line}, column ${error.column}`,
        );
      }
    default:
      throw new Refusal(
        `${file}: a hyper-mcp config is a .json, .yaml, .yml or .toml file: name it so`,
      );
  }
}

/** Converts integers to strings, at any depth. The original notation of fractions is lost. */
function withTexts(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== "object" || value === null || value instanceof TomlDate) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one)]));
}

function parseYaml(file: string, text: string, format: string): unknown {
  let left = COMPARISONS;
  const uniqueKeys = (one: ParsedNode, other: ParsedNode) => {
    if (--left < 0) throw new Error("too many keys");
    return one === other || (isScalar(one) && isScalar(other) && one.value === other.value);
  };
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys });
  if (left < 0) throw new Error("too many keys");
  const [error] = document.errors;
  if (error === undefined) {
    visit(document, {
      Scalar(_key, node) {
        if (typeof node.value === "number") node.value = node.source ?? node.value;
      },
    });
    return document.toJS({ maxAliasCount: 100 });
  }
  const problem =
    error.code === "DUPLICATE_KEY" ? "the same key occurs twice" : `it is not valid ${format}`;
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
  throw new Refusal(`${file}: ${problem}: correct line ${line}, column ${col}`);
}
