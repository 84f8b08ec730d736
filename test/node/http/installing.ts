/** A server that servlets can be installed on, and builds to install. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { inject } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { buildOf, type BuildFiles } from "../../../src/tools/bundle/build-files.ts";
import { bundleAll, makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { locate } from "../../../src/tools/commands/examine.ts";
import { serve, stop, type Options } from "../workerd.ts";

/** Limits with which a server and its clients hear at once of what was installed. */
export const NEWS_AT_ONCE = { installsMs: 100, installsStaleMs: 400 };

/** Options of `serve` for a server that servlets can be installed on. */
export const INSTALLING = { loader: true, buckets: ["BUILDS"] } satisfies Options;

/** Serves the Worker of the tests, which is built in the folder `worker`, with a bucket of builds and a loader. */
export async function serveInstalling(
  variables: Record<string, string> = {},
  options: Options = {},
  worker = inject("worker"),
) {
  const storage = await mkdtemp(join(worker, "installing-"));
  const served = await serve(worker, {
    durable: storage,
    ...INSTALLING,
    ...options,
    variables: { SEASON: "plums", TEST_LIMITS: JSON.stringify(NEWS_AT_ONCE), ...variables },
  });
  return {
    served,
    url: new URL(`http://127.0.0.1:${served.port}/mcp`),
    close: async () => {
      await stop(served);
      await rm(storage, { recursive: true });
    },
  };
}

/**
 * A servlet in JavaScript, built; with files beside it, by their paths. It lies in a folder that is named by its content,
 * so that it is built once only.
 */
export async function built(
  name: string,
  source: string,
  manifest: object = {},
  files: Readonly<Record<string, string>> = {},
) {
  const all = { ...files, "servlet.js": source, "servlet.json": JSON.stringify(manifest) };
  const content = createHash("sha256").update(JSON.stringify(all)).digest("hex");
  const folder = join(".bundle", "written", content.slice(0, 32));
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name, path)), { recursive: true });
    await writeFile(join(folder, name, path), text);
  }
  const [member] = await makeBundle({
    folders: [folder],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  return buildOf(member!);
}

/** A servlet of this folder, built under another name, with its manifest changed. */
export async function builtFrom(
  folder: string,
  name: string,
  manifest: object = {},
  optimise = false,
) {
  const found = await locate(folder, { folders: [], languages: LANGUAGES });
  const renamed = { ...found, name, manifest: { ...found.manifest, ...manifest } };
  const how = { languages: LANGUAGES, cache: ".bundle", progress: () => {}, optimise };
  const [member] = await bundleAll([renamed], how);
  return buildOf(member!);
}

const KEY = "esk_operator";

/** The same for callers with these keys and an operator. */
export async function serveLoading(
  { variables, ...options }: Options = {},
  callers: readonly string[] = ["any"],
  worker = inject("worker"),
) {
  const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");
  const API_KEYS = JSON.stringify({
    operator: { hash: hashOf(KEY), scopes: ["operator", "*:*"] },
    ...Object.fromEntries(callers.map((key) => [key, hashOf(key)])),
  });
  const server = await serveInstalling({ API_KEYS, ...variables }, options, worker);
  return { ...server, operator: new Operator(server.url, { authorization: `Bearer ${KEY}` }) };
}

/** A client of the operator endpoints of a server. */
export class Operator {
  readonly #url: URL;
  readonly #headers: Record<string, string>;

  constructor(url: URL, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  send(
    method: string,
    path: string,
    body?: Uint8Array<ArrayBuffer> | string | object,
  ): Promise<Response> {
    const raw = body instanceof Uint8Array || typeof body === "string" ? body : undefined;
    return fetch(new URL(`/operator/${path}`, this.#url), {
      method,
      headers: {
        ...this.#headers,
        ...(raw === undefined && { "content-type": "application/json" }),
      },
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
    });
  }

  async json(method: string, path: string, body?: Uint8Array<ArrayBuffer> | string | object) {
    const response = await this.send(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  }

  /** Sends the parts that are missing, then installs or publishes. */
  async put({ build, code }: BuildFiles, what: "servlet" | "build" | "replay" = "servlet") {
    const path = `${what}/${build.name}`;
    const method = what === "replay" ? "POST" : "PUT";
    const first = await this.json(method, path, build);
    const missing = (first["missing"] ?? []) as string[];
    if (missing.length === 0) return first;
    for (const digest of missing) await this.json("PUT", `part/${digest}`, code.get(digest)!.bytes);
    return this.json(method, path, build);
  }
}

/** Sends a request of MCP, and gives its result. */
export async function request(
  url: URL,
  {
    method,
    params = {},
  }: { method: string; params?: { name?: string; [member: string]: unknown } },
  headers: Record<string, string> = {},
  capabilities: object = {},
): Promise<object> {
  const version = "2026-07-28";
  const meta = "io.modelcontextprotocol/";
  const _meta = {
    [`${meta}protocolVersion`]: version,
    [`${meta}clientCapabilities`]: capabilities,
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": method,
      ...(params.name !== undefined && { "mcp-name": params.name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  return ((await response.json()) as { result: object }).result;
}

/** Begins a call of a tool by a client that takes tasks. */
export const begun = (name: string, url: URL, headers: Record<string, string> = {}) =>
  request(url, { method: "tools/call", params: { name, arguments: { text: "" } } }, headers, {
    elicitation: { form: {} },
    extensions: { "io.modelcontextprotocol/tasks": {} },
  });

/** Sends a call to a server of `serveLoading`, and breaks the connection when `until` is settled. */
export async function left({ port }: URL, params: object, until: Promise<unknown>): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const head = [
    "POST /mcp HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    "authorization: Bearer any",
    `content-length: ${body.length}`,
  ];
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write([...head, "", body].join("\r\n"));
  await until;
  socket.resetAndDestroy();
}
