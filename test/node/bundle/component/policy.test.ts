/** Policies of wassette, as members of servlet.json. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPolicy } from "../../../../src/tools/bundle/component/policy.ts";
import { bundling } from "../bundling.ts";

const { bundle } = bundling();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "policy-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(text: string) {
  const file = join(folder, "policy.yaml");
  await writeFile(file, text);
  return readPolicy(file);
}

test("hosts, folders, variables and memory are mapped, and the rest is named", async () => {
  const { manifest, unmapped } = await read(`
version: "1.0"
description: "Everything"
permissions:
  network:
    allow:
      - host: "api.openweathermap.org"
      - host: "*.example.com"
      - host: "https://rss.nytimes.com/"
      - cidr: "10.0.0.0/8"
    deny:
      - host: "*.malicious.com"
  environment:
    allow:
      - key: "OPENWEATHER_API_KEY"
      - key: "STATE_KEY"
  storage:
    allow:
      - { uri: "fs://workspace/**", access: ["read", "write"] }
      - { uri: "fs://config/", access: ["read"] }
      - { uri: "fs://work/*/data", access: ["read"] }
      - { uri: "http://elsewhere", access: ["read"] }
      - { uri: "fs://workspace", access: ["read"] }
  resources: { memory: 32, cpu: 50.0 }
  runtime: { docker: { security: { privileged: false } } }
  ipc: { allow: [{ uri: "pipe://x" }] }
`);
  expect(manifest).toEqual({
    allowed_hosts: ["api.openweathermap.org", "*.example.com", "rss.nytimes.com"],
    env_vars: { OPENWEATHER_API_KEY: "${OPENWEATHER_API_KEY:-}" },
    allowed_paths: ["workspace", "ro:config"],
    state: "caller",
    memory_limit: "32Mi",
  });
  expect(unmapped.join("\n")).not.toContain("the folders in it");
  expect(unmapped.map((line) => line.split(": ").slice(0, -1).join(": "))).toEqual([
    "runtime",
    "ipc",
    "resources.cpu",
    "network.deny",
    "network: 10.0.0.0/8: hosts are allowed by name here",
    "storage: fs://work/*/data",
    "storage: http://elsewhere",
    expect.stringMatching(/^storage: fs:\/\/workspace/),
    "storage: the folders begin empty, and each caller has their own",
    "environment: STATE_KEY: it is no name of a variable, or one of the server's own",
  ]);
});

test("more memory than an instance may have is named", async () => {
  const { manifest, unmapped } = await read(
    "permissions: { resources: { limits: { memory: 1Gi } } }",
  );
  expect(manifest).toEqual({});
  expect(unmapped).toEqual([expect.stringContaining("1Gi of memory")]);
});

test("members that policies do not have, and amounts that are not valid, are reported", async () => {
  const { manifest, unmapped } = await read(`
permission: { network: { allow: [{ host: api.test }] } }
permissions:
  network: { alow: [{ host: api.test }] }
  environment: { deny: [{ key: A }] }
  resources: { limits: { memory: lots, cpu: 500m } }
`);
  expect(manifest).toEqual({});
  expect(unmapped).toEqual([
    ...["permission", "network.alow", "resources.limits.cpu"].map(
      (name) => `${name}: there is nothing like it here`,
    ),
    expect.stringContaining("environment.deny: only what is allowed"),
    expect.stringContaining("lots of memory is no amount"),
  ]);
});

test("a policy that is no object is refused with the name of its file", async () => {
  await expect(read("- network")).rejects.toThrow(/policy\.yaml: Invalid input/);
});

test("a bundle warns of a policy beside a component, which nothing reads", async () => {
  const component = await readFile("test/node/components/low/low.wasm");
  const warnings = async (files: Record<string, string | Uint8Array>) =>
    (await bundle(files)).flatMap((one) => one.warnings);
  expect(await warnings({ "low/low.wasm": component })).toEqual([]);
  expect(await warnings({ "low/policy.yaml": "permissions:" })).toEqual([
    expect.stringMatching(/^policy\.yaml in its folder is not read: .*--policy policy\.yaml/),
  ]);
});

test.each(["", "version: '1.0'", "permissions:"])("%j allows nothing", async (text) => {
  expect((await read(text)).manifest).toEqual({});
});

test.each([
  [
    "permissions: { network: { allow: [{ port: 1 }] } }",
    /policy\.yaml: permissions\.network\.allow\.0/,
  ],
  ["permissions: { storage: { allow: [{ uri: 'fs://a', access: [all] }] } }", /access/],
  ["a: b: c", /policy\.yaml/],
])("%j is refused", async (text, message) => {
  await expect(read(text)).rejects.toThrow(message);
});

test("a file that is not there is named", async () => {
  await expect(readPolicy(join(folder, "none.yaml"))).rejects.toThrow("there is no such file");
});

test("an entry that is denied in the same words is not allowed", async () => {
  const { manifest, unmapped } = await read(`
permissions:
  network: { allow: [{ host: a.test }, { host: b.test }], deny: [{ host: a.test }] }
  environment: { allow: [{ key: TOKEN }, { key: ZONE }], deny: [{ key: TOKEN }] }
  storage: { allow: [{ uri: "fs://a", access: [write] }, { uri: "fs://b", access: [read] }], deny: [{ uri: "fs://b" }] }
`);
  expect(manifest).toMatchObject({
    allowed_hosts: ["b.test"],
    env_vars: { ZONE: "${ZONE:-}" },
    allowed_paths: ["a"],
  });
  expect(unmapped.join("\n")).toMatch(
    /network\.deny:[^]*environment\.deny:[^]*fs:\/\/a: .* read, too/,
  );
});

test.each([
  ["a port", "network: { allow: [{ host: a.test, port: 443 }] }", /port/],
  ["methods", "network: { allow: [{ host: a.test, methods: [GET] }] }", /methods/],
  ["no access", 'storage: { allow: [{ uri: "fs://a", access: [] }] }', /access/],
  ["a URL without a host", 'network: { allow: [{ host: "file:///x" }] }', /has no host/],
])("an entry with %s is refused, as more would be allowed", async (_what, text, why) => {
  await expect(read(`permissions: { ${text} }`)).rejects.toThrow(why);
});

test("the path of a URL is said to allow all paths", async () => {
  const { manifest, unmapped } = await read(
    'permissions: { network: { allow: [{ host: "https://api.test/me/**" }] } }',
  );
  expect(manifest.allowed_hosts).toEqual(["api.test"]);
  expect(unmapped).toEqual(["network: https://api.test/me/**: all paths of api.test are allowed"]);
});

test("a pattern of a folder's own files takes its folders, too, which is said", async () => {
  const { manifest, unmapped } = await read(
    'permissions: { storage: { allow: [{ uri: "fs://flat/*", access: [read] }] } }',
  );
  expect(manifest.allowed_paths).toEqual(["ro:flat"]);
  expect(unmapped).toContain("storage: fs://flat/*: the folders in it are allowed, too");
});
