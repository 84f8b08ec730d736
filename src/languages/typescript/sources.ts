/** Checks of an author's modules by patterns of their text; each finding has a file and a line. */
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { variableOf } from "../../server/kernel/servlets/variables.ts";
import { DOCS } from "../../tools/bundle/own.ts";

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
  for (const { 1: one, 2: name = one, place } of matchesIn(sources, pattern)) {
    if (name !== undefined && !found.has(name)) found.set(name, place);
  }
  return found;
}

/** Variables that configure a process, for which servlets have no use. */
export const OF_PROCESS = new Set([
  "NODE_ENV",
  "LANG",
  "PORT",
  "TZ",
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
  const found = firstPlaces(
    sources,
    /\bprocess\.env(?:\.([A-Za-z_]\w*)|\[["']([A-Za-z_]\w*)["']\])(?!\w|\s*=[^=])/g,
  );
  const destructured = matchesIn(sources, /\{([^{}]*)\}\s*=\s*(?:process\.env|(?:this\.)?env)\b/g);
  for (const { 1: names = "", place } of destructured) {
    for (const [, name] of names.matchAll(/(?:^|,)\s*([A-Z]\w*)/g))
      if (!found.has(name!)) found.set(name!, place);
  }
  const ofWorker =
    /(?<!import\.meta\.|process\.|\w)(?:this\.)?env\.([A-Z][A-Z0-9_]*)\b(?!\.(?:get|put|prepare|idFromName|getByName|fetch)\()/g;
  for (const [name, place] of firstPlaces(sources, ofWorker)) {
    if (!found.has(name)) found.set(name, place);
  }
  for (const name of found.keys())
    if (OF_PROCESS.has(name) || name.startsWith("npm_")) found.delete(name);
  return found;
}

/** Module variables and class fields whose initial value is a number, a text or a collection. */
const VARIABLE =
  /^(?:export\s+)?(?:let\s+(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\d|["']|new\s+(?:Map|Set)\b|\[|\{)|const\s+(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:new\s+(?:Map|Set)\b|\[\]|\{\}))/gm;
const FIELD =
  /^[ \t]+(?:private\s+|protected\s+|readonly\s+|public\s+)*(#?\w+)(?:\s*:[^=;\n]+)?\s*=\s*(?:new\s+(?:Map|Set)\b|\[\]|\{\}|\d+\s*;)/gm;
/** A write to the name before it. */
const WRITE = String.raw`(?:\.(?:set|add|delete|clear|push|pop|shift|unshift|splice)\(|\[[^\]]+\]\s*=[^=]|\.\w+\s*=[^=]|\s*[-+*]?=[^=]|\+\+|--)`;

/** The first module variable, class field or agent state that handlers change; undefined if there is none. */
export function keptIn(sources: Sources): { place: SourceLine; what: string } | undefined {
  for (const { place } of matchesIn(sources, /\bthis\.setState\(/g))
    return { place, what: "the agent's state" };
  for (const [file, text] of sources) {
    for (const found of text.matchAll(VARIABLE)) {
      const name = (found[1] ?? found[2])!;
      const written = new RegExp(`^[ \\t]+.*\\b${name}${WRITE}`, "m");
      if (written.test(text.slice(found.index + found[0].length))) {
        return { place: { file, line: lineAt(text, found.index) }, what: `the variable ${name}` };
      }
    }
    if (!/\bclass\b/.test(text)) continue;
    for (const found of text.matchAll(FIELD)) {
      if (new RegExp(`\\bthis\\.${found[1]}${WRITE}`).test(text))
        return { place: { file, line: lineAt(text, found.index) }, what: `the field ${found[1]}` };
    }
  }
  return undefined;
}

/** A pattern of a use, and what to do instead; files that match `unless` are exempt. */
type Advice = readonly [pattern: RegExp, instead: string, unless?: RegExp];

const LOCALES: Advice = [
  /toLocale\w*String\(\s*[^)\s]|\bIntl\.\w+|\.localeCompare\([^(),\n]*,/g,
  `servlets have no Intl, so locales are not known: use a package (${DOCS}/packages.md)`,
  // It handles the absence of Intl.
  /\btypeof\s+Intl\b/,
];

/** APIs without effect in a servlet, with the alternative. */
const ADVICE: readonly Advice[] = [
  [
    /\bnew\s+OAuthProvider\b|\bwithMcpAuth\(|\bmcpAuthRouter\(|\brequireBearerAuth\(/g,
    `sign-in is the server's, in front of its servlets, and this one is left out: ${DOCS}/access.md`,
  ],
  [
    /\bthis\.props[!?]?\.(?!principal)\w+/g,
    "`this.props` has the caller's `principal` and nothing of a sign-in of its own",
  ],
  [
    /\b(?:requestInfo|req)\??\.headers\b/g,
    "servlets see no headers of HTTP: put the value into env_vars, or ask for it",
  ],
  [
    /\bextra\??\.authInfo[!?]?\.token\b/g,
    `the caller's token is not given to servlets: use an account (${DOCS}/accounts.md)`,
  ],
  [
    /\bextra\??\.sessionId\b/g,
    '"state": "session" keeps values for each session, without a map by its id',
  ],
  [/\bsetInterval\(/g, "timers stop when the call has answered: finish the work before the answer"],
  LOCALES,
];

/** A message for the first use of each API that has no effect in a servlet. */
export function noMeaningIn(sources: Sources, advice: readonly Advice[] = ADVICE): string[] {
  return advice.flatMap(([pattern, instead, unless]) => {
    const texts = [...sources].filter(([, text]) => unless?.test(text) !== true);
    const found = matchesIn(new Map(texts), pattern).next().value;
    return found === undefined ? [] : [`${at(found.place)}: ${instead}`];
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
        `${at(place)}: ${name} is not in servlet.json, so it is undefined: add it to env_vars or allowed_secrets`,
    ),
    ...(kept
      ? [
          `${at(kept.place)}: handlers change ${kept.what}, but every call begins with new memory. Set "state" in servlet.json: "session" keeps it for a client's session, "call" accepts the loss`,
        ]
      : []),
    ...noMeaningIn(code),
  ];
}

/** Warnings for a servlet of the kit. */
export const localeWarnings = (sources: Sources): string[] =>
  noMeaningIn(withoutComments(sources), [LOCALES]);

/** Larger files, in characters, are not searched: they are data, or made by a bundler. */
const LARGE = 250_000;

/** Replaces comments with blanks, so that lines stay. `//` in a text may blank the rest of its line. */
const withoutComments = (sources: Sources): Sources =>
  new Map(
    [...sources]
      .filter(([, { length }]) => length <= LARGE)
      .map(([file, text]) => [
        file,
        text.replaceAll(/(?<![*"'`\\])\/\*[^]*?(?:\*\/|$)|(?<![:"'`\\])\/\/.*/g, (comment) =>
          comment.replaceAll(/./g, " "),
        ),
      ]),
  );
