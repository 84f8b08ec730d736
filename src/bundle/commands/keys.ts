/** The commands of `npm run keys`: the API keys of a project, of which only hashes are kept. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KEY_NAME, KEY_NAME_RULE, KEY_PREFIX, scopesInWords } from "../../core/key-name.ts";
import { OPERATOR_SCOPE } from "../../core/model.ts";
import { printable } from "../../core/text.ts";
import { argumentsIn } from "../arguments.ts";
import { Refusal } from "../refusal.ts";

/** A key as the Worker's secret API_KEYS has it. */
interface Key {
  hash: string;
  scopes?: string[];
  /** ISO 8601. */
  expires?: string;
}

type Keys = Record<string, Key>;

const FILE = ".keys.json";
const VARIABLES = ".dev.vars";
const USAGE = `npm run keys -- create NAME [--scopes hello:*,web:fetch] [--expires 30d]
npm run keys -- list
npm run keys -- revoke NAME
npm run keys -- push            gives the deployed Worker the keys that are listed`;

const DAY = 86_400_000;
/** ISO 8601 writes later years with more digits, which the server does not read. */
const END = Date.UTC(10_000, 0);

/** A pattern, or a name of SCOPES, that .dev.vars can quote. */
const SCOPE = /^([\w.-]+|[^\s:']+:[^\s']+)$/;

/** Keeps the keys, and writes them where `npm run dev` looks for variables, which it reads again. */
function write(folder: string, keys: Keys): void {
  writePrivate(join(folder, FILE), JSON.stringify(keys, null, 2));
  const file = join(folder, VARIABLES);
  const variables = existsSync(file) ? readFileSync(file, "utf8") : "";
  const others = variables.replace(/^API_KEYS=.*\r?\n?/gm, "").replace(/([^\n])$/, "$1\n");
  // Without any keys nobody may call: without the variable anybody might.
  writePrivate(file, `${others}API_KEYS='${JSON.stringify(keys)}'`);
}

function writePrivate(file: string, text: string): void {
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  // The mode above is for a new file only.
  chmodSync(file, 0o600);
}

function scopesIn(list: string): string[] {
  const scopes = list.split(",").map((scope) => scope.trim());
  const wrong = scopes.find((scope) => !SCOPE.test(scope));
  if (wrong !== undefined) {
    throw new Refusal(`--scopes: "${wrong}" is not a scope. Each is servlet:tool, in which * stands for anything, or a name
that SCOPES has; commas between them: --scopes 'hello:*,web:fetch'`);
  }
  return scopes;
}

/** `30d`, `12h`, or a date, as ISO 8601. */
function expiry(text: string): string {
  const [, count, unit] = /^(\d+)([dh])$/.exec(text) ?? [];
  const time =
    count === undefined
      ? Date.parse(text)
      : Date.now() + Number(count) * (unit === "d" ? DAY : DAY / 24);
  if (!(time > Date.now() && time < END)) {
    throw new Refusal(
      `--expires "${text}" is not a future time before the year 10000. Write 30d, 12h, or a date such as 2027-01-31.`,
    );
  }
  return new Date(time).toISOString();
}

/** Does one of the commands for the keys of this folder; returns what is printed. Throws a `Refusal`. */
export function keyCommand(args: string[], folder = "."): string {
  const options = { scopes: { type: "string" }, expires: { type: "string" } } as const;
  const { positionals, values } = argumentsIn({ args, allowPositionals: true, options }, USAGE);
  const [command, name, ...more] = positionals;
  if (more.length > 0) throw new Refusal(USAGE);
  const file = join(folder, FILE);
  const isThere = existsSync(file);
  const keys: Keys = isThere ? JSON.parse(readFileSync(file, "utf8")) : {};
  switch (command) {
    case "create": {
      if (name === undefined || !KEY_NAME.test(name)) {
        throw new Refusal(`The name of a key ${KEY_NAME_RULE}.\n\n${USAGE}`);
      }
      if (Object.hasOwn(keys, name)) {
        throw new Refusal(
          `The key ${name} exists already. Revoke it first, or choose another name.`,
        );
      }
      const scopes = values.scopes === undefined ? undefined : scopesIn(values.scopes);
      const expires = values.expires === undefined ? undefined : expiry(values.expires);
      const key = `${KEY_PREFIX}${randomBytes(32).toString("base64url")}`;
      const hash = createHash("sha256").update(key).digest("hex");
      const added = { hash, ...(scopes && { scopes }), ...(expires && { expires }) };
      write(folder, { ...keys, [name]: added });
      return created(name, key, scopes);
    }
    case "list":
      return listed(keys, isThere);
    case "revoke": {
      const { [known(name, keys)]: _, ...rest } = keys;
      write(folder, rest);
      return `Revoked the key ${name} in this folder. To revoke it in the deployed Worker: npm run keys -- push`;
    }
    case "push":
      if (!isThere) {
        throw new Refusal(`There is no ${FILE} here, and without it all keys of the deployed Worker would be lost. Copy it from where
the keys were made, or make new ones in their place: npm run keys -- create NAME`);
      }
      execFileSync("npx", ["wrangler", "secret", "put", "API_KEYS"], {
        cwd: folder,
        input: JSON.stringify(keys),
        stdio: ["pipe", "inherit", "inherit"],
      });
      return "";
    default:
      throw new Refusal(USAGE);
  }
}

/** The name that a command is for, which has to be there. */
function known(name: string | undefined, keys: Keys): string {
  if (name === undefined) throw new Refusal(USAGE);
  if (!Object.hasOwn(keys, name)) {
    throw new Refusal(`There is no key ${name}. For the names: npm run keys -- list`);
  }
  return name;
}

function created(name: string, key: string, scopes: readonly string[] = []): string {
  const isNamed = (scope: string) => !scope.includes(":") && scope !== OPERATOR_SCOPE;
  const names = scopes.filter(isNamed);
  const demand =
    names.length === 0
      ? ""
      : `\nThe server starts only where its variable SCOPES has ${names.join(", ")}.`;
  return `${key}

This is the key of ${name}. It is not kept and cannot be shown again; a client sends it as
  Authorization: Bearer ${key}
If \`npm run dev\` is running, it reloads now, and takes the key in some seconds; until then it lets in the same callers as before. For the deployed Worker: npm run keys -- push${demand}`;
}

function listed(keys: Keys, isThere: boolean): string {
  const rows = Object.entries(keys);
  if (rows.length === 0) {
    return isThere
      ? "There are no keys. To make one: npm run keys -- create NAME"
      : "No key was made here. Without API_KEYS a server is open to anybody, unless it has OWNER_PASSPHRASE or OAUTH_ISSUERS.";
  }
  return rows
    .map(([of, { scopes, expires }]) => {
      const verb =
        expires !== undefined && Date.parse(expires) < Date.now() ? "expired" : "expires";
      const what = scopesInWords(scopes).padEnd(32);
      return printable(`${of.padEnd(24)} ${what} ${verb} ${expires ?? "never"}`);
    })
    .join("\n");
}
