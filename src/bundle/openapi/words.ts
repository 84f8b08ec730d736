/** Turns names and texts of a description into those of a servlet. */
import { createHash } from "node:crypto";
import { percentDecoded } from "../../core/text.ts";

/** A name in snake_case: `issues/listForRepo` becomes `issues_list_for_repo`. */
export const snake = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z\d]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .toLowerCase();

/** A name of at most so many characters: a longer one becomes its first words and a digest. */
export function nameWithin(name: string, most: number): string {
  if (name.length <= most) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 4);
  const beginning = name.slice(0, most - 5);
  return `${beginning.slice(0, Math.max(beginning.lastIndexOf("_"), most - 20))}_${digest}`;
}

/** The names of arguments that all clients accept, and their length if they are made. */
const NAME = /^[A-Za-z]\w{0,63}$/;
const LONGEST = 50;

/** Signs in the names of parameters that tell two of them apart, such as `DateSent<` and `DateSent>`. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/<=/g, "_lte_"],
  [/>=/g, "_gte_"],
  [/</g, "_lt_"],
  [/>/g, "_gt_"],
  [/!/g, "_not_"],
  [/^\+/, "plus_"],
  [/^-/, "minus_"],
];

/** The name of an argument for this parameter: as it is, if clients and JavaScript accept that. */
export function argumentName(key: string): string {
  if (NAME.test(key)) return key;
  const words = snake(SIGNS.reduce((text, [sign, word]) => text.replace(sign, word), key));
  const name = nameWithin(words, LONGEST);
  return NAME.test(name) ? name : snake(`value ${name}`);
}

/** True if an argument's name shows what the API calls it, apart from separators and case. */
export const isSameName = (name: string, key: string): boolean =>
  name.replaceAll("_", "").toLowerCase() === key.replaceAll(/[\s_.:$@[\]-]/g, "").toLowerCase();

/** Gives names, each once. */
export class FreeNames {
  readonly #taken: Set<string>;
  /** The number that the next of the same name has. */
  readonly #counts = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** The first free one of these names, or of the first with a number. */
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
  // Constants of inputs have capitals only.
  return /^[A-Z].*[a-z]/.test(name) ? name : `Schema${name}`;
}

/** The first whole sentences of a text, without markup, of at most so many characters; or the beginning of a first sentence that is longer. */
export function sentences(text: string, most: number): string {
  const plain = text
    // These patterns take time by the square of a text's length.
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

/** Sentences that lead to a page, which a model does not open. */
const ELSEWHERE =
  /^(For (more|further) (information|details)|(Please )?(see|refer to)|Learn more|Read more|More info)\b/i;
