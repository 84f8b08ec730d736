/** Bad sources: each is refused with a message that names it, and nothing is written. */
import { mkdir, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { afterEach, describe, expect, test, vi } from "vitest";
import { configureLimits } from "../../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../../src/tools/bundle/limits.ts";
import { adding, servlet, tarLayer, WASM } from "./adding.ts";
import type { Layer } from "./registry.ts";
import { IDENTITY, ISSUER, keyPair, pem, signByKey, sigstore } from "./signing.ts";

const { registry, at, source, add, lock, files } = adding();
const before = { ...limits };
afterEach(() => {
  configureLimits(before);
  vi.restoreAllMocks();
});

const now = () => servlet({ name: "now" });
const image = async (layer?: Layer) =>
  registry().image("ada/time", "latest", [layer ?? (await tarLayer(await now()))]);
const unsigned = () => add(source("ada/time"), { allowUnsigned: true });

/** The message of what must be refused; nothing was written. */
async function refused(attempt: Promise<unknown>): Promise<string> {
  const message = await attempt.then(
    () => "it was added",
    (error: Error) => error.message,
  );
  expect(await files()).toEqual([]);
  return message;
}

describe("a registry that", () => {
  const answering = (what: string, fault: (response: ServerResponse) => void) =>
    registry().faults.set(`/v2/ada/time/${what}`, fault);

  test("is slow is given up", async () => {
    configureLimits({ sourceIdleMs: 100 });
    answering("manifests/latest", () => {});
    expect(await refused(unsigned())).toMatch(/latest: no data has arrived for 0.1 s/);
  });

  test("trickles is given up", async () => {
    configureLimits({ sourceMs: 300 });
    answering("manifests/latest", (response) => {
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    });
    expect(await refused(unsigned())).toMatch(/latest: it takes longer than 0.3 s/);
  });

  test("sends without end is cut off", async () => {
    const { digest } = registry().blob({ mediaType: WASM, bytes: await now() });
    await image({ mediaType: WASM, bytes: await now() });
    configureLimits({ sourceBytes: 100_000 });
    answering(`blobs/${digest}`, (response) => {
      const more = () => {
        while (response.writable && response.write(Buffer.alloc(64 * 1024)));
      };
      response.on("drain", more);
      more();
    });
    expect(await refused(unsigned())).toMatch(/it is larger than 100000 bytes/);
  });

  test("breaks off is said to have", async () => {
    answering("manifests/latest", (response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{", () => response.destroy());
    });
    expect(await refused(unsigned())).toMatch(/its answer was cut off after 1 bytes/);
  });

  test("answers with a web page is said to", async () => {
    answering("manifests/latest", (response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end("<html>Sign in</html>");
    });
    expect(await refused(unsigned())).toMatch(/latest: it answers with a web page/);
  });

  test("redirects in a circle is left", async () => {
    answering("manifests/latest", (response) => {
      response.writeHead(302, { location: "/v2/ada/time/manifests/latest" }).end();
    });
    expect(await refused(unsigned())).toMatch(/redirected more than 5 times/);
  });

  test("has no such image is said to", async () => {
    expect(await refused(unsigned())).toMatch(/has no image latest there/);
  });

  test("gives another manifest than its digest is refused", async () => {
    const { digest } = await image();
    answering(`manifests/${digest}`, (response) => response.end('{"layers":[]}'));
    const pinned = add(source("ada/time", `@${digest}`), { allowUnsigned: true });
    expect(await refused(pinned)).toMatch(/the manifest has the digest sha256:\w+, not sha256:/);
  });
});

test.each(["http://example.com/time.wasm", "http://10.0.0.7/time.wasm"])(
  "%s is not asked without encryption",
  async (url) => {
    expect(await refused(add(url))).toMatch(/it is not encrypted: use https/);
  },
);

describe("an image", () => {
  const gzip = async (...names: string[]) =>
    gzipSync(
      await packTar(
        await Promise.all(
          names.map(async (name) => ({
            header: { name, size: (await now()).length },
            body: await now(),
          })),
        ),
      ),
    );
  const layer = async (bytes: Uint8Array | Promise<Uint8Array>) =>
    image({ mediaType: "application/octet-stream", bytes: await bytes });

  test("with a tampered layer", async () => {
    const [{ digest }] = [registry().blob({ mediaType: WASM, bytes: await now() })];
    await image({ mediaType: WASM, bytes: await now() });
    const other = new Uint8Array(await now());
    other[other.length - 1]! ^= 1;
    registry().tamper(digest, other);
    expect(await refused(unsigned())).toMatch(/blobs\/\S+: the layer has .* altered on its way/);
  });

  test("with a path out of its tar", async () => {
    await layer(gzip("../../plugin.wasm"));
    expect(await refused(unsigned())).toMatch(/its tar has the path \.\.\/\.\.\/plugin.wasm/);
  });

  test("with two servlets", async () => {
    await layer(gzip("a.wasm", "b.wasm"));
    expect(await refused(unsigned())).toMatch(/its tar has a.wasm and b.wasm/);
  });

  test("with a tar that is cut off", async () => {
    await layer(gzipSync((await packTarOf(await now())).subarray(0, 700)));
    expect(await refused(unsigned())).toMatch(/it is not a whole tar/);
  });

  test("with a gzip that is cut off", async () => {
    await layer((await gzip("plugin.wasm")).subarray(0, 100));
    expect(await refused(unsigned())).toMatch(/it cannot be unpacked, so it may be cut off/);
  });

  test("that is too large once it is unpacked", async () => {
    configureLimits({ sourceBytes: 50_000 });
    await layer(gzipSync(await packTarOf(Buffer.alloc(100_000))));
    expect(await refused(unsigned())).toMatch(/larger than 50000 bytes once it is unpacked/);
  });

  test("that is too large", async () => {
    configureLimits({ sourceBytes: 10 });
    await image();
    expect(await refused(unsigned())).toMatch(/bytes, and 10 is the limit/);
  });

  test("without a servlet", async () => {
    await layer(gzip("readme.txt"));
    expect(await refused(unsigned())).toMatch(/no layer of it has a servlet/);
  });

  test("of a component that exports nothing", async () => {
    await layer(Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]));
    expect(await refused(unsigned())).toMatch(/exports no function that could be a tool/);
  });

  test("of a module that is cut off", async () => {
    await layer((await now()).subarray(0, 100));
    expect(await refused(unsigned())).toMatch(/it does not compile, so it may be cut off/);
  });

  test("of a module that is no servlet", async () => {
    await layer(Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
    expect(await refused(unsigned())).toMatch(/it is not a servlet/);
  });
});

const packTarOf = (bytes: Uint8Array) =>
  packTar([{ header: { name: "plugin.wasm", size: bytes.length }, body: new Uint8Array(bytes) }]);

describe("a signature", () => {
  const { publicKey, privateKey } = keyPair();
  const byKey = async () => {
    await mkdir(at("."), { recursive: true });
    await writeFile(at("cosign.pub"), pem(publicKey));
    return add(source("ada/time"), { key: at("cosign.pub") });
  };

  test("must be asked for, or done without in so many words", async () => {
    await image();
    expect(await refused(add(source("ada/time")))).toMatch(/--key .* or give --allow-unsigned/);
  });

  test("that is missing", async () => {
    await image();
    expect(await refused(byKey())).toMatch(/it is not signed: ask its author/);
  });

  test("by another key", async () => {
    const { digest } = await image();
    signByKey(registry(), "ada/time", digest, { key: keyPair().privateKey });
    expect(await refused(byKey())).toMatch(/not signed by this key: the signature is by another/);
  });

  test("of another image", async () => {
    const { digest } = await image();
    const of = `sha256:${"0".repeat(64)}`;
    signByKey(registry(), "ada/time", digest, { key: privateKey, of });
    expect(await refused(byKey())).toMatch(`not signed by this key: it is of ${of}`);
  });

  test("of a file, which has none", async () => {
    await writeFile(at("time.wasm"), await now());
    const trusted = add(at("time.wasm"), { identity: IDENTITY, issuer: ISSUER });
    expect(await refused(trusted)).toMatch(/only oci:\/\/ sources can be signed/);
  });

  test.each([
    ["another Sigstore", "sign", {}, /no trusted|certificate|CERTIFICATE|verif/i],
    ["nobody in the log", "sign", { withLog: false }, /no entry in a transparency log/],
    ["its author, of another statement", "bundle", { predicate: "https://slsa.dev/v1" }, /of no/],
  ] as const)("keyless, by %s", async (who, form, how, message) => {
    const { digest } = await image();
    const own = await sigstore();
    await own[form](registry(), "ada/time", digest, how);
    const root = who === "another Sigstore" ? (await sigstore()).root : own.root;
    await writeFile(at("root.json"), root);
    const trust = { identity: IDENTITY, issuer: ISSUER, trustedRoot: at("root.json") };
    const said = await refused(add(source("ada/time"), trust));
    expect(said).toContain(`it is not signed by ${IDENTITY}`);
    expect(said).toMatch(message);
  });
});

test.each(["file://elsewhere/time.wasm", "file:///nowhere/time.wasm", "s3://bucket"])(
  "%s is refused",
  async (place) => {
    expect(await refused(add(place))).toMatch(/not a path on this|there is no file|not an object/);
  },
);

describe("a name", () => {
  test("that is taken changes nothing", async () => {
    await writeFile(at("time.wasm"), await now());
    await add(at("time.wasm"));
    const old = await lock();
    await writeFile(at("time.wasm"), await servlet({ name: "other" }));
    await expect(add(at("time.wasm"))).rejects.toThrow(/plugins\/time: it is there already/);
    expect(await lock()).toEqual(old);
  });

  test.each(["../time", "a b", "", "assembly", "server", "server-operator", "profile"])(
    "%j is refused",
    async (name) => {
      await writeFile(at("time.wasm"), await now());
      expect(await refused(add(at("time.wasm"), { name }))).toMatch(/cannot be|own name/);
    },
  );
});
