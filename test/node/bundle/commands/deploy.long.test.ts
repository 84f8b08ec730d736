import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBuild } from "../../../../src/server/features/installs/build.ts";
import { deploy as deployment } from "../../../../src/tools/commands/deploy.ts";
import type { Output } from "../../../../src/tools/commands/wrangler.ts";
import { captured, run, type Ended } from "./running.ts";

/** `npm run deploy`: with the real wrangler and a server in the place of Cloudflare's API, and with a stand-in for both. */

const SOURCE = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  greet: { description: "Greets.", input: { type: "object" }, handler: () => "hello" },
} });`;

let folder: string;
let api: Server;
/** The requests to the API in order, or what wrangler is asked, without those for the bucket's objects and for secrets. */
let asked: string[];
let objects: Map<string, Buffer>;
/** Names of the secrets of the Worker that is deployed. */
let secrets: string[];
/** The stderr of wrangler as it lists them, and its exit code. */
let listing: { says: string; code: number };
/** Objects that the API still takes. */
let room: number;
/** The bucket of this test: what was put into one is remembered in .bundle/. */
let bucket: string;

beforeEach(async () => {
  bucket = `builds-${randomUUID()}`;
  [asked, objects, room, secrets] = [[], new Map(), Infinity, []];
  listing = { says: "", code: 0 };
  api = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { pathname } = new URL(request.url!, "http://api");
      const [, key] =
        new RegExp(`^/accounts/acc/r2/buckets/${bucket}/objects/(.*)$`).exec(pathname) ?? [];
      const isTaken = key !== undefined && request.method === "PUT" && objects.size < room;
      if (isTaken) objects.set(decodeURIComponent(key), Buffer.concat(chunks));
      else asked.push(`${request.method} ${pathname}`);
      const areSecrets = pathname === "/accounts/acc/workers/scripts/deployed/secrets";
      const success = isTaken || areSecrets;
      const result = areSecrets ? secrets.map((name) => ({ name, type: "secret_text" })) : {};
      response.writeHead(success ? 200 : 403, { "content-type": "application/json" });
      const errors = success ? [] : [{ code: 10_000, message: "the API refuses it" }];
      response.end(JSON.stringify({ success, errors, messages: [], result }));
    });
  });
  await new Promise<void>((done) => api.listen(0, "127.0.0.1", done));
  folder = await mkdtemp(join(tmpdir(), "deploying-"));
  await mkdir(join(folder, "servlets/greeter"), { recursive: true });
  await writeFile(join(folder, "servlets/greeter/servlet.ts"), SOURCE);
  await writeFile(join(folder, "index.js"), "export default { fetch: () => new Response() };");
});
afterEach(async () => {
  api.close();
  await rm(folder, { recursive: true, force: true });
});

const BUCKET = () => `[[r2_buckets]]\nbinding = "BUILDS"\nbucket_name = "${bucket}"\n`;
const LOADER = '[[worker_loaders]]\nbinding = "LOADER"\n';
const OTHERS = '[vars]\nRUN_LOG = "json"\n';

/** Takes wrangler's place: puts objects, lists secrets, and refuses to deploy, as the API does. */
async function standIn([command, ...args]: string[], output: Output = "inherit"): Promise<number> {
  const say = (text: string, stream: "stdout" | "stderr") =>
    output !== "inherit" && output(text, stream);
  if (command === "r2") {
    const key = args.find((one) => one.startsWith(`${bucket}/`))!;
    const bytes = await readFile(args[args.indexOf("--file") + 1]!);
    if (objects.size < room) {
      objects.set(key.slice(bucket.length + 1), bytes);
      return 0;
    }
    say("the API refuses it", "stderr");
    return 1;
  }
  if (command === "secret") {
    say(listing.says, "stderr");
    if (listing.code === 0)
      say(JSON.stringify(secrets.map((name) => ({ name, type: "secret_text" }))), "stdout");
    return listing.code;
  }
  asked.push([command, ...args].join(" "));
  return 1;
}

const configPath = () => join(folder, "wrangler.toml");

/** The arguments and variables of a command with this configuration. */
async function prepared(bindings: string, args: string[]) {
  await writeFile(
    configPath(),
    `name = "deployed"\nmain = "index.js"\ncompatibility_date = "2026-09-01"\n${bindings}`,
  );
  const { port } = api.address() as AddressInfo;
  return {
    args: ["--config", configPath(), ...args],
    variables: {
      SERVLETS: join(folder, "servlets"),
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
      CLOUDFLARE_API_TOKEN: "token",
      CLOUDFLARE_ACCOUNT_ID: "acc",
      WRANGLER_SEND_METRICS: "false",
    },
  };
}

const said = ({ code, stdout, stderr }: Ended) => ({ code, said: stdout + stderr });

/** Deploys in this process with the stand-in. */
async function deploy(bindings: string, ...more: string[]) {
  const { args, variables } = await prepared(bindings, more);
  const work = async () => void (process.exitCode = await deployment(args, standIn));
  return said(await captured(work, variables));
}

/** Deploys in a process of its own with the real wrangler. */
async function deployByWrangler(bindings: string, ...more: string[]) {
  const { args, variables } = await prepared(bindings, more);
  const command = ["src/tools/commands/cli.ts", "deploy", ...args];
  return said(await run(process.execPath, command, variables));
}

test("puts the builds of the bundle into the bucket before the Worker is deployed", async () => {
  await deploy(BUCKET() + LOADER);
  // Then wrangler has gone on to the Worker.
  expect(asked).toEqual([`deploy --minify --upload-source-maps --config ${configPath()}`]);
  const keys = [...objects.keys()];
  const json = keys.find((key) => key.startsWith("builds/"))!;
  const build = await readBuild(JSON.parse(objects.get(json)!.toString()));
  expect(build).toMatchObject({ name: "greeter", lists: { tools: [{ name: "greet" }] } });
  const parts = Object.values(build.parts).map((digest) => `parts/${digest}`);
  expect(keys.toSorted()).toEqual([`builds/${build.hash}.json`, ...parts].toSorted());
  for (const key of parts) {
    const digest = createHash("sha256").update(objects.get(key)!).digest("hex");
    expect(key).toBe(`parts/${digest}`);
  }
  // A key is not put again, but with another manifest the same code is another build.
  objects.clear();
  await deploy(BUCKET() + LOADER);
  expect([...objects.keys()]).toEqual([]);
  asked.length = 0;
  await writeFile(join(folder, "servlets/greeter/servlet.json"), '{"prefix":"my"}');
  await deployByWrangler(BUCKET() + LOADER);
  expect([...objects.keys()]).toEqual([`builds/${build.hash}.json`]);
  expect(asked.filter((one) => one.includes("/workers/"))).not.toEqual([]);
});

test("an upload that fails stops the deploy, and the next goes on from there", async () => {
  room = 2;
  const failed = await deploy(BUCKET() + LOADER);
  expect(failed.code).toBe(1);
  expect(failed.said).toMatch(/the API refuses it[^]*wrangler r2 bucket create/);
  expect(asked).toEqual([]);
  const before = [...objects.keys()];
  room = Infinity;
  objects.clear();
  await deploy(BUCKET() + LOADER);
  expect(before).toHaveLength(2);
  expect([...objects.keys()].filter((key) => before.includes(key))).toEqual([]);
  expect(objects.size).toBe(2);
});

test("what wrangler says of an upload that fails is shown", async () => {
  room = 0;
  expect(await deployByWrangler(BUCKET() + LOADER)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/the API refuses it[^]*wrangler r2 bucket create/),
  });
  expect(asked.filter((one) => one.includes("/workers/"))).toEqual([]);
});

test("a dry run puts nothing, and says from the variables alone that anybody may call", async () => {
  const ended = await deployByWrangler(BUCKET() + LOADER, "--dry-run");
  expect(ended.code).toBe(0);
  expect(ended.said).toContain("note: anybody may call this server");
  expect([objects.size, asked]).toEqual([0, []]);
});

test("it says which settings servlets lack, of those that are neither variables nor secrets", async () => {
  const manifest = { env_vars: { api: "${ISSUES_API}", size: "${SIZE:-20}" } };
  await writeFile(join(folder, "servlets/greeter/servlet.json"), JSON.stringify(manifest));
  const lacks = /note: Settings are missing: greeter needs ISSUES_API\./;
  expect((await deploy(LOADER)).said).toMatch(lacks);
  expect((await deploy(`${LOADER}[vars]\nISSUES_API = "x"\n`)).said).not.toMatch(lacks);
  secrets = ["ISSUES_API"];
  expect((await deploy(LOADER)).said).not.toMatch(lacks);
  expect((await deploy(LOADER, "--dry-run")).said).toMatch(lacks);
});

test("secrets that cannot be listed are not taken for none", async () => {
  secrets = ["API_KEYS"];
  listing = { says: "Authentication error [code: 10000]", code: 1 };
  const { said: text } = await deploy("");
  expect(text).toMatch(/secrets of the deployed Worker are not known[^]*Authentication error/);
  expect(text).not.toContain("note: anybody may call");
  expect(asked).toEqual([`deploy --minify --upload-source-maps --config ${configPath()}`]);
});

test("a Worker that is not deployed yet has no secrets", async () => {
  listing = { says: '✘ [ERROR] Worker "deployed" not found.\n\nIf this is a new Worker', code: 1 };
  expect((await deploy("")).said).toContain("note: anybody may call this server");
});

test("warnings of wrangler are no part of the list of secrets", async () => {
  secrets = ["API_KEYS"];
  listing = { says: "▲ [WARNING] Proxy environment variables detected.\n", code: 0 };
  const { said: text } = await deploy("");
  expect(text).not.toMatch(/anybody may call|not known/);
});

test("a configuration and a bundle that are not valid stop the deploy", async () => {
  expect(
    await deploy(`${LOADER}[[r2_buckets]]\nbinding = "BUILDS"\nbucket_name = "B"`),
  ).toMatchObject({
    code: 1,
    said: expect.stringMatching(/Nothing was deployed[^]*bucket_name="B" is invalid/),
  });
  expect(await deploy(`${LOADER}[[r2_buckets]]\nbinding = "BUILDS"`)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/no bucket_name/),
  });
  await writeFile(join(folder, "servlets/greeter/servlet.json"), '{"prefix":3}');
  expect(await deploy(BUCKET() + LOADER)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/Nothing was deployed[^]*servlet\.json/),
  });
  expect([objects.size, asked]).toEqual([0, []]);
});

test.each([
  ["nothing that requires authentication and no bucket", () => LOADER, [], true],
  ["other variables and secrets, and no loader", () => OTHERS + BUCKET(), ["STATE_KEY"], true],
  ["a secret that requires it", () => "", ["OWNER_PASSPHRASE"], false],
  ["a variable that requires it", () => "[vars]\nAPI_KEYS = '{}'\n", [], false],
  ["public access that is intended", () => '[vars]\nAUTH = "none"\n', [], false],
])("%s: it says whether anybody may call, and which calls will fail", async (...given) => {
  const [, config, names, isOpen] = given;
  secrets = names;
  const ended = await deploy(config());
  expect(ended.said.includes("note: anybody may call this server")).toBe(isOpen);
  expect(ended.said).toMatch(
    /calls that wait will fail where their servlet has changed: .*installing\.md/,
  );
  expect(objects.size).toBe(0);
});
