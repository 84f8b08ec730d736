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
