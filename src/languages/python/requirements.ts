/** Parses requirements of Python packages and checks versions against them: https://peps.python.org/pep-0508 */
import { satisfies, valid } from "@renovatebot/pep440";
import { Refusal } from "../../tools/bundle/refusal.ts";

export interface Requirement {
  /** The original line. */
  text: string;
  /** The normalized name. */
  name: string;
  /** Version specifiers; empty for any version: https://peps.python.org/pep-0440/#version-specifiers */
  versions: string;
  extras: string[];
  /** Condition on the environment; empty if there is none. */
  marker: string;
  /** Permitted SHA-256 digests of its wheel; empty for any. */
  digests: string[];
  /** The origin of the requirement for messages: a line of a file, or a package with its version. */
  by: string;
}

/** Marker variables and their values in a servlet. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  python_version: "3.14",
  python_full_version: "3.14.0",
  implementation_version: "3.14.0",
  os_name: "posix",
  sys_platform: "wasi",
  platform_system: "WASI",
  platform_machine: "wasm32",
  platform_python_implementation: "CPython",
  implementation_name: "cpython",
};

/** The requirements in a `requirements.txt` with true markers in a servlet. Throws a `Refusal` for an invalid line. */
export function requirementsIn(text: string, file: string): Requirement[] {
  const found: Requirement[] = [];
  let begun = "";
  for (const [nth, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (line.endsWith("\\")) {
      begun += `${line.slice(0, -1)} `;
      continue;
    }
    const whole = `${begun}${line}`.replace(/(^|\s)#.*$/, "").trim();
    begun = "";
    if (whole === "") continue;
    const place = `${file}:${nth + 1}`;
    const one = requirementOf(whole, place);
    if (one === undefined)
      throw new Refusal(
        `${place}: write a package and its version, such as jinja2==3.1.6, not ${whole}`,
      );
    if (isWanted(one.marker, [])) found.push(one);
  }
  return found;
}

/** Parses a requirement; undefined for other lines, such as pip options. */
export function requirementOf(line: string, by: string): Requirement | undefined {
  const digests = [...line.matchAll(/\s--hash=sha256:([0-9a-f]{64})(?=\s|$)/g)];
  const match =
    /^([A-Za-z0-9][\w.-]*) ?(?:\[([^\]]*)\])? ?(?:\(([^)]*)\)|((?:(?:[<>]=?|[!~]=|={2,3}) ?[\w.*+!-]+ ?(?:, ?)?)+))? ?(?:;(.*))?$/.exec(
      line
        .replaceAll(/\s--hash=\S+/g, "")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );
  if (match === null) return undefined;
  const [, name = "", extras = "", inBrackets, plain, marker = ""] = match;
  return {
    text: line,
    name: normal(name),
    versions: (inBrackets ?? plain ?? "").trim(),
    extras: extras
      .split(",")
      .map((one) => normal(one.trim()))
      .filter(Boolean),
    marker: marker.trim(),
    digests: digests.map(([, digest]) => digest!),
    by,
  };
}

/** The normalized name of a package: https://peps.python.org/pep-0503 */
export const normal = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, "-");

/** True if a version meets these version specifiers. */
export const isAmong = (version: string, versions: string): boolean =>
  versions === "" ||
  satisfies(
    version,
    // Old packages write a trailing comma, and `>=2.7.*`: `satisfies` accepts neither.
    versions.replace(/,\s*$/, "").replaceAll(/([<>]=?\s*[\d.]+)\.\*/g, "$1"),
  );

/** True if the Python of servlets meets a package's `Requires-Python`. */
export const fitsPython = (versions: string): boolean =>
  isAmong(ENVIRONMENT["python_full_version"]!, versions);

/** Maximum number of a marker's tokens: each nested parenthesis is a recursive call. */
const MOST_TOKENS = 1_000;

/** True if a marker is true in a servlet. An invalid marker counts as true, since an unneeded package does no harm. */
export function isWanted(marker: string, extras: readonly string[]): boolean {
  if (marker === "") return true;
  const tokens = marker.match(/\(|\)|"[^"]*"|'[^']*'|[<>=!~]=?=?|not\s+in|\w+/g) ?? [];
  if (tokens.length > MOST_TOKENS) return true;
  let at = 0;
  const either = (): boolean => {
    let value = both();
    while (tokens[at] === "or") {
      at++;
      value = both() || value;
    }
    return value;
  };
  const both = (): boolean => {
    let value = one();
    while (tokens[at] === "and") {
      at++;
      value = one() && value;
    }
    return value;
  };
  const one = (): boolean => {
    if (tokens[at] === "(") {
      at++;
      const value = either();
      at++;
      return value;
    }
    const [left = "", operator = "", right = ""] = tokens.slice(at, (at += 3));
    if (left === "extra") {
      const isAsked = extras.includes(normal(right.slice(1, -1)));
      return operator === "!=" ? !isAsked : isAsked;
    }
    const valueOf = (token: string) =>
      /^["']/.test(token) ? token.slice(1, -1) : (ENVIRONMENT[token] ?? "");
    const [a, b] = [valueOf(left), valueOf(right)];
    if (operator === "in") return b.includes(a);
    if (operator.startsWith("not")) return !b.includes(a);
    if (/version/.test(`${left}${right}`))
      return valid(a) === null || isAmong(a, `${operator}${b}`);
    return operator === "!=" ? a !== b : operator === "==" ? a === b : true;
  };
  return either();
}
