/**
 * `dev`: runs wrangler, tells the Worker whether only this machine can reach it, and prints the server's URLs and
 * missing settings once it is ready.
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
/** Options that change the host of each request. */
const HOST = ["host", "local-upstream", "localUpstream"];

/** This option enables wrangler's keys `t` and `l`, which expose the running server. */
const SESSION = "show-interactive-dev-session";
const isSession = ({ name }: { name: string }) => /show-?interactive-?dev-?session/i.test(name);

const texts = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const schema = z.object({
  dev: z.object({ ip: z.string(), host: z.string(), port: z.number() }).partial().default({}),
  build: z.object({ watch_dir: texts.catch([]) }).catch({ watch_dir: [] }),
});

interface Dev {
  /** Arguments for wrangler. They always include `--ip`, which later changes of the configuration must not override. */
  args: string[];
  ip: string;
  /** Undefined if wrangler chooses: 8787, or the next free port. */
  port: number | undefined;
  /** Path of wrangler's configuration. */
  file: string;
  env: string | undefined;
  /** True if only this machine can reach the server. */
  isAlone: boolean;
  /** Files and folders whose changes make wrangler run its build command. */
  watched: string[];
}

/** Parses the arguments of `dev`. */
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

/** The tables `[dev]` and `[build]` of a configuration; empty if it is missing or invalid, which wrangler reports. */
async function configuredIn(path: string): Promise<z.infer<typeof schema>> {
  try {
    return schema.parse(parse(await readFile(path, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof z.ZodError)
      return { dev: {}, build: { watch_dir: [] } };
    // The file is not TOML, such as a wrangler.json, but it may still set a host.
    return { dev: { host: "unknown" }, build: { watch_dir: [] } };
  }
}

/** The text that `dev` prints once the server is ready at this origin: its URLs, who may call, and missing settings. */
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

/** Who may call, missing settings, and unused variables: rows of a label and a text. */
async function standing({ file, env, isAlone }: Pick<Dev, "file" | "env" | "isAlone">) {
  const values = await localValues({ config: file, ...(env !== undefined && { env }) });
  // An empty value counts as missing.
  const has = (name: string) => Boolean(values[name]);
  const closing = AUTH_VARIABLES.filter(has);
  const [servlets, { missingIn }] = await Promise.all([
    scannedServlets(),
    import("../../server/kernel/servlets/variables.ts"),
  ]);
  const unused = await unusedAmong(values);
  // Many unused variables mean that other programs share the .env: then report only the misspelt ones.
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

/** Wrangler's default port. */
const PORT = 8787;
/** Delay that lets wrangler print its own last line first, in ms. */
const LAST_LINE_MS = 200;

const readySchema = z.object({ event: z.literal("DEV_SERVER_READY"), port: z.number() });

/**
 * Why the Worker cannot start with its variables, or undefined. Checked first because wrangler would exit with
 * misleading advice.
 */
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
    // Wrangler reports the error in its configuration.
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
 * Makes the bundle while wrangler loads, and serves it. Returns the exit code. Throws a `Refusal` if the port is taken,
 * the settings are invalid, or the bundle cannot be made.
 */
export async function dev(given: string[]): Promise<number> {
  const all = await readDev(given);
  const { args, ip, port, file, watched } = all;
  // Wrangler reports an invalid port.
  if (port !== undefined && Number.isInteger(port) && port < 65_536) await demandFree(ip, port);
  const ready = async (message: unknown) => {
    const { data } = readySchema.safeParse(JSON.parse(String(message)));
    if (!data) return;
    const host = ["*", "0.0.0.0", "::"].includes(ip) ? "localhost" : ip;
    const at = host.includes(":") ? `[${host}]` : host;
    const said = await readiness(all, new URL(`http://${at}:${data.port}`));
    setTimeout(() => console.log(said), LAST_LINE_MS);
  };
  // Wrangler reruns its build command when its configuration changes.
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
 * Makes wrangler reload .dev.vars or .env after a change, by touching its configuration `file`: wrangler rereads the
 * variables only when that file changes. Keeps the earlier variables while the new ones are invalid. Prints `summary`
 * after a reload. Returns a function that stops watching.
 */
export function reloadForVariables(
  file: string,
  {
    faultIn = async () => undefined,
    summary = async () => "",
  }: { faultIn?: () => Promise<string | undefined>; summary?: () => Promise<string> } = {},
): () => void {
  // Wrangler reports that its configuration is missing.
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
