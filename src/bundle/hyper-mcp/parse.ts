import { extname } from "node:path";
import { parse as parseToml, TomlError } from "smol-toml";
import { parseDocument } from "yaml";
import { Refusal } from "../refusal.ts";

/**
 * The value of a text in the format that the file's name says, as hyper-mcp tells them apart.
 *
 * Throws a `Refusal`. Its message has a place and nothing of the text, which may hold secrets.
 */
export function parseConfig(file: string, text: string): unknown {
  const extension = extname(file);
  switch (extension) {
    case ".json":
      try {
        JSON.parse(text);
      } catch {
        // The place is found below: JSON is YAML too.
        parseYaml(file, text, "JSON");
        throw new Refusal(`${file}: it is not valid JSON: correct it`);
      }
      // JSON.parse would keep one of two plugins with the same name.
      return parseYaml(file, text, "JSON");
    case ".yaml":
    case ".yml":
      return parseYaml(file, text, "YAML");
    case ".toml":
      try {
        return parseToml(text);
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

function parseYaml(file: string, text: string, format: string): unknown {
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error === undefined) return document.toJS({ maxAliasCount: 100 });
  const problem =
    error.code === "DUPLICATE_KEY" ? "a key is there twice" : `it is not valid ${format}`;
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
  throw new Refusal(`${file}: ${problem}: correct line ${line}, column ${col}`);
}
