/** A package index in this process: https://packaging.python.org/en/latest/specifications/simple-repository-api/ */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { strToU8, zipSync } from "fflate";

interface Wheel {
  /** By path; a module with the name of the package by default. */
  files?: Record<string, string>;
  requires?: string[];
  tag?: string;
  yanked?: string;
  python?: string;
}

export class PackageIndex {
  /** The URL for PIP_INDEX_URL. */
  url = "";
  /** The login that requests need, as `name:password`. */
  login: string | undefined;
  /** The path of every request. */
  readonly requests: string[] = [];
  /** Answers to a path instead of the true ones. */
  readonly faults = new Map<string, Uint8Array>();
  readonly #pages = new Map<string, object[]>();
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #server = createServer((request, response) => this.#answer(request, response));

  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/simple`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Adds a version of a package as a wheel; gives its digest. */
  add(
    name: string,
    version: string,
    { files, requires = [], tag = "py3-none-any", ...more }: Wheel = {},
  ) {
    const metadata = [
      `Name: ${name}\nVersion: ${version}`,
      ...requires.map((one) => `Requires-Dist: ${one}`),
      "\nRequires-Dist: of-the-description",
    ].join("\n");
    const all = {
      ...(files ?? { [`${name.replaceAll("-", "_")}.py`]: `VERSION = "${version}"\n` }),
      [`${name}-${version}.dist-info/METADATA`]: metadata,
    };
    const bytes = zipSync(
      Object.fromEntries(Object.entries(all).map(([path, text]) => [path, strToU8(text)])),
      { mtime: new Date(2000, 1, 1) },
    );
    return this.#put(name, `${name.replaceAll("-", "_")}-${version}-${tag}.whl`, bytes, more);
  }

  /** Adds a version of a package as its sources only. */
  addSources(name: string, version: string) {
    return this.#put(name, `${name}-${version}.tar.gz`, new Uint8Array([1]), {});
  }

  #put(name: string, filename: string, bytes: Uint8Array, { yanked, python }: Wheel) {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#bytes.set(`/files/${filename}`, bytes);
    const page = this.#pages.get(name) ?? [];
    this.#pages.set(name, page);
    page.push({
      filename,
      url: `../../files/${filename}`,
      hashes: { sha256 },
      yanked: yanked ?? false,
      "requires-python": python ?? null,
    });
    return sha256;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!;
    this.requests.push(path);
    const given = request.headers.authorization;
    const wanted = this.login && `Basic ${Buffer.from(this.login).toString("base64")}`;
    if (given !== wanted) {
      response.writeHead(401).end();
      return;
    }
    const bytes = this.faults.get(path) ?? this.#bytes.get(path);
    const page = this.#pages.get(/^\/simple\/([^/]+)\/$/.exec(path)?.[1] ?? "");
    if (bytes !== undefined) response.end(bytes);
    else if (page === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify({ meta: { "api-version": "1.0" }, files: page }));
  }
}
