/** Deploys the bundle, after uploading its builds to the bucket that wrangler.toml binds as BUILDS. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { unstable_readConfig } from "wrangler";
import * as z from "zod";
import { AUTH_VARIABLES } from "../../server/kernel/core/model.ts";
import { describeMissing } from "../../server/kernel/servlets/variables.ts";
import { jsonIn, printableText } from "../../server/kernel/core/text.ts";
import { buildOf } from "../bundle/build-files.ts";
import { makeBundle, type Member } from "../bundle/bundle.ts";
import { readIfThere, contentHash, writeWhole } from "../bundle/cache.ts";
import { DOCS } from "../bundle/own.ts";
import { Refusal, Refusals } from "../bundle/refusal.ts";
import { scan } from "../bundle/scan.ts";
import { inTurns } from "../bundle/work.ts";
import { CACHE, currentWorkspace, progress } from "./folders.ts";
import { wrangler } from "./wrangler.ts";

/** The file that records when each key was uploaded, and from which file. */
const NOTE = join(CACHE, "uploaded.json");
const noteSchema = z.record(z.string(), z.object({ at: z.number(), file: z.string() }));
/** Time before a key is uploaded again, in ms. The server keeps unused keys for a day (`sweepMs`). */
const FRESH_MS = 20 * 3_600_000;
/** Concurrent runs of wrangler. */
const AT_ONCE = 4;

const configSchema = z.object({
  vars: z.record(z.string(), z.unknown()).default({}),
  account_id: z.string().optional(),
  r2_buckets: z.array(
    z.object({
      binding: z.string(),
      bucket_name: z.string().optional(),
      jurisdiction: z.string().optional(),
    }),
  ),
  worker_loaders: z.array(z.object({ binding: z.string() })),
});

const secretsSchema = z.array(z.object({ name: z.string() }));

type RunWrangler = typeof wrangler;

/** The parsed arguments of the command. */
interface DeployOptions {
  config: string | undefined;
  env: string | undefined;
  isDryRun: boolean;
  isHelp: boolean;
  /** Arguments that tell wrangler which account and configuration to use. */
  target: string[];
}

function readArguments(args: string[]): DeployOptions {
  const string = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    strict: false,
    options: {
      config: { ...string, short: "c" },
      env: { ...string, short: "e" },
      "env-file": { ...string, multiple: true },
      profile: string,
      "dry-run": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  const given = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    config: given(values.config),
    env: given(values.env),
    isDryRun: values["dry-run"] === true,
    isHelp: values.help === true,
    target: (["config", "env", "env-file", "profile"] as const).flatMap((name) =>
      [values[name] ?? []].flat().map((value) => `--${name}=${value}`),
    ),
  };
}

/**
 * Deploys with the arguments of `wrangler deploy`; returns the exit code. Uploads the bundle's builds first, because
 * waiting calls resume with the build that they began with.
 */
export async function deploy(args: string[], run: RunWrangler = wrangler): Promise<number> {
  const asked = readArguments(args);
  try {
    if (!asked.isDryRun && !asked.isHelp) await keepBuilds(asked, run);
    if (!asked.isHelp) await warn(asked, run);
    return await run(["deploy", ...minified(args), ...args]);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(`\nNothing was deployed.\n${error.message}`);
    return 1;
  }
}

/** Options that minify the script, which an isolate parses at each start, and keep the stack traces of the sources. */
const minified = (args: readonly string[]): string[] =>
  args.some((one) => /^--(no-)?minify\b/.test(one)) ? [] : ["--minify", "--upload-source-maps"];

async function keepBuilds(asked: DeployOptions, run: RunWrangler): Promise<void> {
  const bucket = bucketOf(asked);
  if (typeof bucket === "string") {
    console.error(`note: calls that wait will fail where their servlet has changed: ${bucket}`);
    return;
  }
  const members = await makeBundle(currentWorkspace());
  const note = await readNote();
  const isFresh = ({ at }: { at: number }) => Date.now() - at < FRESH_MS;
  const all = [...(await filesOf(members))].map(([key, file]) => ({
    key,
    file,
    id: `${bucket.account} ${bucket.jurisdiction} ${bucket.name}/${key}`,
  }));
  const missing = all.filter(({ id, file }) => {
    const known = note[id];
    return known === undefined || known.file !== file || !isFresh(known);
  });
  if (missing.length === 0) return;
  progress(`putting ${missing.length} files of builds into the bucket ${bucket.name}`);
  const put = async ({ key, file, id }: (typeof all)[number]) => {
    const where = [`${bucket.name}/${key}`, "--file", file, "--remote", "--force", ...asked.target];
    const jurisdiction = bucket.jurisdiction ? ["--jurisdiction", bucket.jurisdiction] : [];
    await putObject([...where, ...jurisdiction], run);
    note[id] = { at: Date.now(), file };
    const fresh = Object.entries(note).filter(([, known]) => isFresh(known));
    writeFileSync(NOTE, JSON.stringify(Object.fromEntries(fresh)));
  };
  // Upload the first file alone: wrangler may have to refresh its sign-in, which concurrent runs cannot do.
  const [first, ...others] = missing;
  await put(first!);
  await inTurns(others, put, AT_ONCE);
}

/** The bucket for builds, or a message that names the missing bindings. */
function bucketOf(asked: DeployOptions) {
  const { account_id, r2_buckets, worker_loaders } = configuration(asked);
  const found = r2_buckets.find(({ binding }) => binding === "BUILDS");
  if (found === undefined || !worker_loaders.some(({ binding }) => binding === "LOADER")) {
    return `the bucket BUILDS and the loader LOADER are not both bound in wrangler.toml (${DOCS}/installing.md)`;
  }
  const { bucket_name: name, jurisdiction = "" } = found;
  if (name === undefined) {
    throw new Refusal("The bucket BUILDS has no bucket_name in wrangler.toml: give it one.");
  }
  const account = account_id ?? process.env["CLOUDFLARE_ACCOUNT_ID"] ?? "";
  return { account, name, jurisdiction };
}

/** The configuration as `wrangler deploy` will read it. */
function configuration({ config: path, env }: DeployOptions) {
  let config: unknown;
  try {
    const named = { config: path!, env: env! };
    config = unstable_readConfig(named, { hideWarnings: true });
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
  return configSchema.parse(config);
}

/** The files of all builds by their keys in the bucket. */
async function filesOf(members: readonly Member[]): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const builds = new Map<string, string>();
  for (const { build, code } of members.map(buildOf)) {
    for (const [digest, { path }] of code) files.set(`parts/${digest}`, path);
    const text = JSON.stringify(build);
    const path = join(CACHE, "builds", `${contentHash(text)}.json`);
    await writeWhole(path, text);
    builds.set(`builds/${build.hash}.json`, path);
  }
  return new Map([...files, ...builds]);
}

async function readNote(): Promise<z.infer<typeof noteSchema>> {
  const text = new TextDecoder().decode(await readIfThere(NOTE));
  return noteSchema.safeParse(jsonIn(text)).data ?? {};
}

async function putObject(put: string[], run: RunWrangler): Promise<void> {
  let said = "";
  const code = await run(["r2", "object", "put", ...put], (chunk) => void (said += chunk));
  if (code === 0) return;
  throw new Refusal(
    `${put[0]} was not put into the bucket. Wrangler says:\n${printableText(said.trim())}\n\nMake the bucket (npx wrangler r2 bucket create NAME) or sign in (npx wrangler login) if that is the cause, and run npm run deploy again: it does not repeat finished uploads.`,
  );
}

/** Warns if servlets lack settings, or if the server is open to anybody unintentionally. */
async function warn(asked: DeployOptions, run: RunWrangler): Promise<void> {
  const { vars } = configuration(asked);
  const secrets = asked.isDryRun ? [] : await secretNames(asked, run);
  if (typeof secrets === "string") {
    console.error(
      `note: whether settings are missing, and whether anybody may call this server, was not checked: the secrets of the deployed Worker are not known. Wrangler says:\n${printableText(secrets.trim())}`,
    );
    return;
  }
  const names = new Set([...Object.keys(vars), ...secrets]);
  // Mistakes in the folders are reported when the bundle is made.
  const missing = describeMissing(await scan(currentWorkspace(), new Refusals()), (name) =>
    names.has(name),
  );
  const unless = asked.isDryRun ? ", unless its secrets have one" : "";
  if (missing !== undefined)
    console.error(
      `note: ${missing}${asked.isDryRun ? " A dry run does not know the secrets of the deployed Worker." : ""}`,
    );
  if (vars["AUTH"] === "none" || AUTH_VARIABLES.some((name) => names.has(name))) return;
  console.error(
    `note: anybody may call this server: it has none of ${AUTH_VARIABLES.join(", ")}${unless}. To close it: npm run passphrase, or npm run keys (${DOCS}/access.md). If public access is intended, set AUTH = "none" under [vars] in wrangler.toml.`,
  );
}

/** Names of the deployed Worker's secrets, none if it is not deployed yet; or the reason why they are unknown. */
async function secretNames(
  { target }: DeployOptions,
  run: RunWrangler,
): Promise<string[] | string> {
  const said = { stdout: "", stderr: "" };
  const code = await run(
    ["secret", "list", "--format", "json", ...target],
    (chunk, stream) => void (said[stream] += chunk),
  );
  if (code !== 0) {
    const all = `${said.stdout}\n${said.stderr}`.trim();
    return /\bWorker "[^"]*".* not found\b/.test(all) ? [] : all;
  }
  const { data } = secretsSchema.safeParse(jsonIn(said.stdout));
  return data?.map(({ name }) => name) ?? said.stdout;
}
