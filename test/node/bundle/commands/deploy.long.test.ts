import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBuild } from "../../../../src/builds/build.ts";

/** `npm run deploy`, with the real wrangler and a server in the place of Cloudflare's API. */

const SOURCE = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  greet: { description: "Greets.", input: { type: "object" }, handler: () => "hello" },
} });`;

/** For tests that run wrangler some ten times, in ms. */
const SLOW = 240_000;

let folder: string;
let api: Server;
/** The requests to the API in order, without those for the bucket's objects. */
let asked: string[];
let objects: Map<string, Buffer>;
/** Names of the secrets of the Worker that is deployed. */
let secrets: string[];
/** Objects that the API still takes. */
let room: number;
/** The bucket of this test: what was put into one is remembered in .bundle/. */
let bucket: string;

beforeEach(async () => {
  bucket = `builds-${randomUUID()}`;
  [asked, objects, room, secrets] = [[], new Map(), Infinity, []];
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

async function deploy(bindings: string, ...args: string[]) {
  const config = join(folder, "wrangler.toml");
  await writeFile(
    config,
    `name = "deployed"\nmain = "index.js"\ncompatibility_date = "2026-09-01"\n${bindings}`,
  );
  const { port } = api.address() as AddressInfo;
  return new Promise<{ code: number; said: string }>((end) => {
    execFile(
      process.execPath,
      ["src/bundle/commands/deploy.ts", "--config", config, ...args],
      {
        env: {
          ...process.env,
          SERVLETS: join(folder, "servlets"),
          CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
          CLOUDFLARE_API_TOKEN: "token",
          CLOUDFLARE_ACCOUNT_ID: "acc",
          WRANGLER_SEND_METRICS: "false",
        },
      },
      (error, stdout, stderr) =>
        end({ code: error === null ? 0 : Number(error.code), said: stdout + stderr }),
    );
  });
}

test(
  "puts the builds of the bundle into the bucket before the Worker is deployed",
  async () => {
    await deploy(BUCKET() + LOADER);
    // Then wrangler has gone on to the Worker, which this API refuses.
    expect(asked.filter((one) => one.includes("/workers/"))).not.toEqual([]);
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
    await writeFile(join(folder, "servlets/greeter/servlet.json"), '{"prefix":"my"}');
    await deploy(BUCKET() + LOADER);
    expect([...objects.keys()]).toEqual([`builds/${build.hash}.json`]);
  },
  SLOW,
);

test(
  "an upload that fails stops the deploy, and the next goes on from there",
  async () => {
    room = 2;
    const failed = await deploy(BUCKET() + LOADER);
    expect(failed.code).toBe(1);
    expect(failed.said).toMatch(/the API refuses it[^]*wrangler r2 bucket create/);
    expect(asked.filter((one) => one.includes("/workers/"))).toEqual([]);
    const before = [...objects.keys()];
    room = Infinity;
    objects.clear();
    await deploy(BUCKET() + LOADER);
    expect(before).toHaveLength(2);
    expect([...objects.keys()].filter((key) => before.includes(key))).toEqual([]);
    expect(objects.size).toBe(2);
  },
  SLOW,
);

test("a dry run puts nothing, and says from the variables alone that anybody may call", async () => {
  const { code, said } = await deploy(BUCKET() + LOADER, "--dry-run");
  expect(code).toBe(0);
  expect(said).toContain("note: anybody may call this server");
  expect([objects.size, asked]).toEqual([0, []]);
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
  const { said } = await deploy(config());
  expect(said.includes("note: anybody may call this server")).toBe(isOpen);
  expect(said).toMatch(
    /calls that wait will fail where their servlet has changed: .*installing\.md/,
  );
  expect(objects.size).toBe(0);
});
