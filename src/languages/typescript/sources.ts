/** What the texts of an author's modules show without being run, each with its place. */
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { variableOf } from "../../server/kernel/servlets/variables.ts";

/** A line of a file, for messages. */
export interface SourceLine {
  file: string;
  line: number;
}

export const at = ({ file, line }: SourceLine): string => `${file}:${line}`;

/** The author's files, by their paths below the server's folder. */
export type Sources = ReadonlyMap<string, string>;

/** The line of an offset in a text. */
export const lineAt = (text: string, offset: number): number =>
  text.slice(0, Math.max(0, offset)).split("\n").length;

/** Each match of a pattern in the sources, with its place. */
export function* matchesIn(
  sources: Sources,
  pattern: RegExp,
): Generator<RegExpExecArray & { place: SourceLine }> {
  for (const [file, text] of sources) {
    for (const found of text.matchAll(pattern)) {
      yield Object.assign(found, { place: { file, line: lineAt(text, found.index) } });
    }
  }
}

/** The first place of each name that a pattern finds. */
export function firstPlaces(sources: Sources, pattern: RegExp): Map<string, SourceLine> {
  const found = new Map<string, SourceLine>();
  for (const { 1: name, place } of matchesIn(sources, pattern)) {
    if (name !== undefined && !found.has(name)) found.set(name, place);
  }
  return found;
}

/** Variables that say how a server is started, which means nothing here. */
export const OF_PROCESS = new Set([
  "NODE_ENV",
  "PORT",
  "HOST",
  "PATH",
  "HOME",
  "DEBUG",
  "CI",
  "PWD",
  "USER",
]);
/** The variables that the sources read, but those of the process. */
export function variablesRead(sources: Sources): Map<string, SourceLine> {
  const found = firstPlaces(sources, /\bprocess\.env(?:\.|\[["'])([A-Za-z_]\w*)/g);
  const destructured = matchesIn(sources, /\{([^{}]*)\}\s*=\s*(?:process\.env|(?:this\.)?env)\b/g);
  for (const { 1: names = "", place } of destructured) {
    for (const [, name] of names.matchAll(/(?:^|,)\s*([A-Z]\w*)/g))
      if (!found.has(name!)) found.set(name!, place);
  }
  for (const [name, place] of firstPlaces(sources, /\b(?:this\.)?env\.([A-Z][A-Z0-9_]*)\b/g)) {
    if (!found.has(name)) found.set(name, place);
  }
  for (const name of OF_PROCESS) found.delete(name);
  return found;
}

/** What is kept in variables of modules, or in the state of an agent; undefined if nothing is. */
export function keptIn(sources: Sources): { place: SourceLine; what: string } | undefined {
  for (const { place } of matchesIn(sources, /\bthis\.setState\(/g))
    return { place, what: "the agent's state" };
  for (const [file, text] of sources) {
    const declared =
      /^(?:export\s+)?(?:let\s+(\w+)|const\s+(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:new\s+(?:Map|Set)\b|\[\]|\{\}))/gm;
    for (const found of text.matchAll(declared)) {
      const name = (found[1] ?? found[2])!;
      const written = new RegExp(
        `^[ \\t]+.*\\b${name}(?:\\.(?:set|add|delete|clear|push|pop|shift|unshift|splice)\\(|\\[[^\\]]+\\]\\s*=[^=]|\\.\\w+\\s*=[^=]|(?:\\s*[-+*]?=[^=]|\\+\\+|--))`,
        "m",
      );
      if (written.test(text.slice(found.index + found[0].length))) {
        return { place: { file, line: lineAt(text, found.index) }, what: `the variable ${name}` };
      }
    }
    const fields =
      /^[ \t]+(?:private\s+|protected\s+|readonly\s+|public\s+)*(#?\w+)(?:\s*:[^=;\n]+)?\s*=\s*(?:new\s+(?:Map|Set)\b|\[\]|\{\}|\d+\s*;)/gm;
    for (const found of text.matchAll(fields)) {
      const written = new RegExp(
        `\\bthis\\.${found[1]}(?:\\.(?:set|add|delete|clear|push|pop|shift|splice)\\(|\\[[^\\]]+\\]\\s*=[^=]|\\s*[-+]?=[^=]|\\+\\+|--)`,
      );
      if (/\bclass\b/.test(text.slice(0, found.index)) && written.test(text)) {
        return { place: { file, line: lineAt(text, found.index) }, what: `the field ${found[1]}` };
      }
    }
  }
  return undefined;
}

type Advice = readonly [RegExp, string];

const LOCALES: Advice = [
  /toLocale\w*String\(\s*["']|\bIntl\.\w+|\.localeCompare\([^)]*,/g,
  "there is no Intl in a servlet: format by a package, such as date-fns",
];

/** What has no meaning here, with what to do. */
export const ADVICE: readonly Advice[] = [
  [
    /\bnew\s+OAuthProvider\b|\bwithMcpAuth\(|\bmcpAuthRouter\(|\brequireBearerAuth\(/g,
    "sign-in is the server's, in front of its servlets, and this one is left out: docs/access.md",
  ],
  [
    /\bthis\.props\.(?!principal)\w+/g,
    "`this.props` has the caller's `principal` and nothing of a sign-in of its own",
  ],
  [
    /\b(?:requestInfo|req)\??\.headers\b/g,
    "servlets see no headers of HTTP: put the value into env_vars, or ask for it",
  ],
  [
    /\bextra\??\.authInfo\??\.token\b/g,
    "the caller's token is not given to servlets: use an account (docs/accounts.md)",
  ],
  [
    /\bextra\??\.sessionId\b/g,
    '"state": "session" keeps values for each session, without a map by its id',
  ],
  [/\bsetInterval\(/g, "work after the answer is lost: a call ends with its answer"],
  LOCALES,
];

/** The first place of each thing that has no meaning here, with what to do. */
export function noMeaningIn(sources: Sources, advice: readonly Advice[] = ADVICE): string[] {
  return advice.flatMap(([pattern, what]) => {
    const found = matchesIn(sources, pattern).next().value;
    return found === undefined ? [] : [`${at(found.place)}: ${what}`];
  });
}

/** Warnings for a server that was written for another SDK; `sources` has the files by the paths that messages name. */
export function warningsFor(sources: Sources, manifest: Manifest): string[] {
  const code = withoutComments(sources);
  const { env_vars = {}, allowed_secrets = [], state } = manifest;
  const known = new Set([...Object.keys(env_vars), ...allowed_secrets.map(variableOf)]);
  const unknown = [...variablesRead(code)].filter(([name]) => !known.has(name));
  const kept = state === undefined ? keptIn(code) : undefined;
  return [
    ...unknown.map(
      ([name, place]) =>
        `${at(place)}: it reads ${name}, which is undefined here: add it to env_vars or allowed_secrets in servlet.json`,
    ),
    ...(kept
      ? [
          `${at(kept.place)}: ${kept.what} changes in handlers, and each call begins anew: "state": "session" in servlet.json keeps it for a client's session, and "call" says that this is right`,
        ]
      : []),
    ...noMeaningIn(code),
  ];
}

/** Warnings for a servlet of the kit. */
export const localeWarnings = (sources: Sources): string[] =>
  noMeaningIn(withoutComments(sources), [LOCALES]);

/** The sources with blanks for comments. A text with two slashes in it may lose its line. */
const withoutComments = (sources: Sources): Sources =>
  new Map(
    [...sources].map(([file, text]) => [
      file,
      text.replaceAll(/\/\*[^]*?\*\/|(?<![:"'`\\])\/\/.*/g, (comment) =>
        comment.replaceAll(/./g, " "),
      ),
    ]),
  );
