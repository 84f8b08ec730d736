/**
 * `dev`: runs wrangler, tells the Worker whether only this machine can reach it, and says at the end where it is and what it
 * lacks.
 */
import { existsSync, readFileSync, utimesSync, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "smol-toml";
import * as z from "zod";
import { AUTH_VARIABLES } from "../../server/kernel/core/model.ts";
import { RUNS } from "../../server/kernel/settings/own-names.ts";
import { isLoopback } from "../../server/kernel/http/private-hosts.ts";
import { printable } from "../../server/kernel/core/text.ts";
import { demandFree } from "../bundle/listening.ts";
import { localValues, scannedServlets, settingsReader, unusedAmong } from "./local-variables.ts";
import { Refusal } from "../bundle/refusal.ts";
import { variableFilesIn, variablesFileIn, variablesIn } from "../bundle/variable-files.ts";
import { serveBundles } from "./bundler.ts";
import { prepareForWrangler } from "./entry.ts";
import { wrangler } from "./wrangler.ts";

const string = { type: "string" } as const;
const OPTIONS = {
  ip: string,
  port: string,
  env: { ...string, short: "e" },
  config: { ...string, short: "c" },
  cwd: string,
} as const;

/** Options that expose the server to others. */
const REACHING = ["remote", "r", "tunnel", "tunnel-name", "tunnelName"];
/** Options that replace the host of each request. */
const HOST = ["host", "local-upstream", "localUpstream"];

/** With it, wrangler has the keys `t` and `l`, which expose the server while it runs. */
const SESSION = "show-interactive-dev-session";
const isSession = ({ name }: { name: string }) => /show-?interactive-?dev-?session/i.test(name);

const texts = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const schema = z.object({
  dev: z.object({ ip: z.string(), host: z.string(), port: z.number() }).partial().default({}),
  build: z.object({ watch_dir: texts.catch([]) }).catch({ watch_dir: [] }),
});

interface Dev {
  /** Those of wrangler. They always name the address: else it would listen at another one as soon as its configuration names that. */
  args: string[];
  ip: string;
  /** Absent where wrangler may choose: 8787, or the next one that is free. */
  port: number | undefined;
  /** The path of its configuration. */
  file: string;
  env: string | undefined;
  isAlone: boolean;
  /** The folders and files whose changes make wrangler run its build command. */
  watched: string[];
}

/** Reads the arguments of `dev`. */
export async function readDev(given: string[]): Promise<Dev> {
  const parsed = { args: given, options: OPTIONS, strict: false, allowPositionals: true } as const;
  const { values, tokens } = parseArgs({ ...parsed, tokens: true });
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? given.length;
  const named = tokens.filter((token) => token.kind === "option");
  const addresses = named.filter(({ name }) => name === "ip");
  const { config = "wrangler.toml", cwd = "." } = values;
  const file = resolve(String(cwd), String(config));
  const { dev: configuration, build } = await configuredIn(file);
  const { ip: configured, host, ...more } = configuration;
  const usual = process.platform === "win32" ? "127.0.0.1" : "localhost";
  const ip = addresses.length > 0 ? (addresses.at(-1)?.value ?? "") : (configured ?? usual);
  const sessions = named.filter(isSession);
  const isHidden =
    sessions.some(({ value }) => value !== "false") ||
    host !== undefined ||
    named.some(({ name }) => [...REACHING, ...HOST].includes(name));
  const isAlone = isLoopback(ip) && !isHidden;
  const taken = new Set(
    [...addresses, ...(isAlone ? sessions : [])].flatMap(({ index, inlineValue }) =>
      inlineValue === false ? [index, index + 1] : [index],
    ),
  );
  const others = given.slice(0, end).filter((_, at) => !taken.has(at));
  const own = isAlone
    ? [`--${SESSION}=false`, `--var=${RUNS}:on-loopback`]
    : [`--var=${RUNS}:on-network`];
  const args = ["dev", ...others, ...own, `--ip=${ip}`, ...given.slice(end)];
  const port = typeof values.port === "string" ? Number(values.port) : more.port;
  const env = typeof values.env === "string" ? values.env : undefined;
  const watched = build.watch_dir.map((one) => resolve(dirname(file), one));
  return { args, ip, port, file, env, isAlone, watched };
}

/** The tables `[dev]` and `[build]` of a configuration; empty without one, or where values are not valid, which wrangler reports. */
async function configuredIn(path: string): Promise<z.infer<typeof schema>> {
  try {
    return schema.parse(parse(await readFile(path, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof z.ZodError)
      return { dev: {}, build: { watch_dir: [] } };
    // It is not TOML: it may name a host all the same.
    return { dev: { host: "unknown" }, build: { watch_dir: [] } };
  }
}

/** The closing block of `dev` for a server that is ready at this origin: its URLs, who may call, and missing settings. */
export async function readiness(
  { port, file, env, isAlone }: Pick<Dev, "port" | "file" | "env" | "isAlone">,
  origin: URL,
): Promise<string> {
  const rows = [
    ["MCP endpoint", `${origin.origin}/mcp`],
    ["Page", origin.origin],
    ...(await standing({ file, env, isAlone })),
    ...(port === undefined && origin.port !== String(PORT)
      ? [["Note", `port ${PORT} is taken; to choose another: --port PORT`]]
      : []),
  ];
  const lines = rows.map(([label, text]) => printable(`  ${label!.padEnd(13)} ${text}`));
  return ["", ...lines, ""].join("\n");
}

/** Who may call, what the servlets lack, and which variables nothing uses: rows of a label and a text. */
async function standing({ file, env, isAlone }: Pick<Dev, "file" | "env" | "isAlone">) {
  const values = await localValues({ config: file, ...(env !== undefined && { env }) });
  // An empty one counts as missing.
  const has = (name: string) => Boolean(values[name]);
  const closing = AUTH_VARIABLES.filter(has);
  const [servlets, { missingIn }] = await Promise.all([
    scannedServlets(),
    import("../../server/kernel/servlets/variables.ts"),
  ]);
  const unused = await unusedAmong(values);
  // Many are those of an .env that is for other programs, too: then only misspelt ones count.
  const told = unused.length > 5 ? await unusedAmong(values, { isMisspelt: true }) : unused;
  const anybody = isAlone ? "anybody on this machine" : "ANYBODY who reaches it";
  const callers =
    closing.length > 0
      ? `callers that ${closing.join(" or ")} lets in`
      : `${anybody}, without a key`;
  return [
    ["Who may call", callers],
    ...missingIn(servlets, has).map((one) => [
      "Missing",
      `${one}: set it in ${variablesFileIn(dirname(file))}`,
    ]),
    ...told.map((one) => ["Unused", one]),
  ];
}

/** Wrangler's usual port. */
const PORT = 8787;
/** How long wrangler may take to print its own last line. */
const LAST_LINE_MS = 200;

const readySchema = z.object({ event: z.literal("DEV_SERVER_READY"), port: z.number() });

/** Why the Worker would not start with its variables: wrangler would end, with advice that leads elsewhere. Else undefined. */
export async function faultInSettings({
  file,
  env,
}: Pick<Dev, "file" | "env">): Promise<string | undefined> {
  const folder = dirname(file);
  try {
    for (const name of variableFilesIn(folder))
      variablesIn(await readFile(join(folder, name), "utf8"), name);
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  let values: object;
  try {
    values = await localValues({ config: file, ...(env !== undefined && { env }) });
  } catch {
    // Wrangler says what is wrong with its configuration.
    return undefined;
  }
  const { readSettings, allSettings } = await settingsReader();
  try {
    readSettings(values, allSettings);
    return undefined;
  } catch (error) {
    return `${(error as Error).message.replace(/\.$/, "")}.`;
  }
}

/**
 * Makes the bundle while wrangler loads, and serves it. Returns the exit code. Throws a `Refusal` for a port that is taken,
 * settings that are not valid, and a bundle that cannot be made.
 */
export async function dev(given: string[]): Promise<number> {
  const all = await readDev(given);
  const { args, ip, port, file, watched } = all;
  // Wrangler says what is wrong with any other port.
  if (port !== undefined && Number.isInteger(port) && port < 65_536) await demandFree(ip, port);
  const ready = async (message: unknown) => {
    const { data } = readySchema.safeParse(JSON.parse(String(message)));
    if (!data) return;
    const host = ["*", "0.0.0.0", "::"].includes(ip) ? "localhost" : ip;
    const at = host.includes(":") ? `[${host}]` : host;
    const said = await readiness(all, new URL(`http://${at}:${data.port}`));
    setTimeout(() => console.log(said), LAST_LINE_MS);
  };
  // Wrangler runs its build command anew where its configuration has changed.
  const overlooked = () => utimesSync(file, new Date(), new Date());
  const bundler = await serveBundles(watched, { overlooked });
  await prepareForWrangler();
  const stopped = new AbortController();
  const onMessage = (message: unknown) => void ready(message).catch(() => {});
  const ended = wrangler(args, "inherit", { onMessage, signal: stopped.signal });
  const unserved = bundler.begin(async () => {
    const fault = await faultInSettings(all);
    return fault && `${fault} Correct it in ${variablesFileIn(dirname(file))} or ${file}.`;
  });
  const stop = reloadForVariables(file, {
    faultIn: () => faultInSettings(all),
    summary: async () =>
      (await standing(all)).map(([label, text]) => `${label!.toLowerCase()}: ${text}`).join(" | "),
  });
  try {
    const fault = await Promise.race([unserved, ended.then(() => undefined)]);
    if (fault === undefined) return await ended;
    throw new Refusal(fault);
  } finally {
    stopped.abort();
    await ended;
    stop();
    await bundler.close();
  }
}

/**
 * Has wrangler read .dev.vars, or .env, again once it changes: it looks there only when its configuration, this file, has
 * changed. Variables with a fault are not read: the server goes on with the earlier ones. Says `summary` of the new ones.
 * Returns how to stop that.
 */
export function reloadForVariables(
  file: string,
  {
    faultIn = async () => undefined,
    summary = async () => "",
  }: { faultIn?: () => Promise<string | undefined>; summary?: () => Promise<string> } = {},
): () => void {
  // Wrangler says so.
  if (!existsSync(file)) return () => {};
  const read = (name: string) => {
    try {
      return readFileSync(resolve(dirname(file), name), "utf8");
    } catch {
      return "";
    }
  };
  const known = new Map([[".dev.vars", read(".dev.vars")]]);
  const reload = async (name: string) => {
    const fault = await faultIn();
    if (fault !== undefined) {
      const kept = "has changed, and the server keeps the earlier variables until this is mended";
      return console.error(printable(`${name} ${kept}: ${fault}`));
    }
    console.log(`${printable(name)} has changed: the server reloads, which takes some seconds`);
    utimesSync(file, new Date(), new Date());
    const said = await summary().catch(() => "");
    if (said !== "") console.log(printable(`From then on: ${said}`));
  };
  const watcher = watch(dirname(file), (_event, name) => {
    if (name === null || !/^\.(dev\.vars|env)(\.|$)/.test(name)) return;
    const text = read(name);
    if (known.get(name) === text) return;
    known.set(name, text);
    void reload(name);
  });
  watcher.on("error", () => {});
  return () => watcher.close();
}
