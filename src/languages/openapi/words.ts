/** Converts names and texts of an OpenAPI description for use in a servlet. */
import { createHash } from "node:crypto";
import { percentDecoded } from "../../server/kernel/core/text.ts";

/** Converts a name to snake_case: `issues/listForRepo` becomes `issues_list_for_repo`. */
export const snake = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z\d]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .toLowerCase();

/** Shortens a name to at most `most` characters: a longer name becomes its first words and a digest. */
export function nameWithin(name: string, most: number): string {
  if (name.length <= most) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 4);
  const beginning = name.slice(0, most - 5);
  return `${beginning.slice(0, Math.max(beginning.lastIndexOf("_"), most - 20))}_${digest}`;
}

/** Names of arguments that all clients accept. */
const NAME = /^[A-Za-z]\w{0,63}$/;
/** Maximum length of a generated name. */
const LONGEST = 50;

/** Words for punctuation that distinguishes parameter names, such as `DateSent<` and `DateSent>`. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/<=/g, "_lte_"],
  [/>=/g, "_gte_"],
  [/</g, "_lt_"],
  [/>/g, "_gt_"],
  [/!/g, "_not_"],
  [/^\+/, "plus_"],
  [/^-/, "minus_"],
];

/** The argument name for this parameter: the parameter's own name if all clients accept it. */
export function argumentName(key: string): string {
  if (NAME.test(key)) return key;
  const words = snake(SIGNS.reduce((text, [sign, word]) => text.replace(sign, word), key));
  const name = nameWithin(words, LONGEST);
  return NAME.test(name) ? name : snake(`value ${name}`);
}

/** True if an argument's name equals the API's name, ignoring separators and case. */
export const isSameName = (name: string, key: string): boolean =>
  name.replaceAll("_", "").toLowerCase() === key.replaceAll(/[\s_.:$@[\]-]/g, "").toLowerCase();

/** Allocates unique names. */
export class UniqueNames {
  readonly #taken: Set<string>;
  /** The next number to try, by name. */
  readonly #counts = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** Allocates `name`, else `other`, else the first free name that `numbered` makes. */
  take(name: string, other = name, numbered = (count: number) => `${name}_${count}`): string {
    let free = [name, other].find((one) => this.#isFree(one));
    let count = this.#counts.get(name) ?? 2;
    while (free === undefined) {
      const next = numbered(count++);
      if (this.#isFree(next)) free = next;
    }
    this.#counts.set(name, count);
    this.#taken.add(free);
    return free;
  }

  #isFree(name: string): boolean {
    return !this.#taken.has(name);
  }
}

/** The name of a component in PascalCase: `#/components/schemas/full-repository` becomes `FullRepository`. */
export function componentName(reference: string): string {
  const last = percentDecoded(reference.slice(reference.lastIndexOf("/") + 1));
  const name = snake(last)
    .split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  // Names in capitals are reserved for constants of inputs.
  return /^[A-Z].*[a-z]/.test(name) ? name : `Schema${name}`;
}

/** The first whole sentences of a text, without markup, up to `most` characters. A longer first sentence is cut. */
export function sentences(text: string, most: number): string {
  const plain = text
    // Limit the input, because the patterns below take quadratic time.
    .slice(0, 20 * most)
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|__|`{3}\w*/g, "")
    .replaceAll(/(?<=^|\s)_(?=[A-Z])|(?<=[.!?])_(?=\s|$)/g, "")
    .replaceAll(/^#+ .*$|^> \[!\w+\]$|^>/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  const all = plain.split(/(?<=[.!?]"?) (?=[A-Z`"(])/).filter((one) => !ELSEWHERE.test(one));
  const rest = all.join(" ");
  if (rest.length <= most) return rest;
  let kept = "";
  for (const sentence of all) {
    if (kept.length + sentence.length + 1 > most) break;
    kept += ` ${sentence}`;
  }
  if (kept !== "") return kept.trim();
  const beginning = rest.slice(0, most - 1);
  return `${beginning.slice(0, Math.max(beginning.lastIndexOf(" "), most / 2))}…`;
}

/** Sentences that refer to a web page, which a model does not open. */
const ELSEWHERE =
  /^(For (more|further) (information|details)|(Please )?(see|refer to)|Learn more|Read more|More info)\b/i;
