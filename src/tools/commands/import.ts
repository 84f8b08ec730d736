/** The command `npm run servlets -- import`: makes a servlet from each plugin of a hyper-mcp config. */
import { existsSync } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { folded } from "../../server/kernel/servlets/toolkit.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { readConfig, type HyperConfig } from "../bundle/hyper-mcp/config.ts";
import { demandShort } from "../bundle/hyper-mcp/parse.ts";
import { planPlugin, unmappedOf, type Plan } from "../bundle/hyper-mcp/plan.ts";
import { SecretNames } from "../bundle/hyper-mcp/secret-names.ts";
import { Refusal, refusedAt, Refusals } from "../bundle/refusal.ts";
import { scan, type Places } from "../bundle/scan.ts";
import { refuseName, refuseTaken } from "../bundle/servlet-name.ts";
import {
  addSource,
  removeSource,
  TRUST_OPTIONS,
  trustIn,
  type Trust,
} from "../bundle/sources/add.ts";
import { LOCK_FILE } from "../bundle/sources/lock.ts";
import { isImage, sourceInManifest } from "../bundle/sources/origin.ts";
import { printableText } from "../../server/kernel/core/text.ts";
import { DOCS } from "../bundle/own.ts";
import type { Workspace } from "./folders.ts";
import { aligned } from "./table.ts";

export const IMPORT_USAGE = `npm run servlets -- import FILE       makes a servlet of each plugin of a hyper-mcp config: ${DOCS}/hyper-mcp.md
                                      [--dry-run] [--state caller] [--literals]`;

/** hyper-mcp's rule for names, but beginning with a letter, and with hyphens, which its examples use. */
const PLUGIN_NAME = /^[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$/;

/**
 * Imports the config that the arguments name; returns the report for the terminal. Imports all plugins or none.
 * Throws a `Refusal`.
 */
export async function importConfig(args: readonly string[], options: Workspace): Promise<string> {
  const { file, flags } = readArguments(args);
  const { folders } = options;
  const unreadable = () => {
    throw new Refusal(`${file}: it cannot be read: look at its path`);
  };
  // A character takes up to four bytes.
  demandShort(file, (await stat(file).catch(unreadable)).size / 4);
  const text = await readFile(file, "utf8").catch(unreadable);
  const config = readConfig(file, text, process.env);
  const plans = await plansOf(file, config, { ...options, ...flags });
  const isDryRun = flags["dry-run"];
  if (!isDryRun) await makeAll(plans, trustFor(file, config, flags), options);
  return importReport(plans, { folder: folders[0], unmapped: unmappedOf(config), isDryRun });
}

type Flags = ReturnType<typeof readArguments>["flags"];

function readArguments(args: readonly string[]) {
  const read = argumentsIn(
    {
      args: [...args],
      allowPositionals: true,
      options: {
        state: { type: "string" },
        literals: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
        ...TRUST_OPTIONS,
      },
    },
    IMPORT_USAGE,
  );
  const { values, positionals } = read;
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) {
    throw misused(
      "Give the path of one hyper-mcp config: a .json, .yaml or .toml file",
      IMPORT_USAGE,
    );
  }
  const { state } = values;
  if (state !== undefined && !isState(state)) {
    throw new Refusal(`--state ${state}: write session, caller or server, for whom state is kept`);
  }
  return { file, flags: { ...values, state } };
}

const isState = (text: string): text is NonNullable<Manifest["state"]> =>
  ["session", "caller", "server"].includes(text);

async function plansOf(
  file: string,
  { plugins }: HyperConfig,
  { folders, languages, state, literals }: Places & Pick<Flags, "state" | "literals">,
): Promise<Plan[]> {
  // An import does not report errors in existing servlets.
  const present = await scan({ folders, languages }, new Refusals());
  const names = new SecretNames(present.map(({ manifest }) => manifest));
  /** Places of the existing servlets, by their names without differences of case and punctuation. */
  const taken = new Map(present.map(({ name, place }) => [alike(name), place]));
  const refusals = new Refusals();
  const plans: Plan[] = [];
  for (const [name, plugin] of Object.entries(plugins)) {
    const add = async () => {
      refuseUnfit(name, taken, folders);
      taken.set(alike(name), `plugins.${name}`);
      plans.push(planPlugin(name, plugin, { ...(state && { state }), literals, names }));
    };
    await refusals.collect(() => add().catch(refusedAt(`${file}: plugins.${name}`)));
  }
  refusals.throwAll();
  if (plans.length === 0) throw new Refusal(`${file}: it has no plugins: name some in "plugins"`);
  return plans;
}

/** File systems may ignore case, and ids of Open Tool Calling replace - with _. */
const alike = (name: string) => folded(name).toLowerCase();

function refuseUnfit(
  name: string,
  taken: ReadonlyMap<string, string>,
  folders: readonly string[],
): void {
  refuseName(name, PLUGIN_NAME, "letters and digits, with single _ or - between them,");
  const other = taken.get(alike(name));
  if (other !== undefined) {
    throw new Refusal(
      `the name is taken by ${other}, or is too much like it: rename one of them, and set "prefix" in its servlet.json if clients must see the old name`,
    );
  }
  refuseTaken(name, folders);
}

/** Who must have signed the images, according to the command line or else the config. */
function trustFor(file: string, config: HyperConfig, flags: Flags): Trust {
  const chosen = trustIn(flags);
  if (Object.keys(chosen).length > 0) return chosen;
  try {
    return trustOf(config);
  } catch (error) {
    return refusedAt(file)(error);
  }
}

/**
 * Who must have signed the images of a config. hyper-mcp searches the identity for a regular expression; here, a glob
 * must match the whole identity. Throws a `Refusal` for an expression that no glob can express.
 */
function trustOf({ oci = {} }: HyperConfig): Trust {
  if (oci.insecure_skip_signature) return { allowUnsigned: true };
  const key = typeof oci.cert_email === "string" ? "cert_email" : "cert_url";
  const { [key]: identity, cert_issuer: issuer } = oci;
  // Without an identity, hyper-mcp accepts any signature, which proves nothing. Here, the user must name the signer.
  if (typeof identity !== "string" || typeof issuer !== "string") return {};
  return {
    identity: globOf(`oci.${key}`, identity, "--identity"),
    issuer: globOf("oci.cert_issuer", issuer, "--issuer"),
  };
}

function globOf(member: string, expression: string, option: string): string {
  const inner = expression.replace(/^\^/, "").replace(/\$$/, "").replace(/^\\A/, "");
  const parts = inner.match(/\.\*|\\[^A-Za-z0-9]|[^\\]/g) ?? [];
  // A glob cannot express a literal star.
  const isBeyond = (part: string) => part === String.raw`\*` || "*+?()[]{}|^$".includes(part);
  if (parts.join("") !== inner || parts.some(isBeyond)) {
    throw new Refusal(
      `${member}: a regular expression with more than .* and \\. cannot be mapped: replace it by ${option}`,
    );
  }
  return parts.map((part) => (part === ".*" ? "*" : part.replace(/^\\/, ""))).join("");
}

/** Makes the servlets; if one fails, removes the others. */
async function makeAll(plans: readonly Plan[], trust: Trust, options: Workspace): Promise<void> {
  const { folders, cache, progress } = options;
  const lock = join(folders[0], LOCK_FILE);
  const hadLock = existsSync(lock);
  const made: string[] = [];
  try {
    for (const { name, source, manifest } of plans) {
      const signed = isImage(source) ? trust : {};
      await addSource(source, { name, folders, cache, progress, manifest, ...signed });
      made.push(name);
    }
  } catch (error) {
    for (const name of made) await removeSource(name, folders);
    if (!hadLock) await rm(lock, { force: true });
    if (!(error instanceof Refusal)) throw error;
    const which = plans[made.length]!.name;
    throw new Refusal(`plugins.${which}: ${error.message}\nNothing was imported.`);
  }
}

interface Result {
  folder: string;
  /** Settings outside of any plugin that could not be mapped. */
  unmapped: readonly string[];
  isDryRun: boolean;
}

const HEAD = ["plugin", "folder", "hosts", "secrets", "files", "state"];

/** The table of servlets, the secrets to set, and the settings that were not mapped. */
function importReport(plans: readonly Plan[], { folder, unmapped, isDryRun }: Result): string {
  const list = (texts: readonly string[] = []) => texts.join(", ") || "-";
  const rows = plans.map(({ name, manifest, secrets }) => [
    name,
    join(folder, name),
    list(manifest.allowed_hosts),
    list([...new Set(secrets.map(({ variable }) => variable))]),
    list(manifest.allowed_paths),
    manifest.state ?? "-",
  ]);
  const notes = [
    ...unmapped,
    ...plans.flatMap(({ name, unmapped: own }) => own.map((text) => `${name}: ${text}`)),
  ];
  return printableText(
    [
      ...(isDryRun ? ["Nothing is written. These servlets would be:", ""] : []),
      ...aligned([HEAD, ...rows]),
      ...(isDryRun ? plans.flatMap((plan) => ["", ...manifestOf(plan, folder)]) : []),
      ...section("Set the secrets, with the values that hyper-mcp had:", commands(plans)),
      ...section(
        "Not mapped, or different here:",
        notes.map((text) => `  ${text}`),
      ),
      "",
      `Different for all: ${DOCS}/hyper-mcp.md`,
    ].join("\n"),
  );
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", title, "", ...lines];

function commands(plans: readonly Plan[]): string[] {
  const sources = new Map<string, Set<string>>();
  for (const { name, secrets } of plans) {
    for (const { variable, from } of secrets) {
      sources.getOrInsertComputed(variable, () => new Set()).add(`${name}: ${from}`);
    }
  }
  return [...sources].map(
    ([variable, from]) => `  npx wrangler secret put ${variable}   # ${[...from].join("; ")}`,
  );
}

const manifestOf = ({ name, source, manifest }: Plan, folder: string): string[] => [
  `${join(folder, name, "servlet.json")}:`,
  JSON.stringify({ source: sourceInManifest(source, join(folder, name)), ...manifest }, null, 2),
];
