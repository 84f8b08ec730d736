import { parseArgs, type ParseArgsConfig } from "node:util";
import { Refusal } from "./refusal.ts";

/**
 * The arguments of a command. Throws a `Refusal` with the usage for those that it does not take; ends the process with the
 * usage where that is what they ask for.
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

/** The error of a command whose words are not what its usage says. */
export const misused = (why: string, usage: string): Refusal => new Refusal(`${why}\n\n${usage}`);
