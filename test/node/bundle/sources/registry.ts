/** A container registry in this process: the pull endpoints of the OCI distribution specification. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Layer {
  mediaType: string;
  bytes: Uint8Array;
  annotations?: Record<string, string>;
}

interface Stored {
  mediaType: string;
  bytes: Buffer;
}

type Access = "public" | "basic" | "bearer";

export const sha256 = (bytes: Uint8Array) =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const INDEX = "application/vnd.oci.image.index.v1+json";

export const USER = { name: "ada", password: "s3cret-Pa55" };

export class TestRegistry {
  host = "";
  access: Access = "public";
  /** False for registries that keep referrers at a tag. */
  hasReferrers = true;
  /** Every request: its path, and what it was authorized by. */
  readonly requests: { path: string; authorization: string | undefined }[] = [];
  /** Answers to a path instead of the true ones. */
  readonly faults = new Map<string, (response: ServerResponse) => void>();
  readonly #blobs = new Map<string, Buffer>();
  readonly #manifests = new Map<string, Stored>();
  readonly #referrers = new Map<string, object[]>();
  readonly #server = createServer((request, response) => this.#answer(request, response));

  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    this.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  blob({ mediaType, bytes, annotations }: Layer) {
    const digest = sha256(bytes);
    this.#blobs.set(digest, Buffer.from(bytes));
    return { mediaType, digest, size: bytes.length, ...(annotations && { annotations }) };
  }

  /** Replaces the bytes of a blob, as somebody would who tampers with it. */
  tamper(digest: string, bytes: Uint8Array): void {
    this.#blobs.set(digest, Buffer.from(bytes));
  }

  /** Stores an image; gives its descriptor. */
  image(
    repository: string,
    tag: string | undefined,
    layers: Layer[],
    further: { subject?: string; artifactType?: string } = {},
  ) {
    const config = this.blob({
      mediaType: "application/vnd.oci.image.config.v1+json",
      bytes: Buffer.from("{}"),
    });
    const { subject, ...others } = further;
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      ...others,
      config,
      layers: layers.map((layer) => this.blob(layer)),
      ...(subject && { subject: { mediaType: MANIFEST, digest: subject, size: 1 } }),
    };
    const described = this.put(repository, tag, MANIFEST, manifest);
    if (subject !== undefined) {
      const known = this.#referrers.get(subject) ?? [];
      this.#referrers.set(subject, [...known, { ...described, ...others }]);
      const list = { schemaVersion: 2, mediaType: INDEX, manifests: this.#referrers.get(subject) };
      if (!this.hasReferrers) this.put(repository, subject.replace(":", "-"), INDEX, list);
    }
    return described;
  }

  put(repository: string, tag: string | undefined, mediaType: string, content: object) {
    const bytes = Buffer.from(JSON.stringify(content));
    const digest = sha256(bytes);
    const stored = { mediaType, bytes };
    this.#manifests.set(`${repository}@${digest}`, stored);
    if (tag !== undefined) this.#manifests.set(`${repository}@${tag}`, stored);
    return { mediaType, digest, size: bytes.length };
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname: path, searchParams } = new URL(request.url!, `http://${this.host}`);
    const { authorization } = request.headers;
    this.requests.push({ path, authorization });
    const fault = this.faults.get(path);
    if (fault !== undefined) return fault(response);
    const basic = `Basic ${Buffer.from(`${USER.name}:${USER.password}`).toString("base64")}`;
    if (path === "/token") {
      const isPull = /^repository:.+:pull$/.test(searchParams.get("scope") ?? "");
      if (authorization !== basic || !isPull) return error(response, 401, "UNAUTHORIZED");
      return json(response, { token: "pull-token" });
    }
    const expected = { public: authorization, basic, bearer: "Bearer pull-token" }[this.access];
    if (authorization !== expected) {
      const challenge =
        this.access === "basic"
          ? 'Basic realm="registry"'
          : `Bearer realm="http://${this.host}/token",service="test",scope="repository:${path.split("/")[2]}/x:pull"`;
      response.setHeader("www-authenticate", challenge);
      return error(response, 401, "UNAUTHORIZED");
    }
    const [, repository = "", what, reference = ""] =
      /^\/v2\/(.+)\/(manifests|blobs|referrers)\/([^/]+)$/.exec(path) ?? [];
    if (what === "referrers" && this.hasReferrers) {
      const manifests = this.#referrers.get(reference) ?? [];
      return json(response, { schemaVersion: 2, mediaType: INDEX, manifests }, INDEX);
    }
    const found =
      what === "manifests"
        ? this.#manifests.get(`${repository}@${reference}`)
        : { mediaType: "application/octet-stream", bytes: this.#blobs.get(reference) };
    if (found?.bytes === undefined) return error(response, 404, "MANIFEST_UNKNOWN");
    response.setHeader("content-type", found.mediaType);
    response.setHeader("docker-content-digest", sha256(found.bytes));
    response.end(found.bytes);
  }
}

function json(response: ServerResponse, value: object, type = "application/json"): void {
  response.setHeader("content-type", type);
  response.end(JSON.stringify(value));
}

function error(response: ServerResponse, status: number, code: string): void {
  response.statusCode = status;
  json(response, { errors: [{ code, message: code.toLowerCase() }] });
}
