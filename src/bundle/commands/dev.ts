/** `dev`: runs wrangler, and tells the Worker whether only this machine can reach it. */
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
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

/** With it, wrangler has the keys `t` and `l`, which expose the server while it runs. */
const SESSION = "show-interactive-dev-session";
const isSession = ({ name }: { name: string }) => /show-?interactive-?dev-?session/i.test(name);

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
  const sessions = named.filter(isSession);
  const isHidden =
    sessions.some(({ value }) => value !== "false") ||
    host !== undefined ||
    named.some(({ name }) => [...REACHING, ...HOST].includes(name));
  const isOnLoopback = isLoopback(ip) && !isHidden;
  const taken = new Set(
    [...addresses, ...(isOnLoopback ? sessions : [])].flatMap(({ index, inlineValue }) =>
      inlineValue === false ? [index, index + 1] : [index],
    ),
  );
  const others = given.slice(0, end).filter((_, at) => !taken.has(at));
  const ours = isOnLoopback
    ? [`--${SESSION}=false`, `--var=${RUNS}:on-loopback`]
    : [`--var=${RUNS}:on-network`];
  return ["dev", ...others, ...ours, `--ip=${ip}`, ...given.slice(end)];
}

/** A file, or the environment, that sets the variable by which `dev` tells the Worker who can reach it; else undefined. */
export async function placeOfRuns(
  folder: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const assignment = new RegExp(String.raw`^(?!\s*(#|//)).*\b${RUNS}["']?\s*[=:\]]`, "m");
  for (const file of await readdir(folder, { withFileTypes: true })) {
    const { name } = file;
    if (file.isFIFO() || !/^\.(dev\.vars|env)(\.|$)|\.(toml|jsonc?)$/.test(name)) continue;
    // What is no file, or leads to none, has no variables.
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    if (assignment.test(text)) return name;
  }
  // Wrangler has read files of other names and folders (--env-file) into the environment of its build command.
  return environment[RUNS] === undefined ? undefined : "The environment";
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
