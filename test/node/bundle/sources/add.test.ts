import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { removeSource } from "../../../../src/tools/bundle/sources/add.ts";
import { pinnedWasm } from "../../../../src/tools/bundle/sources/pinned.ts";
import { adding, servlet, tarLayer, WASM } from "./adding.ts";
import { INDEX, sha256, USER } from "./registry.ts";
import { bundleByKey, IDENTITY, ISSUER, keyPair, pem, signByKey, sigstore } from "./signing.ts";

const { registry, at, plugins, cache, source, add, lock, files } = adding();

const now = () => servlet({ name: "now" });

describe("an image", () => {
  test.each(["a wasm layer", "a gzip tar"])("with %s is added and pinned", async (kind) => {
    const wasm = await now();
    const layer = kind === "a gzip tar" ? await tarLayer(wasm) : { mediaType: WASM, bytes: wasm };
    const { digest } = registry().image("ada/time", "latest", [layer]);
    const { folder } = await add(source("ada/time"), {
      allowUnsigned: true,
      manifest: { allowed_hosts: ["time.example.com"] },
    });
    expect(JSON.parse(await readFile(`${folder}/servlet.json`, "utf8"))).toMatchObject({
      source: source("ada/time"),
      allowed_hosts: ["time.example.com"],
    });
    expect(await lock()).toEqual({
      time: {
        source: source("ada/time"),
        manifest: digest,
        digest: sha256(wasm),
        size: wasm.length,
        signed: { by: "nobody" },
      },
    });
  });

  test("of an index is the one for wasm", async () => {
    const other = registry().image("ada/time", undefined, [
      { mediaType: WASM, bytes: await servlet({ name: "other" }) },
    ]);
    const ours = registry().image("ada/time", undefined, [{ mediaType: WASM, bytes: await now() }]);
    const index = registry().put("ada/time", "latest", INDEX, {
      schemaVersion: 2,
      mediaType: INDEX,
      manifests: [
        { ...other, platform: { architecture: "amd64", os: "linux" } },
        { ...ours, platform: { architecture: "wasm", os: "wasip1" } },
      ],
    });
    await add(source("ada/time"), { allowUnsigned: true });
    expect((await lock())!["time"]).toMatchObject({
      manifest: index.digest,
      digest: sha256(await now()),
    });
  });

  test("is fetched again by its digest, and not where the cache has it", async () => {
    registry().image("ada/time", "latest", [await tarLayer(await now())]);
    const { folder } = await add(source("ada/time"), { allowUnsigned: true });
    registry().image("ada/time", "latest", [await tarLayer(await servlet({ name: "newer" }))]);
    const requests = registry().requests.length;
    const bytes = () => pinnedWasm(folder, source("ada/time"), cache(), () => {});
    expect(await bytes()).toEqual(await now());
    expect(registry().requests).toHaveLength(requests);
    await rm(cache(), { recursive: true });
    expect(await bytes()).toEqual(await now());
    await registry().stop();
    expect(await bytes()).toEqual(await now());
  });
});

describe("credentials", () => {
  const login = async (config: object) => {
    await mkdir(at("docker"), { recursive: true });
    await writeFile(at("docker/config.json"), JSON.stringify(config));
  };
  const auth = Buffer.from(`${USER.name}:${USER.password}`).toString("base64");

  test.each(["basic", "bearer"] as const)("of Docker's config are given: %s", async (access) => {
    registry().access = access;
    registry().image("ada/time", "latest", [await tarLayer(await now())]);
    const refused = add(source("ada/time"), { allowUnsigned: true });
    await expect(refused).rejects.toThrow(/status 401: it needs other credentials/);
    await login({ auths: { [registry().host]: { auth } } });
    await add(source("ada/time"), { allowUnsigned: true });
    expect(await files()).toContain("time");
  });

  test("are asked of a helper", async () => {
    registry().access = "bearer";
    registry().image("ada/time", "latest", [await tarLayer(await now())]);
    await login({ credHelpers: { [registry().host]: "test-19" } });
    await mkdir(at("bin"), { recursive: true });
    const answer = JSON.stringify({ Username: USER.name, Secret: USER.password });
    await writeFile(
      at("bin/docker-credential-test-19"),
      `#!/bin/sh\nread host\n[ "$1 $host" = "get ${registry().host}" ] && echo '${answer}'\n`,
      { mode: 0o755 },
    );
    const path = process.env["PATH"];
    process.env["PATH"] = `${at("bin")}:${path}`;
    try {
      await add(source("ada/time"), { allowUnsigned: true });
    } finally {
      process.env["PATH"] = path;
    }
    expect(await files()).toContain("time");
  });

  test("go neither to another host nor into messages", async () => {
    registry().access = "basic";
    await login({ auths: { [registry().host]: { auth } } });
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(500).end();
    });
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const { digest } = registry().blob({ mediaType: WASM, bytes: await now() });
    registry().image("ada/time", "latest", [{ mediaType: WASM, bytes: await now() }]);
    registry().faults.set(`/v2/ada/time/blobs/${digest}`, (response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}/blob?signature=abc` }).end();
    });
    const refused = await add(source("ada/time"), { allowUnsigned: true }).catch(String);
    expect(seen).toEqual([undefined]);
    expect(refused).toContain(`http://127.0.0.1:${port}/blob: it answers with the status 500`);
    expect(refused).not.toMatch(/signature|s3cret/);
    other.close();
  });

  test("for the registry are not given to a token service of another host", async () => {
    await login({ auths: { [registry().host]: { auth } } });
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.setHeader("content-type", "application/json");
      response.end('{"token":"anonymous"}');
    });
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    registry().faults.set("/v2/ada/time/manifests/latest", (response) => {
      response
        .writeHead(401, { "www-authenticate": `Bearer realm="http://127.0.0.1:${port}/token"` })
        .end();
    });
    await expect(add(source("ada/time"), { allowUnsigned: true })).rejects.toThrow(/status 401/);
    expect(seen).toEqual([undefined]);
    expect(registry().requests.map((one) => one.authorization)).toEqual([
      undefined,
      "Bearer anonymous",
    ]);
    other.close();
  });
});

describe("a signature", () => {
  const push = async () => registry().image("ada/time", "latest", [await tarLayer(await now())]);

  test.each(["simple", "bundle", "bundle at a tag"])("by key, %s, holds", async (form) => {
    registry().hasReferrers = form !== "bundle at a tag";
    const { digest } = await push();
    const { publicKey, privateKey } = keyPair();
    if (form === "simple") signByKey(registry(), "ada/time", digest, { key: privateKey });
    else bundleByKey(registry(), "ada/time", digest, privateKey);
    await writeFile(at("cosign.pub"), pem(publicKey));
    await add(source("ada/time"), { key: at("cosign.pub") });
    expect((await lock())!["time"]).toMatchObject({ signed: { by: "key", key: pem(publicKey) } });
  });

  test.each(["sign", "bundle"] as const)("keyless, by %s, holds", async (form) => {
    const { digest } = await push();
    const own = await sigstore();
    await own[form](registry(), "ada/time", digest);
    await writeFile(at("root.json"), own.root);
    const identity = "https://github.com/ada/time/.github/workflows/release.yml@refs/tags/*";
    const trust = { issuer: ISSUER, trustedRoot: at("root.json") };
    const another = add(source("ada/time"), { ...trust, identity: "https://github.com/eve/*" });
    await expect(another).rejects.toThrow(
      `it is not signed by https://github.com/eve/* (issuer ${ISSUER}): it is signed by ${IDENTITY}`,
    );
    await add(source("ada/time"), { ...trust, identity });
    expect((await lock())!["time"]).toMatchObject({
      signed: { by: "identity", identity, issuer: ISSUER, signer: IDENTITY },
    });
  });
});

test("a file, by its path or URL, is added", async () => {
  await writeFile(at("time.wasm"), await now());
  await add(at("time.wasm"));
  expect(JSON.parse(await readFile(at("plugins/time/servlet.json"), "utf8"))).toMatchObject({
    source: "../../time.wasm",
  });
  await add(pathToFileURL(at("time.wasm")).href, { name: "again" });
  expect(Object.keys((await lock())!)).toEqual(["again", "time"]);
});

test("an object of S3 is added, with a signed request", async () => {
  await registry().stop();
  const seen: [string | undefined, string | undefined][] = [];
  const bytes = await now();
  const store = createServer((request, response) => {
    seen.push([request.url, request.headers.authorization]);
    response.end(bytes);
  });
  await new Promise<void>((resolve) => void store.listen(0, "127.0.0.1", resolve));
  const { port } = store.address() as AddressInfo;
  const before = { ...process.env };
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: "AKIATEST",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "eu-west-1",
  });
  try {
    await add("s3://tools/deep/time v1.wasm");
  } finally {
    process.env = before;
    store.close();
  }
  expect(seen).toEqual([
    [
      "/tools/deep/time%20v1.wasm",
      expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-west-1\/s3\//),
    ],
  ]);
});

test("a servlet that was added is removed with its pin; others are left", async () => {
  await writeFile(at("time.wasm"), await now());
  await add(at("time.wasm"));
  await add(at("time.wasm"), { name: "clock" });
  await removeSource("time", [plugins()]);
  expect(Object.keys((await lock())!)).toEqual(["clock"]);
  expect(new Set(await files())).toEqual(
    new Set(["clock", "clock/servlet.json", "servlets.lock.json"]),
  );
  await expect(removeSource("time", [plugins()])).rejects.toThrow(/no servlet time that was added/);
  await writeFile(at("plugins/clock/notes.txt"), "mine");
  await expect(removeSource("clock", [plugins()])).rejects.toThrow(/also has notes.txt/);
});
