/** The commands of `npm run keys`, which manage the API keys of a project. Only hashes of keys are stored. */
import { createHash, randomBytes } from "node:crypto";
import fs, { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { fits } from "../../server/kernel/core/glob.ts";
import {
  KEY_NAME,
  KEY_NAME_RULE,
  KEY_PREFIX,
  scopesInWords,
} from "../../server/kernel/core/key-name.ts";
import { OPERATOR_SCOPE } from "../../server/kernel/core/model.ts";
import { nearest } from "../../server/kernel/core/nearest.ts";
import { jsonIn, printable, shellWord } from "../../server/kernel/core/text.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { Refusal } from "../bundle/refusal.ts";
import { variablesFileIn, variablesIn } from "../bundle/variable-files.ts";
import { wrangler } from "./wrangler.ts";

/** Keys by name, as in the Worker's secret API_KEYS. A plain string is the hash of a key without restrictions. */
const keysSchema = z.record(
  z.string(),
  z.union([
    z.string(),
    z.looseObject({
      hash: z.string(),
      scopes: z.array(z.string()).optional(),
      /** ISO 8601. */
      expires: z.string().optional(),
    }),
  ]),
);
type Keys = z.infer<typeof keysSchema>;

const FILE = ".keys.json";
const USAGE = `npm run keys -- create NAME [--scopes hello:*,web:fetch] [--expires 30d]
npm run keys -- list
npm run keys -- revoke NAME
npm run keys -- push            gives the deployed Worker the keys that are listed

--secrets FILE                  the keys in this file, which \`npm start -- --secrets FILE\` reads; else those of this folder`;

const DAY = 86_400_000;
/** End of the valid expiry dates: ISO 8601 writes later years with more digits, which the server does not parse. */
const END = Date.UTC(10_000, 0);

/** A pattern, or a name of SCOPES, that .dev.vars can quote. */
const SCOPE = /^([\w.-]+|[^\s:']+:[^\s']+)$/;

/** API_KEYS in the text of a file of variables. A quoted value may span lines. */
const VARIABLE =
  /^\uFEFF?[ \t]*(?:export[ \t]+)?API_KEYS[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`)?.*\r?\n?/gm;

/** A place that stores keys. */
interface KeyStore {
  /** Its name in messages, whether it exists or not. */
  name: string;
  isThere: boolean;
  /** Throws a `Refusal` if the file is damaged. */
  read(): Keys;
  write(keys: Keys): void;
  /** How a new key takes effect, for the user. */
  activation: string;
}

/** The keys of a folder, in .keys.json and in the file from which `npm run dev` reads variables. */
function keysOfFolder(folder: string): KeyStore {
  const file = join(folder, FILE);
  const isThere = existsSync(file);
  return {
    name: `${FILE} here`,
    isThere,
    read: () => (isThere ? readKeys(file) : {}),
    write(keys) {
      writePrivate(file, JSON.stringify(keys, null, 2));
      writeVariable(join(folder, variablesFileIn(folder)), keys);
    },
    activation:
      "If `npm run dev` is running, it reloads now, and takes the key in some seconds; until then it lets in the same callers as before. `npm start` takes it when it is started again. For the deployed Worker: npm run keys -- push",
  };
}

/** The keys in a file of secrets, which is their only store. */
function keysOfSecrets(file: string): KeyStore {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const { API_KEYS } = variablesIn(text, file);
  return {
    name: `API_KEYS in ${file}`,
    isThere: API_KEYS !== undefined,
    read() {
      const keys = keysSchema.safeParse(API_KEYS === undefined ? {} : jsonIn(API_KEYS));
      if (keys.data !== undefined) return keys.data;
      throw new Refusal(
        `API_KEYS in ${file} is not valid: it must be JSON as npm run keys writes it. Correct the line, or remove it and make its keys again.`,
      );
    },
    write: (keys) => writeVariable(file, keys),
    activation: `The server takes it when it is started again: npm start -- --secrets ${shellWord(file)}`,
  };
}

/** Writes the keys into a file of variables. */
function writeVariable(file: string, keys: Keys): void {
  const variables = existsSync(file) ? readFileSync(file, "utf8") : "";
  const others = variables.replace(VARIABLE, "").replace(/([^\n])$/, "$1\n");
  // Write the variable even without keys: an empty list admits nobody, but without the variable the server is open.
  writePrivate(file, `${others}API_KEYS='${JSON.stringify(keys)}'`);
}

/** Writes a file atomically, readable only by this user. Throws a `Refusal` if it cannot be written. */
function writePrivate(file: string, text: string): void {
  const path = existsSync(file) ? fs.realpathSync(file) : file;
  // `npm run dev` must not take the temporary file for a file of variables.
  const unfinished = join(dirname(path), `.edge-servlets.${process.pid}`);
  try {
    fs.writeFileSync(unfinished, `${text}\n`, { mode: 0o600 });
    fs.renameSync(unfinished, path);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw new Refusal(
      `${file} could not be written, and is as it was: ${(error as Error).message}. Try again.`,
    );
  }
}

/** The keys in a file. Throws a `Refusal` if it is damaged. */
function readKeys(file: string): Keys {
  try {
    return keysSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const isValidJson = error instanceof z.ZodError;
    const why = isValidJson ? "it does not have the form of keys" : (error as Error).message;
    throw new Refusal(
      `${FILE} is damaged: ${why}. Restore it: the value of API_KEYS in .dev.vars or .env is its text. Or delete it, and make all keys again.`,
    );
  }
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

/** Converts `30d`, `12h` or a date to ISO 8601. */
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

/** Runs one of the commands on the keys of this folder; returns the text to print. Throws a `Refusal`. */
export async function keyCommand(
  args: string[],
  folder = ".",
  run: typeof wrangler = wrangler,
): Promise<string> {
  const string = { type: "string" } as const;
  const options = { scopes: string, expires: string, secrets: string };
  const { positionals, values } = argumentsIn({ args, allowPositionals: true, options }, USAGE);
  const [command, name, ...more] = positionals;
  if (more.length > 0) throw misused(`Unexpected argument: ${more.join(" ")}.`, USAGE);
  const store =
    values.secrets === undefined
      ? keysOfFolder(folder)
      : keysOfSecrets(resolve(folder, values.secrets));
  const { isThere } = store;
  const keys = store.read();
  switch (command) {
    case "create": {
      if (name === undefined || !KEY_NAME.test(name)) {
        throw misused(`The name of a key ${KEY_NAME_RULE}.`, USAGE);
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
      store.write({ ...keys, [name]: added });
      return [created(name, key, scopes), store.activation, ...(await unfitting(scopes))].join(
        "\n",
      );
    }
    case "list":
      return listed(keys, isThere);
    case "revoke": {
      const { [known(name, keys)]: _, ...rest } = keys;
      store.write(rest);
      return values.secrets === undefined
        ? `Revoked the key ${name} in this folder. To revoke it in the deployed Worker: npm run keys -- push`
        : `Revoked the key ${name} in this file. A running server refuses it only after a restart. To revoke it at once, use the server's page Operate.`;
    }
    case "push": {
      if (!isThere) {
        throw new Refusal(`There is no ${store.name}, and without it all keys of the deployed Worker would be lost. Copy it from where
the keys were made, or make new ones in their place: npm run keys -- create NAME`);
      }
      const input = JSON.stringify(keys);
      const code = await run(["secret", "put", "API_KEYS"], "inherit", { input });
      if (code !== 0) {
        throw new Refusal(
          "The keys were not pushed: the deployed Worker has the same keys as before. Wrangler says above why; after that is mended: npm run keys -- push",
        );
      }
      return "";
    }
    default:
      throw new Refusal(
        command === undefined ? USAGE : `There is no command ${command}.\n\n${USAGE}`,
      );
  }
}

/** The key's name in the arguments. Throws a `Refusal` if it is missing or unknown. */
function known(name: string | undefined, keys: Keys): string {
  if (name === undefined) throw misused("Give the name of a key.", USAGE);
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
  Authorization: Bearer ${key}${demand}`;
}

/** Warnings about scopes that match no servlet of the project. They may be misspelt, or for servlets on the server. */
async function unfitting(scopes: readonly string[] = []): Promise<string[]> {
  const { scannedServlets } = await import("./local-variables.ts");
  const names = (await scannedServlets()).map(({ name }) => name);
  if (names.length === 0) return [];
  return scopes
    .map((scope) => scope.split(":", 2))
    .filter(([servlet, own]) => own !== undefined && servlet !== "profile")
    .flatMap(([servlet = "", own]) => {
      if (names.some((name) => fits(servlet, name))) return [];
      const meant = nearest(servlet, names);
      const hint =
        meant === undefined ? `its servlets are ${names.join(", ")}` : `did you mean ${meant}?`;
      return `Beware: ${servlet}:${own} matches no servlet of this project (${hint}). The scope grants nothing unless such a servlet is installed on the server.`;
    });
}

function listed(keys: Keys, isThere: boolean): string {
  const rows = Object.entries(keys);
  if (rows.length === 0) {
    return isThere
      ? "There are no keys. To make one: npm run keys -- create NAME"
      : "No key was made here. Without API_KEYS a server is open to anybody, unless it has OWNER_PASSPHRASE, SIGN_IN or OAUTH_ISSUERS.";
  }
  return rows
    .map(([of, key]) => {
      const { scopes, expires } =
        typeof key === "string" ? { scopes: undefined, expires: undefined } : key;
      const verb =
        expires !== undefined && Date.parse(expires) < Date.now() ? "expired" : "expires";
      const what = scopesInWords(scopes).padEnd(32);
      return printable(`${of.padEnd(24)} ${what} ${verb} ${expires ?? "never"}`);
    })
    .join("\n");
}
