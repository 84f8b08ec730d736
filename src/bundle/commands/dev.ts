/** `dev`: runs wrangler, and tells the Worker whether only this machine can reach it. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "smol-toml";
import * as z from "zod";
import { RUNS } from "../../own-names.ts";
import { isLoopback } from "../sources/http.ts";
import { wrangler } from "./wrangler.ts";

const string = { type: "string" } as const;
const OPTIONS = { ip: string, config: { ...string, short: "c" }, cwd: string } as const;

/** Options that expose the server to others. */
const REACHING = ["remote", "r", "tunnel", "tunnel-name", "tunnelName"];
/** Options that replace the host of each request. */
const HOST = ["host", "local-upstream", "localUpstream"];

const schema = z.object({ dev: z.object({ ip: z.string(), host: z.string() }).partial() });

/**
 * The arguments of wrangler for these of `dev`. They always name the address: else wrangler would listen at another one
 * as soon as its configuration names that.
 */
export async function devArguments(given: string[]): Promise<string[]> {
  const parsed = { args: given, options: OPTIONS, strict: false, allowPositionals: true } as const;
  const { values, tokens } = parseArgs({ ...parsed, tokens: true });
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? given.length;
  const named = tokens.filter((token) => token.kind === "option");
  const addresses = named.filter(({ name }) => name === "ip");
  const { config = "wrangler.toml", cwd = "." } = values;
  const { ip: configured, host } = await configuredIn(resolve(String(cwd), String(config)));
  const usual = process.platform === "win32" ? "127.0.0.1" : "localhost";
  const ip = addresses.length > 0 ? (addresses.at(-1)?.value ?? "") : (configured ?? usual);
  const isHidden =
    host !== undefined || named.some(({ name }) => [...REACHING, ...HOST].includes(name));
  const runs = isLoopback(ip) && !isHidden ? "on-loopback" : "on-network";
  const taken = new Set(
    addresses.flatMap(({ index, inlineValue }) =>
      inlineValue === false ? [index, index + 1] : [index],
    ),
  );
  const others = given.slice(0, end).filter((_, at) => !taken.has(at));
  return ["dev", ...others, `--var=${RUNS}:${runs}`, `--ip=${ip}`, ...given.slice(end)];
}

/** The table `[dev]` of a configuration; empty without one, or where its values are not valid, which wrangler reports. */
async function configuredIn(path: string): Promise<{ ip?: string; host?: string }> {
  try {
    return schema.parse(parse(await readFile(path, "utf8"))).dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof z.ZodError)
      return {};
    // It is not TOML: it may name a host all the same.
    return { host: "unknown" };
  }
}

/** Returns wrangler's exit code. */
export const dev = async (given: string[]): Promise<number> => wrangler(await devArguments(given));
