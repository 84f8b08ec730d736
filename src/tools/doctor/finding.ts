/** The results of checks. */
import { printable, shortened } from "../../server/kernel/core/text.ts";

export interface Finding {
  state: "right" | "wrong" | "not tried";
  /** What was checked, in a few words. */
  name: string;
  /** What was found; for `wrong` also what to do, for `not tried` why. */
  text: string;
}

/** The findings about one subject, in the order in which they are printed. */
export interface FindingGroup {
  title: string;
  findings: readonly Finding[];
}

/** Longest quotation of a server in a finding. */
const WORDS = 200;

const finding =
  (state: Finding["state"]) =>
  (name: string, text: string): Finding => ({ state, name, text: printable(text) });

export const right = finding("right");
export const wrong = finding("wrong");
export const notTried = finding("not tried");

/** Words of a server: quoted, on one line, and shortened. */
export const quoted = (text: string): string =>
  `"${shortened(text.replaceAll(/\s+/g, " ").trim(), WORDS)}"`;

/** An expected failure of a check. Its message says in one line what is wrong and what to do. */
export class Unreachable extends Error {}

/** The findings of a check; a single one with this name if it throws `Unreachable`. */
export async function findingsOf(
  name: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Unreachable) return [wrong(name, error.message)];
    throw error;
  }
}
