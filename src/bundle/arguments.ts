import { parseArgs, type ParseArgsConfig } from "node:util";
import { Refusal } from "./refusal.ts";

/** The arguments of a command. Throws a `Refusal` with the usage for those that it does not take. */
export function argumentsIn<T extends ParseArgsConfig>(
  config: T,
  usage: string,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw misused((error as Error).message, usage);
  }
}

/** The error of a command whose words are not what its usage says. */
export const misused = (why: string, usage: string): Refusal => new Refusal(`${why}\n\n${usage}`);
