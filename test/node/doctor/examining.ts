import { doctor } from "../../../src/tools/commands/doctor.ts";
import type { Patience } from "../../../src/tools/doctor/stream.ts";
import { captured } from "../bundle/commands/running.ts";

/** What the command has printed, and how it has ended. */
export interface Examined {
  code: number;
  /** The lines with findings, as `state  name: text`. */
  lines: string[];
  /** The lines that say what is wrong. */
  wrong: string[];
  printed: string;
}

/** Runs the command in this process. */
export async function examined(
  url: string,
  { key = "", args = [], patience }: { key?: string; args?: string[]; patience?: Patience } = {},
): Promise<Examined> {
  const { code, stdout, stderr } = await captured(() => doctor([url, ...args], patience), {
    EDGE_SERVLETS_KEY: key,
  });
  const lines = stdout
    .split("\n")
    .filter((line) => /^ {2}(right|wrong|not tried) /.test(line))
    .map((line) => line.trim().replace(/ {2,}/, "  "));
  const wrong = lines.filter((line) => line.startsWith("wrong"));
  return { code, lines, wrong, printed: stdout + stderr };
}

/** The first line of this name; empty without one. */
export const lineOf = ({ lines }: Pick<Examined, "lines">, name: string): string =>
  lines.find((line) => line.replace(/^(right|wrong|not tried) +/, "").startsWith(`${name}:`)) ?? "";
