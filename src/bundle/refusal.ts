import { printableText } from "../text.ts";

/**
 * What stops a bundle: which file, what is wrong and what to do, for the person at the terminal. It may quote
 * names and messages of a servlet's, which are made printable.
 */
export class Refusal extends Error {
  constructor(message: string) {
    super(printableText(message));
  }
}
