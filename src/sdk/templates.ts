/** A URI template (RFC 6570), made to be matched. */
export interface Template {
  names: string[];
  /** The variables of a URI of this form; undefined where it has another. */
  match(uri: string): Record<string, string> | undefined;
}

/** Each operator's prefix, separator, and what a value may be. `?` and `&` name their values. */
const OPERATORS: Record<string, readonly [prefix: string, separator: string, value: string]> = {
  "": ["", ",", "[^/?#,]*?"],
  "+": ["", ",", ".*?"],
  "#": ["#", ",", ".*?"],
  ".": [".", ".", "[^/?#.]*?"],
  "/": ["/", "/", "[^/?#]*?"],
  ";": [";", ";", "[^/?#;]*?"],
  "?": ["?", "&", "[^&#]*"],
  "&": ["&", "&", "[^&#]*"],
};

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function template(source: string): Template {
  const names: string[] = [];
  const queries: string[] = [];
  const expression = (operator: string, variables: string): string => {
    const [prefix, separator, value] = OPERATORS[operator] as (typeof OPERATORS)[string] & object;
    const named = variables.split(",").map((one) => {
      const [, name = "", modifier] = /^([\w.%]+)(\*|:\d+)?$/.exec(one.trim()) ?? [];
      if (name === "")
        throw new Error(
          `The URI template "${source}" has a bad expression: {${operator}${variables}}.`,
        );
      return { name, many: modifier === "*" };
    });
    if (operator === "?" || operator === "&") {
      queries.push(...named.map(({ name }) => name));
      return `(?:[?&][^#]*)?`;
    }
    names.push(...named.map(({ name }) => name));
    return named
      .map(({ name, many }, index) => {
        const start = escaped(index === 0 ? prefix : separator);
        const key = operator === ";" ? `${escaped(name)}=?` : "";
        return `${start}${key}(${many && operator === "/" ? "[^?#]*?" : value})`;
      })
      .join("");
  };
  let pattern = "";
  let at = 0;
  for (const { 0: whole, 1: operator = "", 2: variables = "", index } of source.matchAll(
    /\{([+#./;?&]?)([^{}]*)\}/g,
  )) {
    pattern += escaped(source.slice(at, index)) + expression(operator, variables);
    at = index + whole.length;
  }
  const form = new RegExp(`^${pattern}${escaped(source.slice(at))}$`);
  return {
    names: [...names, ...queries],
    match(uri) {
      const found = form.exec(uri);
      if (!found) return undefined;
      const variables: Record<string, string> = {};
      names.forEach((name, index) => {
        const value = found[index + 1];
        if (value !== undefined) variables[name] = decoded(value);
      });
      for (const pair of queries.length === 0
        ? []
        : (/\?([^#]*)/.exec(uri)?.[1] ?? "").split("&")) {
        const [name = "", ...value] = pair.split("=");
        if (queries.includes(decoded(name))) variables[decoded(name)] = decoded(value.join("="));
      }
      return variables;
    },
  };
}
