/** Arguments of calls as pages show them: beginnings only, without secrets. */
import { limits } from "../core/limits.ts";
import { isObject } from "../core/model.ts";
import { beginningOf, printableLine, shortened } from "../core/text.ts";
import { secretsIn } from "../schema/secrets.ts";
import type { Entry } from "../servlets/registry.ts";
import { inputOf } from "./call-ref.ts";

/** A call as lists show it. */
export interface AboutCall {
  servlet: string;
  /** Its first arguments: `environment: production, version: 1.2.0`. */
  arguments: string;
}

/** Arguments on a page and in a list, and characters of each in a list. */
const SHOWN = 50;
const LISTED = 3;
const LISTED_CHARACTERS = 40;

const HIDDEN = "(hidden)";

/** Names of arguments that may hold a secret, whatever their schema says. */
const SECRET =
  /pass(word|phrase|wd|code)|^(pass|pwd|pin|otp|cvv|cvc)$|secret|token|(api|access|private)[-_]?key|credential|authorization|bearer|cookie/i;

/** The parts of a URL that may be secrets: a user with a password, and values of the query. */
const IN_ADDRESS = /(\/\/)[^\s/?#@]+@|([?&#]([^\s=&#]{1,100})=)[^\s&#]+/g;

/** Characters of a text in which URLs are searched: more than any page shows. */
const LOOKED_AT = 10_000;

/** The beginning of a text, without the secrets of URLs in it. */
const withoutKeys = (text: string): string =>
  beginningOf(text, LOOKED_AT).replace(
    IN_ADDRESS,
    (whole, slashes?: string, query?: string, name = "") =>
      slashes !== undefined
        ? `${slashes}${HIDDEN}@`
        : SECRET.test(name)
          ? `${query}${HIDDEN}`
          : whole,
  );

type ShownEntry = Pick<Entry, "tool"> | undefined;

/** Tells which arguments are hidden from people. Numbers and booleans never are. */
function hides(entry: ShownEntry): (name: string, value: unknown) => boolean {
  const isDeclared = entry?.tool ? secretsIn(entry.tool.tool.inputSchema) : undefined;
  return (name, value) =>
    isDeclared?.(name) === true ||
    (SECRET.test(name) && typeof value !== "number" && typeof value !== "boolean");
}

/** The beginnings of arguments, as text. */
export function shownArguments(args: unknown, entry?: ShownEntry): Record<string, string> {
  const isHidden = hides(entry);
  const all = isObject(args) ? Object.entries(args).slice(0, SHOWN) : [];
  return Object.fromEntries(
    all.map(([name, value]) => {
      if (isHidden(name, value)) return [name, HIDDEN];
      const text = typeof value === "string" ? withoutKeys(value) : withoutSecrets(value, isHidden);
      return [name, shortened(text, limits.pageCharacters)];
    }),
  );
}

/** A value as JSON, without likely secrets. */
export const withoutSecrets = (value: unknown, isHidden = hides(undefined)): string =>
  JSON.stringify(value, (name, one: unknown) =>
    isHidden(name, one) ? HIDDEN : typeof one === "string" ? withoutKeys(one) : one,
  ) ?? "";

/** A short form of a value: a list of plain values has its first ones, any other list its length. */
function briefly(value: unknown): string {
  if (isObject(value)) return "{…}";
  if (!Array.isArray(value)) return withoutKeys(String(value));
  if (value.length === 0) return "none";
  const first = value.slice(0, LISTED);
  if (first.some((one) => typeof one === "object" && one !== null))
    return `${value.length} ${value.length === 1 ? "item" : "items"}`;
  const more = value.length > first.length ? ["…"] : [];
  return [...first.map(briefly), ...more].join(" | ");
}

/** The description of a call in lists. Its task stores it for its whole life. */
export function aboutOf(entry: Pick<Entry, "ref" | "servlet" | "tool">): AboutCall {
  const { ref, servlet } = entry;
  const isHidden = hides(entry);
  const input = inputOf(ref);
  const all = isObject(input) ? Object.entries(input) : [];
  const words = all.slice(0, LISTED).map(([name, value]) => {
    const text = isHidden(name, value) ? HIDDEN : shortened(briefly(value), LISTED_CHARACTERS);
    return `${shortened(name, LISTED_CHARACTERS)}: ${text}`;
  });
  const more = all.length > words.length ? ["…"] : [];
  return {
    servlet: servlet?.name ?? "",
    arguments: printableLine([...words, ...more].join(", ")),
  };
}
