import { parseArgs, type ParseArgsConfig } from "node:util";
import { Refusal } from "./refusal.ts";

/**
 * Parses the arguments of a command. Throws a `Refusal` with the usage for unknown arguments. For `--help`, prints the
 * usage and ends the process.
 */
export function argumentsIn<T extends ParseArgsConfig>(
  config: T,
  usage: string,
): ReturnType<typeof parseArgs<T>> {
  const { args = process.argv.slice(2), options = {} } = config;
  if (!("help" in options) && asksForHelp(args)) {
    console.log(usage);
    process.exit();
  }
  try {
    return parseArgs(config);
  } catch (error) {
    throw misused((error as Error).message, usage);
  }
}

export const asksForHelp = (args: readonly string[]): boolean =>
  args.includes("--help") || args.includes("-h");

/** The error for invalid arguments of a command, with its usage. */
export const misused = (why: string, usage: string): Refusal => new Refusal(`${why}\n\n${usage}`);
