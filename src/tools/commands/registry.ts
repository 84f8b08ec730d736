/**
 * `npm run registry -- URL`: writes `server.json` for the official MCP registry from the card of the server at that
 * URL, and makes the key pair that proves the ownership of its domain.
 * https://github.com/modelcontextprotocol/registry/blob/main/docs/modelcontextprotocol-io/authentication.mdx
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { jsonIn, printableText } from "../../server/kernel/core/text.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { writeIfNew } from "../bundle/cache.ts";
import { Refusal } from "../bundle/refusal.ts";

const USAGE = `npm run registry -- URL   writes server.json for the MCP registry, from the server at this URL
npm run registry -- key   prints the private key, for mcp-publisher`;

const FILE = "server.json";
const KEY_FILE = ".registry-key.pem";
const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/** Path at which the registry looks for the proof of ownership. */
const PROOF_PATH = "/.well-known/mcp-registry-auth";
/** Timeout of a request, in ms. */
const TIMEOUT = 10_000;
/** Maximum size of a response. */
const MOST_BYTES = 100_000;

const IMAGES = ["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"] as const;
const iconSchema = z.object({
  src: z.url({ protocol: /^https$/ }).max(255),
  mimeType: z.enum(IMAGES).optional(),
  sizes: z.array(z.string().regex(/^(\d+x\d+|any)$/)).optional(),
  theme: z.enum(["light", "dark"]).optional(),
});

/** The parts of a server's card that go into `server.json`, within the registry's limits. */
const cardSchema = z.object({
  name: z
    .string()
    .max(200)
    .regex(
      /^[a-z\d][a-z\d.-]*[a-z\d]\/[a-z\d][\w.-]*[a-z\d]$/i,
      "is not a domain backwards, a slash and a name: set SERVER_REGISTERED, such as com.example/weather",
    ),
  version: z.string().min(1).max(255),
  description: z.string().min(1).max(100),
  title: z.string().min(1).max(100).optional(),
  websiteUrl: z.url().optional(),
  icons: z.array(z.looseObject({ src: z.string() })).default([]),
  remotes: z.array(z.looseObject({ type: z.literal("streamable-http"), url: z.url() })).min(1),
});
type Card = z.infer<typeof cardSchema>;

/** Matches versions that the registry rejects because it reads them as ranges. */
const RANGE = /^(latest$|[\^~<>=])|[*|,]|(^|\.)[xX](\.|$)|\s/;

/** Runs the command in this folder; returns the text to print. Throws a `Refusal`. */
export async function registryCommand(
  args: string[],
  { folder = ".", fetch = globalThis.fetch } = {},
): Promise<string> {
  const { positionals } = argumentsIn({ args, allowPositionals: true, options: {} }, USAGE);
  const [given, ...more] = positionals;
  if (given === undefined) throw misused("Give the server's URL.", USAGE);
  if (more.length > 0) throw misused(`Unexpected argument: ${more.join(" ")}.`, USAGE);
  if (given === "key") return privateHex(keyIn(folder, false));
  const { origin, hostname } = serverAt(given);
  const ask = (path: string, init?: RequestInit) => request(fetch, origin + path, init);

  const answer = await ask("/mcp/server-card");
  const card = cardIn(answer, origin);
  const fits = card.icons.map((icon) => iconSchema.safeParse(icon));
  const icons = fits.flatMap(({ data }) => data ?? []);
  const remote = { ...(await headersOf(ask)), type: "streamable-http", url: card.remotes[0]!.url };
  const { name, version, description, title, websiteUrl } = card;
  const made = {
    $schema: SCHEMA,
    name,
    title,
    description,
    version,
    websiteUrl,
    ...(icons.length > 0 && { icons }),
    remotes: [remote],
  };
  const file = join(folder, FILE);
  // Fields that the operator added stay, such as the repository or packages.
  const text = JSON.stringify({ ...existing(file), ...made }, null, 2);
  const proof = proofOf(keyIn(folder, true));
  const served = await ask(PROOF_PATH).catch(() => undefined);
  await writeIfNew(file, `${text}\n`);

  const left = fits.length - icons.length;
  const lost =
    left === 0
      ? ""
      : `\nLeft out ${left} of its icons: the registry takes https URLs of up to 255 characters, as ${IMAGES.join(", ")}.`;
  const said = `${FILE} describes ${name} ${version} at ${card.remotes[0]!.url}.${lost}`;
  return printableText(
    `${said}\n\n${nextSteps(name, hostname, proof, served?.text.trim() === proof)}`,
  );
}

/** Instructions to prove the ownership of the name, and to publish the server. */
function nextSteps(name: string, hostname: string, proof: string, isServed: boolean): string {
  const [namespace = ""] = name.split("/");
  const publish = (
    login: string,
  ) => `To publish it, with the registry's own tool (https://modelcontextprotocol.io/registry/quickstart):
  mcp-publisher login ${login}
  mcp-publisher publish`;
  if (namespace.startsWith("io.github.")) return publish("github");
  const domain = namespace.split(".").toReversed().join(".");
  const login = (method: string) =>
    publish(`${method} --domain ${domain} --private-key "$(npm run --silent registry -- key)"`);
  if (domain !== hostname)
    return `The name belongs to ${domain}, which is not this server's host. Add this record to its DNS:
  ${domain}. IN TXT "${proof}"
${login("dns")}`;
  return isServed
    ? `https://${domain} shows that it is yours. ${login("http")}`
    : `The registry must see that ${domain} is yours. Set this among the server's variables, and deploy it:
  REGISTRY_PROOF = "${proof}"
Then run this command again.`;
}

/** The URL of the server. Throws a `Refusal` if it is not a public one. */
function serverAt(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== "https:" || !url.hostname.includes(".") || url.username !== "")
    throw new Refusal(
      `"${given}" is not a server that everybody can reach, such as https://tools.example.com. Deploy it first.\n\n${USAGE}`,
    );
  return url;
}

/** Makes a request and reads the response. Throws a `Refusal` if the server cannot be reached. */
async function request(fetch: typeof globalThis.fetch, url: string, init: RequestInit = {}) {
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(url, { redirect: "error", signal, ...init });
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of response.body ?? []) {
      length += piece.length;
      if (length > MOST_BYTES) throw new Error(`its answer has more than ${MOST_BYTES} bytes`);
      pieces.push(piece);
    }
    return { status: response.status, text: Buffer.concat(pieces).toString() };
  } catch (error) {
    const { cause = error } = error as Error;
    throw new Refusal(`${url} cannot be read: ${(cause as Error).message}`);
  }
}

/** The server's card in a response. Throws a `Refusal` if the registry would not accept it. */
function cardIn({ status, text }: { status: number; text: string }, origin: string): Card {
  const card = cardSchema.safeParse(status === 200 ? jsonIn(text) : undefined);
  if (!card.success)
    throw new Refusal(
      status === 200
        ? `The card of ${origin} is not as the registry wants it: ${z.prettifyError(card.error)}`
        : `${origin}/mcp/server-card answers with status ${status}: is this a server of this project, and this version?`,
    );
  if (RANGE.test(card.data.version))
    throw new Refusal(
      `The registry takes no version such as "${card.data.version}": set SERVER_VERSION to one, such as 1.0.0.`,
    );
  return card.data;
}

/** The header with an API key, if the server requires credentials and does not offer OAuth. */
async function headersOf(
  ask: (path: string, init?: RequestInit) => Promise<{ status: number; text: string }>,
): Promise<Json> {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const { status } = await ask("/mcp", { method: "POST", headers, body: JSON.stringify(ping) });
  if (status !== 401) return {};
  const metadata = jsonIn((await ask("/.well-known/oauth-protected-resource/mcp")).text);
  const { authorization_servers: servers } = (metadata ?? {}) as Json;
  if (Array.isArray(servers) && servers.length > 0) return {};
  const key = { description: "An API key of this server", isRequired: true, isSecret: true };
  const header = { name: "Authorization", value: "Bearer {key}", variables: { key } };
  return { headers: [{ ...header, isRequired: true, isSecret: true }] };
}

/** The existing `server.json`. Throws a `Refusal` if it is not a JSON object. */
function existing(file: string): Json {
  if (!existsSync(file)) return {};
  const known = jsonIn(readFileSync(file, "utf8"));
  if (isObject(known)) return known;
  throw new Refusal(`${file} is not a JSON object. Mend or remove it first.`);
}

/** The private key in this folder; with `mayMake`, creates a missing key. Throws a `Refusal`. */
function keyIn(folder: string, mayMake: boolean): KeyObject {
  const file = join(folder, KEY_FILE);
  if (!existsSync(file)) {
    if (!mayMake) throw new Refusal(`There is no ${KEY_FILE} here yet.\n\n${USAGE}`);
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileSync(file, pem, { mode: 0o600, flag: "wx" });
    return privateKey;
  }
  try {
    const key = createPrivateKey(readFileSync(file));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // The file is not a key.
  }
  throw new Refusal(`${file} is not a private key for Ed25519. Move it away, and run this again.`);
}

/** The private key in hex, as `mcp-publisher` takes it. */
const privateHex = (key: KeyObject) =>
  Buffer.from(key.export({ format: "jwk" }).d!, "base64url").toString("hex");

/** The text that shows the registry the public key, in a document or a DNS record. */
const proofOf = (key: KeyObject) => {
  const { x } = createPublicKey(key).export({ format: "jwk" });
  return `v=MCPv1; k=ed25519; p=${Buffer.from(x!, "base64url").toString("base64")}`;
};
