import { describe, expect, test } from "vitest";
import { demandServable } from "../../../src/server/features/installs/servable.ts";
import { Installer, type InstallerParts } from "../../../src/server/features/installs/installer.ts";
import { permissionsOf } from "../../../src/server/features/installs/permissions.ts";
import { deploymentOf, ownNamesOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { settingNames } from "../../../src/server/kernel/settings/own-names.ts";
import { manifestSchema, type Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import { configOf, secretOf } from "../../../src/server/kernel/servlets/config.ts";
import { bundled } from "../installs/installed.ts";

/** A servlet with this manifest, as it could be in a bundle or a bucket since before it was checked. */
const withManifest = (manifest: Manifest) => ({ ...bundled("hello"), manifest });

const KEY = "ab".repeat(32);
const provider = {
  authorization_endpoint: "https://id.example/authorize",
  token_endpoint: "https://id.example/token",
  client_id: "me",
  client_secret: "PROVIDER_SECRET",
};
const env = {
  STATE_KEY: KEY,
  API_KEYS: JSON.stringify({ ada: KEY }),
  SCOPES: "{}",
  ACCOUNTS: JSON.stringify({ example: provider }),
  OAUTH_ISSUERS: JSON.stringify([
    { issuer: "https://id.example", client: { client_id: "me", client_secret: "ISSUER_SECRET" } },
  ]),
  PROVIDER_SECRET: "hush-provider",
  ISSUER_SECRET: "hush-issuer",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=hush-collector",
  TASKS: { binding: true },
  REGION: "eu",
};
const { variables } = deploymentOf(readSettings(env), env);

const OWN = [
  "STATE_KEY",
  "API_KEYS",
  "SCOPES",
  "ACCOUNTS",
  "OAUTH_ISSUERS",
  "TASKS",
  "PROVIDER_SECRET",
  "ISSUER_SECRET",
  "OTEL_EXPORTER_OTLP_HEADERS",
];

describe("the server's own variables, secrets and bindings", () => {
  test.each(OWN)("%s reaches no servlet at run time", (name) => {
    for (const text of [`\${${name}}`, `\${REGION}|\${${name}}`, `$$\{x}\${${name}}`]) {
      const config = () => configOf(withManifest({ env_vars: { region: text } }), variables);
      expect(config).toThrow(/ is the server's own\./);
    }
    const entry = { service: "any", user: "one", variable: name };
    expect(secretOf(withManifest({ allowed_secrets: [entry] }), variables, entry)).toBeUndefined();
    const [first = "", ...rest] = name.split("_");
    const derived = { service: first.toLowerCase(), user: rest.join("-").toLowerCase() };
    expect(
      secretOf(withManifest({ allowed_secrets: [derived] }), variables, derived),
    ).toBeUndefined();
  });

  test.each([...settingNames(), "TASKS", "OAUTH_KV", "LOADER", "OTEL_EXPORTER_OTLP_HEADERS"])(
    "%s is refused in what is installed",
    (name) => {
      const [first = "", ...rest] = name.split("_");
      const manifests: Manifest[] = [
        { env_vars: { region: `\${REGION}|\${${name}}` } },
        { env_vars: { a: "x", region: `\${${name}:-eu}` } },
        { allowed_secrets: [{ service: "any", user: "one", variable: name }] },
        ...(rest.length > 0
          ? [{ allowed_secrets: [{ service: first.toLowerCase(), user: rest.join(" ") }] }]
          : []),
      ];
      for (const manifest of manifests) {
        const build = { ...withManifest(manifest), parts: { module: KEY } };
        expect(() => demandServable(build)).toThrow(
          `names ${name}, which belongs to the server itself`,
        );
      }
    },
  );

  test("those that its settings name are refused as a servlet is published or installed", async () => {
    const published = new Installer({
      ...({ loader: { check: async () => {} } } as unknown as InstallerParts),
      ownNames: ownNamesOf(readSettings(env), env),
    });
    for (const name of ["PROVIDER_SECRET", "ISSUER_SECRET", "TASKS"]) {
      const env_vars = { region: `\${REGION}\${${name}}` };
      const build = { ...withManifest({ env_vars }), parts: { module: KEY }, exports: [] };
      await expect(published.publish(build, "ada")).rejects.toThrow(
        `env_vars.region names ${name}, which belongs to the server itself`,
      );
    }
  });

  test("other names are free, and escaped ones name nothing", () => {
    const env_vars = {
      a: "${REGION}",
      b: "$${STATE_KEY}",
      c: "${STATE_KEYS:-x}",
      d: "${region:-y}",
    };
    const servlet = withManifest({ env_vars });
    demandServable({ ...servlet, parts: { module: KEY } });
    expect(configOf(servlet, variables)).toEqual({ a: "eu", b: "${STATE_KEY}", c: "x", d: "y" });
  });

  test("a number and a boolean of wrangler.toml are taken as their text", () => {
    const typed = { RETRIES: 3, EXACT: false, RUN_LOG: "json", RUN_LOG_SAMPLE: 0.5, TASKS: {} };
    const settings = readSettings(typed);
    expect(settings.RUN_LOG_SAMPLE).toBe(0.5);
    const env_vars = { a: "${RETRIES:-1}", b: "${EXACT:-true}" };
    expect(configOf(withManifest({ env_vars }), deploymentOf(settings, typed).variables)).toEqual({
      a: "3",
      b: "false",
    });
    expect([...ownNamesOf(settings, typed)]).not.toContain("RETRIES");
    expect(() => readSettings({ LIMITS: { bodyBytes: 1 } })).toThrow(/LIMITS: .*expected string/);
  });

  test.each(["constructor", "__proto__", "toString"])("%s is not set", (name) => {
    const servlet = withManifest({ env_vars: { a: `\${${name}:-default}` } });
    expect(configOf(servlet, variables)).toEqual({ a: "default" });
  });
});

test("who approves a servlet sees which others it may call", () => {
  const manifest: Manifest = { may_call: ["weather:*", "notes:add"] };
  expect(permissionsOf({ manifest, lists: undefined })).toContain(
    "It may call these tools of other servlets, as its caller: weather:*, notes:add.",
  );
  const asking: Manifest = { ...manifest, confirm_calls: "destructive" };
  expect(permissionsOf({ manifest: asking, lists: undefined })).toContain(
    "Its callers must allow first: calls that may destroy something.",
  );
});

test("who approves a servlet sees when it runs by itself", () => {
  const schedules = {
    daily: { cron: "0 8 * * *", timeZone: "Asia/Tokyo" },
    often: { every: 60_000 },
  };
  expect(permissionsOf({ manifest: { schedules }, lists: undefined })).toContain(
    'It runs by itself: daily ("0 8 * * *" Asia/Tokyo), often (every 1 min).',
  );
});

test("who approves a servlet sees the events that it emits, and to whom", () => {
  const payload = { type: "object" };
  const description = "It happens";
  const events = {
    "issue.opened": { description, payload },
    news: { description, payload, to: "everyone" },
  } as const;
  expect(permissionsOf({ manifest: { events }, lists: undefined })).toContain(
    "It emits these events: issue.opened, news (to everyone).",
  );
});

test("who approves a servlet sees whose accounts it uses, where, and by which issuer", () => {
  const accounts = {
    github: { scopes: ["read:user", "repo"], hosts: ["api.github.com"] },
    remote: {
      hosts: ["mcp.example", "files.example"],
      issuer: "https://auth.example",
      resource: "https://mcp.example/mcp",
    },
  };
  expect(permissionsOf({ manifest: { accounts }, lists: undefined })).toContain(
    "It may use its callers' accounts: github (read:user repo) at api.github.com, remote (no scopes) at mcp.example and files.example by the issuer https://auth.example for https://mcp.example/mcp.",
  );
});

test.each<[issuer: string, resource: string, isRight: boolean]>([
  ["https://auth.example", "https://mcp.example/mcp?team=1", true],
  ["https://auth.example/tenant", "https://mcp.example", true],
  ["http://127.0.0.1:9000", "http://localhost:9001/mcp", true],
  ["http://auth.example", "https://mcp.example/mcp", false],
  ["https://auth.example?x", "https://mcp.example/mcp", false],
  ["https://auth.example#x", "https://mcp.example/mcp", false],
  ["https://me:secret@auth.example", "https://mcp.example/mcp", false],
  ["javascript:alert(1)", "https://mcp.example/mcp", false],
  [`https://auth.example/${"x".repeat(500)}`, "https://mcp.example/mcp", false],
  ["https://auth.example", "http://mcp.example/mcp", false],
  ["https://auth.example", "https://mcp.example/mcp#x", false],
  ["https://auth.example", "mcp.example", false],
])("the issuer %s and the resource %s of an account are right: %s", (issuer, resource, isRight) => {
  const accounts = { remote: { hosts: ["mcp.example"], issuer, resource } };
  const manifest = { allowed_hosts: ["mcp.example"], accounts };
  expect(manifestSchema().safeParse(manifest).success).toBe(isRight);
});

test("who approves a servlet sees that it makes or takes files", () => {
  const permissions = (files: Manifest["files"]) =>
    permissionsOf({ manifest: { ...(files && { files }) }, lists: undefined });
  expect(permissions({})).toContain("It makes or takes files: yes.");
  expect(permissions({ resultsOver: 5000 })).toContain(
    "It makes or takes files: also of results over 5000 characters.",
  );
  expect(permissions(undefined)).not.toContainEqual(expect.stringMatching(/files: /));
});

test("who approves a servlet sees each secret that it gets", () => {
  const manifest: Manifest = {
    env_vars: { plain: "x", region: "${REGION:-eu}|${DB_URL}", again: "${DB_URL}${DB_URL}" },
    allowed_secrets: [
      { service: "git", user: "bot" },
      { service: "harmless", user: "me", variable: "PAYROLL_TOKEN" },
    ],
  };
  const lines = permissionsOf({ manifest, lists: undefined });
  expect(lines).toContain(
    "It gets these settings: plain, region (from the Worker's REGION and DB_URL), again (from the Worker's DB_URL).",
  );
  expect(lines).toContain(
    "It may read these secrets: git/bot (the Worker's GIT_BOT), harmless/me (the Worker's PAYROLL_TOKEN).",
  );
});

test("who approves a servlet sees which credentials its callers must bring", () => {
  const manifest: Manifest = {
    requirements: { authorization: [{ id: "google" }], secrets: [{ id: "a, b" }] },
    tools: {
      one: { requirements: { secrets: [{ id: "PIN" }], user_id: true } },
      two: { requirements: { secrets: [{ id: "PIN" }] }, task: "never" },
    },
  };
  expect(permissionsOf({ manifest, lists: undefined })).toContain(
    'Calls of Open Tool Calling must bring it: the token google, the secret "a, b", the secret PIN, the id of the user.',
  );
});

test("a servlet's long lists hide nothing from who approves it: they come last, and some of them", () => {
  const tools = Array.from({ length: 5000 }, (_, at) => ({
    name: `${at}${"x".repeat(1000)}`,
    inputSchema: { type: "object" as const },
  }));
  const resources = tools.map(({ name }) => ({ name, uri: `x://${name}` }));
  const lists = { tools, resources, resourceTemplates: [], prompts: [] };
  const manifest = { allowed_hosts: ["evil.example"], env_vars: { region: "${REGION}" } };
  const lines = permissionsOf({ manifest, lists });
  expect(lines.slice(0, 2).join()).toContain("evil.example");
  expect(lines.slice(0, 2).join()).toContain("REGION");
  expect(lines.at(-1)).toMatch(/^Its resources: .*, and 4950 more\.$/);
  expect(lines.join("\n").length).toBeLessThan(20_000);
});

test("no name that its author chose looks like another permission to who approves it", () => {
  const manifest: Manifest = {
    allowed_hosts: ["a.example, b.example"],
    allowed_paths: ["data:/data", "ro:x:/y (empty)"],
    env_vars: { "a (from the Worker's B)": "x", "": "${REGION}" },
    allowed_secrets: [
      { service: "git/me", user: "bot" },
      { service: "git", user: "me/bot" },
      { service: "x/y (the Worker's NOTHING), z", user: "" },
      { service: "plain", user: 'a"b\u202e' },
    ],
    accounts: { "mail (no scopes) at nowhere": { scopes: ["a b"], hosts: ["c.example and d"] } },
  };
  const tool = { name: "greet. It may reach no hosts", inputSchema: { type: "object" as const } };
  const lists = { tools: [tool], resources: [], resourceTemplates: [], prompts: [] };
  expect(permissionsOf({ manifest, lists }).filter((line) => !/may take/.test(line))).toEqual([
    'It may reach these hosts: "a.example, b.example".',
    `It may read these secrets: "git/me"/bot (the Worker's GIT_ME_BOT), git/"me/bot" (the Worker's GIT_ME_BOT), "x/y (the Worker's NOTHING), z"/"" (the Worker's X_Y_THE_WORKER_S_NOTHING_Z_), plain/"a\\"b\\u{202e}" (the Worker's PLAIN_A_B_).`,
    'It may use its callers\' accounts: "mail (no scopes) at nowhere" ("a b") at "c.example and d".',
    `It gets these settings: "a (from the Worker's B)", "" (from the Worker's REGION).`,
    'It has these folders: data:/data, "ro:x:/y (empty)".',
    'Its tools: "greet. It may reach no hosts".',
  ]);
});
