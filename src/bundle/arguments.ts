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
    throw new Refusal(`${(error as Error).message}\n\n${usage}`);
  }
}
