/** What a check says about a server. */
import { printable, shortened } from "../../server/kernel/core/text.ts";

export interface Finding {
  state: "right" | "wrong" | "not tried";
  /** What was checked, in a few words. */
  name: string;
  /** What was found; for `wrong` also what to do, for `not tried` why. */
  text: string;
}

/** The findings of one subject, in the order in which they are read. */
export interface FindingGroup {
  title: string;
  findings: readonly Finding[];
}

/** Characters of a server's own words in a finding. */
const WORDS = 200;

const finding =
  (state: Finding["state"]) =>
  (name: string, text: string): Finding => ({ state, name, text: printable(text) });

export const right = finding("right");
export const wrong = finding("wrong");
export const notTried = finding("not tried");

/** Words of a server, on one line and not longer than a sentence or two. */
export const quoted = (text: string): string =>
  `"${shortened(text.replaceAll(/\s+/g, " ").trim(), WORDS)}"`;

/** An expected failure of a check. Its message says in one line what is wrong and what to do. */
export class Unreached extends Error {}

/** The findings of a check. Where the server cannot be reached, that is the finding. */
export async function findingsOf(
  name: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Unreached) return [wrong(name, error.message)];
    throw error;
  }
}
