/** Parses untrusted YAML in nearly linear time, which the parser alone does not guarantee. */
import { isScalar, parseDocument, visit } from "yaml";

/** The value of a YAML text, as JSON. Throws an `Error` with a one-line message if it is invalid. */
export function valueInYaml(text: string, maxAliasCount = 100): unknown {
  // The parser's own check compares each key with all others, and stringifies keys that are maps.
  const document = parseDocument(text, { uniqueKeys: false, logLevel: "error" });
  const [error] = document.errors;
  if (error) throw new Error(error.message.split("\n")[0]!.replace(/:$/, ""));
  visit(document, {
    Map: (_, { items }) => {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) throw new Error("Map keys must be texts");
        const name = String(key.value);
        if (names.has(name)) throw new Error(`Map keys must be unique: ${name} is there twice`);
        names.add(name);
      }
    },
  });
  try {
    return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount })) ?? "null");
  } catch {
    throw new Error("it has too many aliases, or circular ones: write the values out");
  }
}
