import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { catalogOf, makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { assemble } from "../../../../src/tools/bundle/wasm/binaryen.ts";
import { servlets, type Ended } from "../commands/running.ts";

/** The command `npm run servlets -- import`. */

/** A plugin of hyper-mcp with the tool `rest`. */
const WASM = await assemble("test/guests/restless/restless.wat");

let folder: string;
let source: string;
beforeEach(async () => {
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "test-import-"));
  await mkdir(join(folder, "plugins"));
  await writeFile(join(folder, "plugin.wasm"), WASM);
  source = pathToFileURL(resolve(folder, "plugin.wasm")).href;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function imported(
  config: string | object,
  { name = "config.json", args = [] as string[], env = {} } = {},
): Promise<Ended> {
  const path = join(folder, name);
  await writeFile(path, typeof config === "string" ? config : JSON.stringify(config));
  return servlets(["import", path, ...args], { SERVLETS: join(folder, "plugins"), ...env });
}

const written = () => readdir(join(folder, "plugins"), { recursive: true });

async function manifest(name: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(folder, "plugins", name, "servlet.json"), "utf8");
  const { $schema, source: from, ...rest } = JSON.parse(text) as Record<string, unknown>;
  expect($schema).toMatch(/src\/tools\/bundle\/servlet\.schema\.json$/);
  expect(from).toBe(source);
  return rest;
}

/** A plugin with every member that hyper-mcp documents. */
const everything = () => ({
  url: source,
  description: "Looks things up",
  color: "blue",
  runtime_config: {
    skip_tools: ["debug_.*", "^admin"],
    skip_prompts: ["draft_.*"],
    skip_resources: ["file:///private/.*"],
    skip_resource_templates: [".*\\{secret\\}"],
    allowed_hosts: ["api.example.com", "*.example.org", "localhost"],
    allowed_paths: ["/tmp", " /var/log : /plugin/logs ", "/cache:", "C:\\data;C:\\plugin"],
    allowed_secrets: [
      { service: "lookup", user: "key" },
      { service: "9 to 5", user: "ada@example.com" },
    ],
    env_vars: {
      TOKEN: "${LOOKUP_TOKEN}",
      REGION: "${LOOKUP_REGION:-hidden-region}",
      LEVEL: "${LOG_LEVEL}",
      PLAIN: "hidden-literal",
    },
    memory_limit: "32Mi",
    timeout: 5,
  },
});

const CONFIG = () => ({
  auths: {
    "https://a.example.com": { type: "basic", username: "ada", password: "hidden-password" },
    "https://b.example.com": { type: "token", token: "hidden-token" },
    "https://c.example.com": { type: "keyring", service: "s", user: "u" },
  },
  dynamic_loading: true,
  oci: {
    insecure_skip_signature: false,
    use_sigstore_tuf_data: false,
    rekor_pub_keys: "/keys/rekor.pub",
    fulcio_certs: "/keys/fulcio.pem",
    cert_issuer: "https://issuer.example.com",
    cert_email: "ada@example.com",
    cert_url: "https://example.com/.*",
  },
  plugins: { look_up: everything(), "qr-code": { path: source } },
});

describe("a config with everything", () => {
  test("becomes manifests, secrets to set, and a list of what was not mapped", async () => {
    const env = { LOOKUP_TOKEN: "hidden-value", LOG_LEVEL: "hidden-level" };
    const { code, stdout, stderr } = await imported(CONFIG(), { env });
    expect({ code, stderr: stderr.replaceAll(/^ {2}.*\n/gm, "") }).toEqual({ code: 0, stderr: "" });
    expect(await manifest("look_up")).toEqual({
      description: "Looks things up",
      prefix: "look_up",
      allowed_hosts: ["api.example.com", "*.example.org", "localhost"],
      allowed_secrets: [
        { service: "lookup", user: "key" },
        { service: "9 to 5", user: "ada@example.com", variable: "_9_TO_5_ADA_EXAMPLE_COM" },
      ],
      env_vars: {
        TOKEN: "${LOOKUP_TOKEN}",
        REGION: "${LOOKUP_REGION}",
        LEVEL: "${PLUGIN_LOG_LEVEL}",
        PLAIN: "${LOOK_UP_PLAIN}",
      },
      memory_limit: "32Mi",
      allowed_paths: ["/tmp", "/var/log:/plugin/logs", "/cache"],
      state: "caller",
      skip_tools: ["debug_.*", "[^]*(?:^admin)[^]*"],
      skip_prompts: ["draft_.*"],
      skip_resources: ["file:///private/.*"],
      skip_resource_templates: [".*\\{secret\\}"],
    });
    expect(await manifest("qr-code")).toEqual({ prefix: "qr-code" });
    const commands = [...stdout.matchAll(/npx wrangler secret put (\S+)/g)].map(([, name]) => name);
    expect(commands).toEqual([
      "LOOKUP_KEY",
      "_9_TO_5_ADA_EXAMPLE_COM",
      "LOOKUP_TOKEN",
      "LOOKUP_REGION",
      "PLUGIN_LOG_LEVEL",
      "LOOK_UP_PLAIN",
    ]);
    for (const line of [
      /^look_up +\S+look_up +api\.example\.com, \*\.example\.org, localhost .* caller$/m,
      /^ {2}auths: https:\/\/a\.example\.com \(basic\): /m,
      /^ {2}auths: https:\/\/b\.example\.com \(token\): /m,
      /^ {2}auths: https:\/\/c\.example\.com \(keyring\): /m,
      /^ {2}dynamic_loading: /m,
      /^ {2}oci\.fulcio_certs: /m,
      /^ {2}oci\.rekor_pub_keys: /m,
      /^ {2}oci\.use_sigstore_tuf_data: /m,
      /^ {2}look_up: color: /m,
      /^ {2}look_up: timeout: /m,
      /^ {2}look_up: allowed_hosts: \*\.example\.org: /m,
      /^ {2}look_up: allowed_hosts: localhost: /m,
      /^ {2}look_up: allowed_paths: C:\\data;C:\\plugin: /m,
      /^ {2}look_up: allowed_paths: the folders begin empty/m,
      /^ {2}look_up: env_vars\.REGION: its default is not copied/m,
      /^ {2}look_up: env_vars\.PLAIN: its value is not copied/m,
    ])
      expect(stdout).toMatch(line);
    const files = (await written()).filter((path) => path.endsWith(".json"));
    const texts = files.map((path) => readFile(join(folder, "plugins", path), "utf8"));
    expect([stdout, stderr, ...(await Promise.all(texts))].join("\n")).not.toMatch(/hidden-/);
  });

  test("is served with the names that hyper-mcp's clients see", async () => {
    await imported(CONFIG());
    const folders = [join(folder, "plugins")];
    const members = await makeBundle({
      folders,
      languages: LANGUAGES,
      cache: ".bundle",
      progress() {},
    });
    const names = catalogOf(members).lists.tools.map(({ name }) => name);
    expect(names.toSorted()).toEqual(["look_up-rest", "qr-code-rest"]);
  });

  test("is shown and not written with --dry-run", async () => {
    const { code, stdout } = await imported(CONFIG(), { args: ["--dry-run"] });
    expect(code).toBe(0);
    expect(stdout).toMatch(/Nothing is written.*"prefix": "look_up".*secret put LOOKUP_KEY/s);
    expect(await written()).toEqual([]);
  });

  test("has its state and its literal values as the options say", async () => {
    await imported(CONFIG(), { args: ["--state", "server", "--literals"] });
    expect(await manifest("qr-code")).toEqual({ prefix: "qr-code", state: "server" });
    expect(await manifest("look_up")).toMatchObject({
      state: "server",
      env_vars: {
        TOKEN: "${LOOKUP_TOKEN}",
        REGION: "${LOOKUP_REGION:-hidden-region}",
        LEVEL: "${PLUGIN_LOG_LEVEL}",
        PLAIN: "hidden-literal",
      },
    });
  });
});

test.each([
  [
    "config.yaml",
    (url: string) => `plugins:\n  demo:\n    url: ${url}\n    description: Tells # it\n`,
  ],
  ["config.toml", (url: string) => `[plugins.demo]\nurl = "${url}"\ndescription = 'Tells'\n`],
])("%s is read too", async (name, config) => {
  expect((await imported(config(source), { name })).code).toBe(0);
  expect(await manifest("demo")).toEqual({ description: "Tells", prefix: "demo" });
});

test("secrets with the same name stay apart, and the same entry is one secret", async () => {
  const plugin = (service: string, user: string, config = {}) => ({
    url: source,
    runtime_config: { allowed_secrets: [{ service, user }], env_vars: config },
  });
  const plugins = {
    a: plugin("my-db", "key"),
    b: plugin("my", "db key", { OWN: "${MY_DB_KEY}" }),
    c: plugin("my-db", "key"),
  };
  const { stdout } = await imported({ plugins });
  expect(stdout.match(/secret put \w+/g)).toEqual([
    "secret put MY_DB_KEY",
    "secret put MY_DB_KEY_2",
    "secret put MY_DB_KEY_3",
  ]);
  expect(await manifest("b")).toMatchObject({
    allowed_secrets: [{ service: "my", user: "db key", variable: "MY_DB_KEY_2" }],
    env_vars: { OWN: "${MY_DB_KEY_3}" },
  });
});

describe("is refused, and nothing is written:", () => {
  const two = (first: string, second: string) => ({
    plugins: { [first]: { url: source }, [second]: { url: source } },
  });
  test.each<[string, () => object, RegExp]>([
    [
      "a name that is no folder's",
      () => two("ok", "../up"),
      /plugins\.\.\.\/up: .*cannot be a servlet's name/,
    ],
    [
      "names that fall together",
      () => two("time_now", "Time-now"),
      /plugins\.Time-now: the name is taken by plugins\.time_now/,
    ],
    [
      "a name that is the server's own",
      () => two("ok", "server"),
      /plugins\.server: "server" is the server's own/,
    ],
    [
      "a pattern of Rust's",
      () => ({
        plugins: {
          ok: { url: source },
          bad: { url: source, runtime_config: { skip_tools: ["(?i)x"] } },
        },
      }),
      /plugins\.bad: the pattern \(\?i\)x/,
    ],
    [
      "an invalid size",
      () => ({ plugins: { bad: { url: source, runtime_config: { memory_limit: "much" } } } }),
      /plugins\.bad: memory_limit: is not a size/,
    ],
    [
      "a plugin that is not there",
      () => ({ plugins: { ok: { url: source }, bad: { url: `${source}.not` } } }),
      /plugins\.bad: .*there is no file.*Nothing was imported/s,
    ],
    [
      "an image without a required signer",
      () => ({ plugins: { ok: { url: source }, bad: { url: "oci://127.0.0.1:1/bad" } } }),
      /say who must have signed it.*Nothing was imported/s,
    ],
    [
      "a signer that is no glob",
      () => ({ oci: { cert_url: "(a|b)", cert_issuer: "c" }, ...two("ok", "fine") }),
      /oci\.cert_url: a regular expression/,
    ],
    [
      "a signer with a star, which a glob has for any characters",
      () => ({
        oci: { cert_url: String.raw`https://ci/\*`, cert_issuer: "c" },
        ...two("ok", "fine"),
      }),
      /oci\.cert_url: a regular expression/,
    ],
    ["no plugins", () => ({ plugins: {} }), /it has no plugins/],
  ])("%s", async (_, config, message) => {
    const { code, stdout, stderr } = await imported(config());
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(await written()).toEqual([]);
  });

  test("a name that is taken", async () => {
    await imported({ plugins: { ok: { url: source } } });
    const before = await written();
    const { stderr } = await imported(two("fine", "OK"));
    expect(stderr).toMatch(/plugins\.OK: the name is taken by .*ok/);
    expect(await written()).toEqual(before);
  });

  test.each([[["--state", "call"]], [["--bogus"]], [["other.json"]]])("%j", async (args) => {
    const { code } = await imported({ plugins: { ok: { url: source } } }, { args });
    expect({ code, written: await written() }).toEqual({ code: 1, written: [] });
  });
});

test("no secret has the name of a setting of the server", async () => {
  const settings = (await readFile("src/server/kernel/settings/env.ts", "utf8")).match(
    /(?<=^ {2})[A-Z_]+(?=: )/gm,
  )!;
  expect(settings).toContain("OWNER_PASSPHRASE");
  const env_vars = Object.fromEntries(settings.map((name) => [name, `\${${name}}`]));
  await imported({ plugins: { demo: { url: source, runtime_config: { env_vars } } } });
  const { env_vars: mapped } = await manifest("demo");
  expect(mapped).toEqual(Object.fromEntries(settings.map((name) => [name, `\${PLUGIN_${name}}`])));
});
