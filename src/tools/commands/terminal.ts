import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { Refusal } from "../bundle/refusal.ts";

/** Asks a yes-or-no question at the terminal; false without a terminal. */
export async function asked(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // At the end of input, versions of Node reject or do nothing.
  const closed = once(terminal, "close").then(() => "");
  const answer = await Promise.race([terminal.question(question).catch(() => ""), closed]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Asks for confirmation of a change to a server, unless `yes`. Throws a `Refusal` without a terminal. */
export async function agreed(question: string, yes: boolean): Promise<boolean> {
  if (yes) return true;
  if (process.stdin.isTTY) return asked(`${question} [y/N] `);
  throw new Refusal(
    `${question} There is no terminal to ask at, so nothing was changed: --yes agrees to what is shown above.`,
  );
}
