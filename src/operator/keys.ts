/** `npm run keys -- create | list | revoke | push`: the API keys of this server, of which only hashes are kept. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { KEY_NAME, KEY_NAME_RULE } from "../env.ts";

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
const CONFIGURATION = "wrangler.toml";
const USAGE = `npm run keys -- create NAME [--scopes hello:*,web:fetch] [--expires 30d]
npm run keys -- list
npm run keys -- revoke NAME
npm run keys -- push            gives the deployed Worker the keys that are listed`;

const DAY = 86_400_000;

const read = (): Keys => (existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Keys) : {});

/** Keeps the keys, and lets `npm run dev` know them, which looks for variables when its configuration is another. */
function write(keys: Keys): void {
  writeFileSync(FILE, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  const lines = existsSync(VARIABLES) ? readFileSync(VARIABLES, "utf8").split("\n") : [];
  const others = lines.filter((line) => line !== "" && !line.startsWith("API_KEYS="));
  // Without any keys nobody may call: without the variable anybody might.
  const own = `API_KEYS='${JSON.stringify(keys)}'`;
  writeFileSync(VARIABLES, `${[...others, own].join("\n")}\n`, { mode: 0o600 });
  if (existsSync(CONFIGURATION)) utimesSync(CONFIGURATION, new Date(), new Date());
}

/** `30d`, `12h`, or a date, as ISO 8601. */
function expiry(text: string): string {
  const [, count, unit] = /^(\d+)([dh])$/.exec(text) ?? [];
  const time =
    count === undefined
      ? Date.parse(text)
      : Date.now() + Number(count) * (unit === "d" ? DAY : DAY / 24);
  if (!(time > Date.now()))
    fail(`--expires ${text} is no time to come: 30d, 12h, or a date such as 2027-01-31.`);
  return new Date(time).toISOString();
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { scopes: { type: "string" }, expires: { type: "string" } },
});
const [command, name] = positionals;
const keys = read();

/** The name that the command is for, which has to be there. */
function known(): string {
  if (name === undefined) fail(USAGE);
  if (keys[name] === undefined) fail(`There is no key ${name}: npm run keys -- list`);
  return name;
}

switch (command) {
  case "create": {
    if (name === undefined || !KEY_NAME.test(name)) {
      fail(`The name of a key ${KEY_NAME_RULE}.\n\n${USAGE}`);
    }
    if (keys[name] !== undefined) fail(`There is a key ${name} already: revoke it first.`);
    const key = `esk_${randomBytes(32).toString("base64url")}`;
    const hash = createHash("sha256").update(key).digest("hex");
    const scopes = values.scopes?.split(",").map((scope) => scope.trim());
    const expires = values.expires && expiry(values.expires);
    write({ ...keys, [name]: { hash, ...(scopes && { scopes }), ...(expires && { expires }) } });
    console.log(`${key}\n\nThis is the key of ${name}. It is not kept and cannot be shown again; a client sends it as
  Authorization: Bearer ${key}
\`npm run dev\` knows it now. For the deployed Worker: npm run keys -- push`);
    break;
  }
  case "list": {
    const rows = Object.entries(keys);
    if (rows.length === 0) {
      console.log(`There are no keys, so ${existsSync(FILE) ? "nobody" : "anybody"} may call.`);
    }
    for (const [of, { scopes, expires }] of rows) {
      const until =
        expires === undefined
          ? "for ever"
          : `${Date.parse(expires) < Date.now() ? "expired" : "until"} ${expires}`;
      console.log(`${of.padEnd(24)} ${(scopes?.join(" ") ?? "everything").padEnd(32)} ${until}`);
    }
    break;
  }
  case "revoke": {
    const { [known()]: _, ...rest } = keys;
    write(rest);
    console.log(`The key of ${name} is gone here. For the deployed Worker: npm run keys -- push`);
    break;
  }
  case "push":
    execFileSync("npx", ["wrangler", "secret", "put", "API_KEYS"], {
      input: JSON.stringify(keys),
      stdio: ["pipe", "inherit", "inherit"],
    });
    break;
  default:
    fail(USAGE);
}
