/** Reads and checks `profiles.json`: its schema, the places of errors, and patterns that match nothing. */
import { join } from "node:path";
import { isMap, LineCounter, parseDocument, type Document } from "yaml";
import * as z from "zod";
import { isObject, type Lists, type Tool } from "../../server/kernel/core/model.ts";
import { nearest } from "../../server/kernel/core/nearest.ts";
import { once } from "../../server/kernel/core/once.ts";
import {
  mayIn,
  PATTERN_KINDS,
  pinned,
  PROFILE_NAME,
  RESERVED_PROFILES,
  valuesFor,
  type Profile,
} from "../../server/kernel/servlets/profiles.ts";
import { grants, SERVER_SERVLET } from "../../server/kernel/servlets/scopes.ts";
import { fits } from "../../server/kernel/core/glob.ts";
import type { Member } from "./bundle.ts";
import { Refusal } from "./refusal.ts";
import { valueOfJson } from "./scan.ts";
import type { SkillArchive } from "./skills.ts";
import { textIfThere } from "./text-file.ts";

const FILE = "profiles.json";

const patterns = (what: string) =>
  z
    .array(z.string().regex(/^[^:]+:./, 'must be "servlet:name", in which * stands for anything'))
    .describe(
      `${what}, as \`servlet:name\`; \`*\` stands for anything. All those of \`servlets\` by default.`,
    );

/** A profile in `profiles.json`. Every key has a description, which editors show. */
const profileSchema = once(() =>
  z
    .strictObject({
      title: z.string().min(1).describe("What people see as its name."),
      description: z.string().min(1).describe("What it is for, in a sentence."),
      instructions: z
        .string()
        .min(1)
        .describe("What models are told of it, in place of the server's instructions."),
      servlets: z
        .array(
          z
            .string()
            .min(1)
            .regex(/^[^:]*$/, "must be the name of a servlet, without a colon"),
        )
        .describe(
          "Servlets that it has, as names in which `*` stands for anything; `server` has the skills of the project.",
        ),
      tools: z
        .union([patterns("The tools that it has"), z.literal("search")])
        .describe(
          "The tools that it has; or `search`: all those of `servlets`, of which models find by `search_tools` what `listed` does not list.",
        ),
      listed: patterns("The tools that are listed where tools are searched"),
      as_tools: z
        .array(z.enum(["resources", "prompts"]))
        .describe(
          "Tools list and read its resources or prompts, too: for clients that have only tools.",
        ),
      prompts: patterns("The prompts that it has"),
      resources: patterns("The URIs of the resources and templates that it has"),
      skills: patterns("The skills that it has"),
      arguments: z
        .record(
          z.string().regex(/^[^:]+:./, 'must be "servlet:tool"'),
          z.record(z.string(), z.unknown()),
        )
        .describe(
          "Arguments that each call of a tool is given, by `servlet:tool`: clients neither see nor send them. With `*`, those of each tool that has such an argument.",
        ),
    })
    .partial()
    .refine(({ tools, listed }) => listed === undefined || tools === "search", {
      path: ["listed"],
      message: 'is for profiles with "tools": "search"',
    }),
);

/** The keys that the empty name, which stands for the whole server, may have. */
const WHOLE = new Set(["tools", "listed", "as_tools"]);

/** The JSON Schema of `profiles.json`. */
export function profilesJsonSchema(): object {
  const { $schema, ...profile } = z.toJSONSchema(profileSchema());
  return {
    $schema,
    type: "object",
    properties: {
      $schema: { type: "string", description: "Where this file's JSON Schema is, for editors." },
    },
    patternProperties: { [PROFILE_NAME.source]: profile, "^$": profile },
    additionalProperties: false,
  };
}

/** The profiles of a project. */
export interface ProfilesFile {
  profiles: Record<string, Profile>;
  /** Throws a `Refusal` with the line and column of the part at this path. */
  refuse(path: readonly string[], why: string): never;
}

/** The profiles of the project in this folder; undefined if it has none. Throws a `Refusal`. */
export async function readProfiles(folder: string): Promise<ProfilesFile | undefined> {
  const path = join(folder, FILE);
  const content = await textIfThere(path);
  if (content === undefined) return undefined;
  const text = content.replace(/^\uFEFF/, "");
  const value = await valueOfJson(path, text);
  const lines = new LineCounter();
  // Parsed as YAML only for the positions.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const at = (offset: number | undefined): string => {
    if (offset === undefined) return path;
    const { line, col } = lines.linePos(offset);
    return `${path}: line ${line}, column ${col}`;
  };
  const refuse = (of: readonly string[], why: string): never => {
    throw new Refusal(
      `${at(offsetOf(document, of))}: ${[of.join("."), why].filter(Boolean).join(": ")}`,
    );
  };
  const twice = document.errors.find(({ code }) => code === "DUPLICATE_KEY");
  if (twice)
    throw new Refusal(`${at(twice.pos[0])}: a key stands there for the second time: remove one`);
  if (!isObject(value)) return refuse([], "must be an object of profiles, by their names");
  const { $schema: _, ...named } = value;
  for (const [name, profile] of Object.entries(named)) demandProfile(name, profile, refuse);
  return { profiles: named as Record<string, Profile>, refuse };
}

function demandProfile(name: string, profile: unknown, refuse: ProfilesFile["refuse"]): void {
  if (name === "" && isObject(profile)) {
    const isOther = (key: string) =>
      key === "tools" ? profile[key] !== "search" : !WHOLE.has(key);
    const other = Object.keys(profile).find(isOther);
    if (other !== undefined)
      refuse(
        [name, other],
        'the empty name stands for the whole server, which may have "tools": "search", "listed" and "as_tools" alone',
      );
  } else if (!PROFILE_NAME.test(name))
    refuse(
      [name],
      "is no name of a profile: use small letters, digits and hyphens, at most 32, a letter first",
    );
  if (RESERVED_PROFILES.has(name)) refuse([name], "is a path of the server: choose another name");
  const read = profileSchema().safeParse(profile);
  const [first] = read.error?.issues ?? [];
  if (first === undefined) return;
  // For a union of a list and a word, report the error of the list.
  const [inList] = first.code === "invalid_union" ? (first.errors[0] ?? []) : [];
  const issue = inList ?? first;
  const path = [name, ...first.path, ...(inList?.path ?? [])].map(String);
  if (issue.code !== "unrecognized_keys")
    return refuse(path, issue.code === "invalid_key" ? issue.issues[0]!.message : issue.message);
  const [key = ""] = issue.keys;
  const known = Object.keys(profileSchema().shape);
  const meant = nearest(key, known);
  refuse(
    [...path, key],
    `is unknown; ${meant === undefined ? `known are ${known.join(", ")}` : `did you mean ${meant}?`}`,
  );
}

/** The offset of the key or list item at this path; undefined for the whole document. */
function offsetOf(document: Document, path: readonly string[]): number | undefined {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  const parent: unknown =
    path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => String(key) === last);
    return (pair?.key as { range?: [number] } | undefined)?.range?.[0];
  }
  const item = document.getIn(
    path.map((one) => (/^\d+$/.test(one) ? Number(one) : one)),
    true,
  );
  return (item as { range?: [number] } | undefined)?.range?.[0];
}

/** The entries of the bundle that patterns can match. */
interface Entries {
  servlets: { name: string; isDynamic: boolean }[];
  /** By kind: the servlet, and the name that patterns match. */
  named: Record<(typeof PATTERN_KINDS)[number], [servlet: string, name: string][]>;
  tools: { servlet: string; tool: Tool }[];
}

/**
 * Checks the profiles against the bundle. Returns warnings about patterns that match nothing. Throws a `Refusal` for
 * arguments that cannot be pinned.
 */
export function checkProfiles(
  { profiles, refuse }: ProfilesFile,
  members: readonly Member[],
  skills: SkillArchive | undefined,
): string[] {
  const entries = entriesOf(members, skills);
  const warnings: string[] = [];
  for (const [name, profile] of Object.entries(profiles)) {
    const idle = (path: string, pattern: string) =>
      warnings.push(`${FILE}: ${name}.${path}: ${pattern} matches nothing in the bundle`);
    for (const glob of profile.servlets ?? [])
      if (!entries.servlets.some((one) => fits(glob, one.name))) idle("servlets", glob);
    for (const kind of PATTERN_KINDS)
      for (const pattern of profile[kind] === "search" ? [] : (profile[kind] ?? []))
        if (!matchesAny(pattern, kind, entries)) idle(kind, pattern);
    for (const pattern of profile.listed ?? [])
      if (!matchesAny(pattern, "tools", entries)) idle("listed", pattern);
    demandPinnable(name, profile, { entries, refuse, idle });
  }
  return warnings;
}

const isOpen = (pattern: string, { servlets }: Entries): boolean =>
  servlets.some(({ name, isDynamic }) => isDynamic && fits(pattern.split(":", 1)[0]!, name));

const matchesAny = (pattern: string, kind: (typeof PATTERN_KINDS)[number], entries: Entries) =>
  isOpen(pattern, entries) ||
  entries.named[kind].some(([servlet, name]) => grants(pattern, servlet, name));

function demandPinnable(
  name: string,
  profile: Profile,
  {
    entries,
    refuse,
    idle,
  }: {
    entries: Entries;
    refuse: ProfilesFile["refuse"];
    idle(path: string, pattern: string): void;
  },
): void {
  const may = mayIn(profile);
  const all = profile.arguments ?? {};
  const unused = new Set(Object.keys(all).filter((pattern) => !isOpen(pattern, entries)));
  for (const { servlet, tool } of entries.tools) {
    if (!may(servlet, tool.name, "tools")) continue;
    const values = valuesFor(all, servlet, tool);
    if (Object.keys(values).length === 0) continue;
    const fitting = Object.keys(all).filter((pattern) => grants(pattern, servlet, tool.name));
    for (const pattern of fitting) unused.delete(pattern);
    const shown = pinned(tool, values);
    if (typeof shown === "string")
      refuse(
        [name, "arguments", fitting[0]!],
        `${servlet}:${tool.name} cannot be given ${Object.keys(values).join(", ")}: ${shown}`,
      );
  }
  for (const pattern of unused) idle("arguments", pattern);
}

function entriesOf(members: readonly Member[], skills: SkillArchive | undefined): Entries {
  const of = members.map((member) => ({
    name: member.found.name,
    lists: member.lists,
    skills: member.skills?.skills.skills ?? [],
  }));
  const named = <K extends keyof Lists>(
    kind: K,
    by: keyof Lists[K][number],
  ): [servlet: string, name: string][] =>
    of.flatMap(({ name, lists }) =>
      (lists?.[kind] ?? []).map((one: Lists[K][number]): [string, string] => [
        name,
        String(one[by]),
      ]),
    );
  return {
    servlets: [
      ...of.map(({ name, lists }) => ({ name, isDynamic: lists === undefined })),
      { name: SERVER_SERVLET, isDynamic: false },
    ],
    tools: of.flatMap(({ name, lists }) =>
      (lists?.tools ?? []).map((tool) => ({ servlet: name, tool })),
    ),
    named: {
      tools: named("tools", "name"),
      prompts: named("prompts", "name"),
      resources: [...named("resources", "uri"), ...named("resourceTemplates", "uriTemplate")],
      skills: [
        ...of.flatMap((one) => one.skills.map(({ path }): [string, string] => [one.name, path])),
        ...(skills?.skills.skills ?? []).map(({ path }): [string, string] => [
          SERVER_SERVLET,
          path,
        ]),
      ],
    },
  };
}
