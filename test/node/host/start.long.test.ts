import { createHash } from "node:crypto";
import { once } from "node:events";
import { get as httpGet } from "node:http";
import { connect } from "node:net";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { commandOf } from "../../../src/tools/host/processes.ts";
import { refusalsInPlain } from "../../../src/tools/host/workerd.ts";
import {
  build,
  call,
  host,
  project,
  request,
  resultOf,
  run,
  type Hosting,
  type HostingOptions,
} from "./hosting.ts";
import { run as runCommand } from "../bundle/commands/running.ts";
import { browse, CALLBACK } from "../http/oauth-client.ts";

/** `start` serves the Worker on a machine of one's own, restarts it with all that it has, stops it and says what is wrong. */

let folder: string;
/** Serve while all tests run: with settings of several kinds and few calls a minute, and behind a proxy. */
let configured: Hosting;
let proxied: Hosting;
/** Behind a proxy, with a name of its own. */
let named: Hosting;
const running = new Set<Hosting>();
beforeAll(async () => {
  folder = await project();
  await build(folder);
  await writeFile(
    join(folder, "secrets.env"),
    'SERVER_VERSION="the file\'s # \\ version"\nSERVER_NAME=file\n',
  );
  const few = { LIMITS: '{"callsPerMinute":1}' };
  const variables = { ...few, SERVER_NAME: NAME, UNRELATED: "x" };
  const args = ["--storage", "configured", "--secrets", "secrets.env"];
  const behindProxy = ["--storage", "proxied", "--trust-proxy"];
  [configured, proxied, named] = await Promise.all([
    host(folder, { args, variables }),
    host(folder, { args: behindProxy, variables: few }),
    host(folder, {
      args: ["--storage", "named", "--trust-proxy"],
      variables: { PUBLIC_URL, AUTH: "none", EDGE_SERVLETS_RUNS: "on-loopback" },
    }),
  ]);
});
afterEach(async () => {
  await Promise.all([...running].map((hosting) => hosting.end()));
  running.clear();
  await rm(join(folder, ".edge-servlets"), { recursive: true, force: true });
});
afterAll(async () => {
  await Promise.all([configured.end(), proxied.end(), named.end()]);
  await rm(folder, { recursive: true });
});

const PUBLIC_URL = "https://mcp.example.com";
const NAME = 'the environment\'s, with "quotes",\nlines and é';

async function hosted(options: HostingOptions = {}): Promise<Hosting> {
  const hosting = await host(folder, options);
  running.add(hosting);
  return hosting;
}

/** Starts what is to be refused; gives the exit code and what was printed. */
async function refused(options: HostingOptions, where = folder) {
  const { ended, output } = run(where, options);
  return { code: await ended, output: output() };
}

const workerdOf = async () =>
  Number(await readFile(join(folder, ".edge-servlets/workerd.pid"), "utf8"));
const health = (port: number) => fetch(`http://127.0.0.1:${port}/health`);

/** Waits until a server that was killed answers again. */
async function comesBack(port: number): Promise<void> {
  const status = () =>
    health(port).then(
      (response) => response.status,
      () => 0,
    );
  await expect.poll(status, { timeout: 20_000 }).toBe(200);
}

describe("a server", () => {
  test("is started again when workerd dies, and has lost nothing", async () => {
    const { url, port, output } = await hosted();
    expect(await call(url, "counting-next")).toBe("1");
    process.kill(await workerdOf(), "SIGKILL");
    await comesBack(port);
    expect(await call(url, "counting-next")).toBe("2");
    expect(output()).toContain("workerd ended (SIGKILL); it starts again");
  });

  test("goes on with a server for the official SDK that waits in elicitInput as workerd dies", async () => {
    const { url, port } = await hosted();
    const _meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    const asked = { name: "arrived_ask", arguments: {}, _meta };
    const { inputRequests, requestState } = await resultOf(url, "tools/call", asked);
    const [key] = Object.keys(inputRequests as object);
    process.kill(await workerdOf(), "SIGKILL");
    await comesBack(port);
    const inputResponses = { [key!]: { action: "accept", content: { name: "Ada" } } };
    const { content } = await resultOf(url, "tools/call", {
      ...asked,
      inputResponses,
      requestState,
    });
    expect(content).toEqual([{ type: "text", text: "Hello Ada, accept" }]);
  });

  test("serves others while one client sends request after request", async () => {
    const { port } = configured;
    const [busy, other] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
    const requests = 5000;
    const get = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let answered = 0;
    const isBusy = new Promise<void>((done) => {
      busy.setEncoding("latin1").on("data", (text: string) => {
        answered += text.split("HTTP/1.1 200").length - 1;
        done();
      });
    });
    busy.write(get.repeat(requests));
    await isBusy;
    other.write(get);
    await once(other, "data");
    expect(answered).toBeLessThan(requests);
    busy.destroy();
    other.destroy();
  });

  test("leaves nothing that serves when it is killed, and starts again", async () => {
    const first = await hosted();
    const workerd = await workerdOf();
    await first.stop("SIGKILL");
    await expect.poll(() => commandOf(workerd)).toBe("");
    await hosted({ port: first.port });
  });
});

test.each([
  ["at once", (text: string) => [text]],
  ["line by line", (text: string) => text.split(/(?<=\n)/)],
])("a host that a servlet may not reach is one line, %s", (_how, parts) => {
  const inPlain = refusalsInPlain();
  const printed = [
    "before\n",
    "workerd/jsg/util.c++:320: error: e = rust/worker/ffi.rs:104: failed: connecting to 10.0.0.5:80 is not allowed\n",
    "stack: /bin/workerd@2b5edc0; wdErrId = 2nl\n",
    "workerd/u.c++:1: error: e = rust/worker/ffi.rs:104: failed: failed to lookup address information: Name or service not known\n",
    "stack: /bin/workerd@2b5edc0\n",
    "workerd/x.c++:1: error: e = y:1: failed: connecting to db.lan:5432 is not allowed; z\n",
    "stack: of something else that is no part of it\nstack: \n\nafter\n",
  ].join("");
  const line = (name: string) =>
    `[edge-servlets] A servlet could not reach ${name}, which is in a private network. To let it: --private-network\n`;
  expect(parts(printed).map(inPlain).join("")).toBe(
    `before\n${line("10.0.0.5:80")}[edge-servlets] A host could not be reached: failed to lookup address information: Name or service not known\n${line("db.lan:5432")}stack: \n\nafter\n`,
  );
});

test("a Worker that could not be evaluated is not said to lack its classes, too", () => {
  const lacks = `workerd/server/worker.rs:468: warning: A DurableObjectNamespace in the config referenced the class "Task"\n`;
  const thrown = "service main: Uncaught Error: AUTH: Invalid input\n  at index.js:167:14481\n";
  // An entry file of one's own may lack a class.
  expect(refusalsInPlain()(lacks)).toBe(lacks);
  const inPlain = refusalsInPlain();
  expect([thrown, lacks, lacks, "after\n"].map(inPlain).join("")).toBe(`${thrown}after\n`);
});

const PASSPHRASE = "correct horse battery";

test("five refreshes at once get the same tokens, and again after the server was killed", async () => {
  const variables = { OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE) };
  const first = await hosted({ variables });
  const post = async (path: string, sent: URLSearchParams | string) => {
    const headers = new Headers(
      typeof sent === "string" ? { "content-type": "application/json" } : undefined,
    );
    const response = await fetch(new URL(path, first.url), { method: "POST", body: sent, headers });
    return (await response.json()) as Record<string, string>;
  };
  const { client_id = "" } = await post(
    "/oauth/register",
    JSON.stringify({ redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" }),
  );
  const code_verifier = "v".repeat(43);
  const asked = new URL("/authorize", first.url);
  asked.search = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: CALLBACK,
    code_challenge: createHash("sha256").update(code_verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const back = await browse(asked, { passphrase: PASSPHRASE, decision: "allow" });
  const token = (fields: Record<string, string>) =>
    post("/oauth/token", new URLSearchParams({ client_id, ...fields }));
  const code = back.searchParams.get("code")!;
  const { refresh_token = "" } = await token({
    grant_type: "authorization_code",
    code,
    code_verifier,
    redirect_uri: CALLBACK,
  });
  const refresh = () => token({ grant_type: "refresh_token", refresh_token });
  const all = await Promise.all(Array.from({ length: 5 }, refresh));
  const tokens = all.map((one) => [one["access_token"], one["refresh_token"]]);
  expect(new Set(tokens.map(String)).size).toBe(1);
  await first.stop("SIGKILL");
  await hosted({ variables, port: first.port });
  const again = await refresh();
  expect([again["access_token"], again["refresh_token"]]).toEqual(tokens[0]);
  const authorization = `Bearer ${again["access_token"]}`;
  expect((await request(first.url, "tools/list", {}, { authorization })).status).toBe(200);
});

describe("told to stop", () => {
  /** A stream that stays open. */
  async function opened({ port }: Hosting) {
    const socket = connect(port, "127.0.0.1");
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    const head = [
      "POST /mcp HTTP/1.1",
      "host: localhost",
      "content-type: application/json",
      "accept: application/json, text/event-stream",
      "mcp-protocol-version: 2026-07-28",
      "mcp-method: subscriptions/listen",
      `content-length: ${body.length}`,
    ];
    socket.write([...head, "", body].join("\r\n"));
    let received = "";
    socket.setEncoding("utf8").on("data", (text: string) => (received += text));
    socket.on("error", () => {});
    await expect.poll(() => received).toContain("acknowledged");
    return { socket, received: () => received };
  }

  /** A client to which the call cannot become a task. */
  const ALONE = { progressToken: 1, "io.modelcontextprotocol/clientCapabilities": {} };

  test("it lets a call end that has begun, ends with 0, and keeps its state for the next start", async () => {
    const first = await hosted({ args: ["--grace", "60"] });
    expect(await call(first.url, "counting-next")).toBe("1");
    const params = { name: "wait", arguments: { seconds: 1 }, _meta: ALONE };
    const answer = await request(first.url, "tools/call", params);
    const text = answer.text();
    expect(await first.stop()).toBe(0);
    expect(await text).toContain("Waited 1 s.");
    const second = await hosted();
    expect(await call(second.url, "counting-next")).toBe("2");
    expect((await health(second.port)).status).toBe(200);
  });

  test("it cuts off what is open when the grace is over, and says so", async () => {
    const hosting = await hosted({ args: ["--grace", "1"] });
    await opened(hosting);
    expect(await hosting.stop()).toBe(0);
    expect(hosting.output()).toContain("cut off what was open after 1 s");
  });

  test("a second signal ends it at once", async () => {
    const hosting = await hosted({ args: ["--grace", "600"] });
    await opened(hosting);
    const code = hosting.stop("SIGTERM");
    await expect.poll(() => hosting.output()).toContain("another signal ends them at once");
    hosting.process.kill("SIGINT");
    expect(await code).toBe(130);
  });
});

describe("the address of a caller", () => {
  const from = (header: string, address: string) => ({ [header]: address });
  const statusOf = async ({ url }: Hosting, headers: Record<string, string>) =>
    (await request(url, "tools/list", {}, headers)).status;

  test("is the address of the connection, not of a header that the client sends", async () => {
    expect(await statusOf(configured, from("cf-connecting-ip", "192.0.2.1"))).toBe(200);
    expect(await statusOf(configured, from("cf-connecting-ip", "192.0.2.2"))).toBe(429);
    expect(await statusOf(configured, from("x-forwarded-for", "192.0.2.3"))).toBe(429);
  });

  test("is the last address in X-Forwarded-For if a proxy is trusted", async () => {
    const status = (addresses: string) => statusOf(proxied, from("x-forwarded-for", addresses));
    expect(await status("192.0.2.9, 192.0.2.1")).toBe(200);
    expect(await status("192.0.2.9, 192.0.2.2")).toBe(200);
    expect(await status("192.0.2.8, 192.0.2.1")).toBe(429);
  });

  test("came by the protocol that a trusted proxy names, and else by http", async () => {
    const place = async ({ url }: Hosting) => {
      const headers = { "x-forwarded-proto": "https" };
      return (await fetch(new URL("/nothing", url), { headers })).text();
    };
    expect(await place(configured)).toContain(`http://${configured.url.host}/mcp`);
    expect(await place(proxied)).toContain(`https://${proxied.url.host}/mcp`);
  });

  test("does not make a caller on this machine an operator", async () => {
    expect((await fetch(new URL("/operator/installed", configured.url))).status).toBe(403);
  });
});

test("a request for another host is misdirected, except to /health", async () => {
  const status = async (path: string, name: string) => {
    const { promise, resolve: done } = Promise.withResolvers<number | undefined>();
    const { port } = proxied;
    const headers = { host: name, "x-forwarded-host": "localhost", "x-forwarded-proto": "https" };
    httpGet({ host: "127.0.0.1", port, path, headers }, (got) =>
      done(got.resume().statusCode),
    ).end();
    return promise;
  };
  expect(await status("/mcp", "evil.example")).toBe(421);
  expect(await status("/", "evil.example")).toBe(421);
  expect(await status("/health", "evil.example")).toBe(200);
  expect(await status("/nothing", "localhost")).toBe(404);
});

/** The status and the text of an answer. */
async function sentTo(port: number, head: string[]): Promise<[status: number, text: string]> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => (received += text));
  socket.write([...head, "connection: close", "", ""].join("\r\n"));
  await once(socket, "close");
  return [Number(/^HTTP\/1.1 (\d+)/.exec(received)?.[1]), received];
}

describe("behind a trusted proxy, without PUBLIC_URL, as the bytes of a request come,", () => {
  test.each<[status: number, said: string, ...head: string[]]>([
    [404, "https://mcp.example.com/mcp", "X-Forwarded-Host: mcp.example.com"],
    [
      404,
      "https://mcp.example.com/mcp",
      "X-Forwarded-Host: a",
      "X-Forwarded-Host: mcp.example.com",
    ],
    [404, "https://mcp.example.com/mcp", "Forwarded: host=a", "Forwarded: host=mcp.example.com"],
    [404, "http://127.0.0.1:1/mcp", "X-Forwarded-Proto: https, http"],
    [404, "http://127.0.0.1:1/mcp", "X-Forwarded-Proto: \x7f", "X-Forwarded-For: \xff, x"],
    [404, "http://127.0.0.1:1/mcp", 'Forwarded: host="', "Forwarded: ;;=,=;proto"],
    [400, "PUBLIC_URL", "X-Forwarded-Host: mcp.example.com:port"],
    [400, "PUBLIC_URL", 'Forwarded: host="a b"'],
    [403, "Plain http", "X-Forwarded-Host: mcp.example.com", "X-Forwarded-Proto: https, http"],
  ])("it answers %d with %s to %j", async (status, said, ...head) => {
    const first = ["GET /nope HTTP/1.1", "Host: 127.0.0.1:1"];
    const [got, text] = await sentTo(proxied.port, [...first, ...head]);
    expect(text).toContain(said);
    expect(got).toBe(status);
  });
});

describe("with PUBLIC_URL, as the bytes of a request come,", () => {
  const sent = (...head: string[]) => sentTo(named.port, head);

  test.each([
    ["GET /nope HTTP/1.1", "Host: mcp.example.com"],
    ["GET /nope HTTP/1.1", "Host: MCP.Example.COM:443"],
    ["GET /nope HTTP/1.1", "Host: mcp.example.com."],
    ["GET /nope HTTP/1.1", "Host: mcp.example.com:80", "X-Forwarded-Proto: https"],
    ["GET /nope HTTP/1.1", "Host: mcp.example.com", "X-Forwarded-Proto: http, HTTPS"],
    ["GET /nope HTTP/1.1", "Host: 127.0.0.1:8787"],
    ["GET /nope HTTP/1.1", "Host: [::1]"],
    ["GET /nope HTTP/1.1", "Host: mcp.example.com", "X-Forwarded-Host: evil.example"],
    ["GET /nope HTTP/1.1", "Host: mcp.example.com", "Forwarded: host=evil.example;proto=http"],
    ["GET http://evil.example/nope HTTP/1.1", "Host: mcp.example.com"],
    ["GET //evil.example/nope HTTP/1.1", "Host: mcp.example.com"],
  ])("it is named so: %j", async (...head) => {
    const [status, text] = await sent(...head);
    expect(status).toBe(404);
    expect(text).toContain(`is ${PUBLIC_URL}/mcp.`);
  });

  test.each<[status: number, ...head: string[]]>([
    [421, "GET /nope HTTP/1.1", "Host: evil.example"],
    [421, "GET /nope HTTP/1.1", "Host: evil.example", "X-Forwarded-Host: mcp.example.com"],
    [421, "GET https://mcp.example.com/nope HTTP/1.1", "Host: evil.example"],
    [421, "GET /nope HTTP/1.1", "Host: evil.example/@mcp.example.com"],
    [403, "GET /nope HTTP/1.1", "Host: mcp.example.com:8787"],
    [403, "GET /nope HTTP/1.1", "Host: mcp.example.com", "X-Forwarded-Proto: http"],
    [403, "GET /nope HTTP/1.1", "Host: mcp.example.com", "X-Forwarded-Proto: https, http"],
    [400, "GET /nope HTTP/1.1", "Host: mcp.example.com", "Host: evil.example"],
    [400, "GET /nope HTTP/1.1", "Host: mcp.example.com:port"],
    [400, "GET /nope HTTP/1.1", "Host: evil.example@mcp.example.com"],
    [400, "GET /nope HTTP/1.1", "Host: "],
    [400, "GET /nope HTTP/1.1"],
  ])("it answers %d to %j", async (status, ...head) => {
    const [got, text] = await sent(...head);
    expect(got).toBe(status);
    expect(text).not.toContain("evil.example");
  });

  test("nobody is an operator without a key, whatever headers and variables say", async () => {
    for (const name of ["localhost", "127.0.0.1:8787", "mcp.example.com"]) {
      const head = ["GET /operator/state/counting HTTP/1.1", `Host: ${name}`];
      const forged = [
        "CF-Connecting-IP: 127.0.0.1",
        "X-Forwarded-For: 127.0.0.1",
        "X-Real-IP: ::1",
      ];
      expect((await sent(...head, ...forged))[0]).toBe(403);
    }
  });
});

test("variables and secrets come from wrangler.toml, a file and the environment, in this order", async () => {
  expect(await (await health(configured.port)).json()).toMatchObject({
    name: NAME,
    version: "the file's # \\ version",
  });
  const config = await readFile(join(folder, "configured/workerd.capnp"), "utf8");
  expect(config).not.toMatch(/UNRELATED|environment's/);
  // No collector of traces is named.
  expect(config).not.toContain("exporter");
});

describe("is refused with what to do:", () => {
  const CASES: Record<string, [HostingOptions, RegExp]> = {
    "an unknown option": [{ args: ["--prot", "1"] }, /Unknown option '--prot'[^]*--port PORT/],
    "a port that is not a number": [{ args: ["--port", "many"] }, /--port many is not valid/],
    "an address of another machine": [
      { args: ["--host", "192.0.2.1"] },
      /cannot listen at 192\.0\.2\.1:/,
    ],
    "no configuration": [
      { args: ["--config", "none.toml"] },
      /none\.toml cannot be read[^]*--config/,
    ],
    "no file of secrets": [{ args: ["--secrets", "none"] }, /^none cannot be read: ENOENT/m],
    "a secret that is missing": [{ args: ["--from-env", "GITHUB"] }, /There is no GITHUB/],
    "storage that is a file": [
      { args: ["--storage", "wrangler.toml"] },
      /cannot be written[^]*--storage/,
    ],
    "storage with too long a path": [
      { args: ["--storage", `/tmp/${"long/".repeat(30)}`] },
      /too long/,
    ],
    "an issuer whose tokens are for any Host": [
      { variables: { OAUTH_ISSUERS: '[{"issuer":"https://issuer.example"}]' } },
      /issuer\.example without an audience[^]*Set PUBLIC_URL/,
    ],
    "a public URL with a path": [
      { variables: { PUBLIC_URL: "https://mcp.example.com/mcp" } },
      /PUBLIC_URL: must be the server's origin/,
    ],
    "a setting that is not valid": [{ variables: { LIMITS: "x" } }, /LIMITS: is not JSON/],
  };
  test.each(Object.entries(CASES))("%s", async (_what, [options, message]) => {
    const { args = [] } = options;
    const { code, output } = await refused({
      ...options,
      args: ["--worker", "built", "--port", "0", ...args],
    });
    expect(output).toMatch(message);
    expect(code).toBe(1);
  });

  test("a port, or a storage, that another server has", async () => {
    const { port } = configured;
    const again = { args: ["--worker", "built", "--port", String(port), "--storage", "other"] };
    const same = { args: ["--worker", "built", "--port", "0", "--storage", "configured"] };
    const [taken, used] = await Promise.all([refused(again), refused(same)]);
    expect(taken.output).toMatch(
      new RegExp(`Port ${port} of 127.0.0.1 is taken by another program, process \\d+\\.`),
    );
    expect(used.output).toContain(
      `in use by another server, process ${configured.process.pid}. Stop that`,
    );
  });

  test("settings that are not valid, before the bundle is made and a line for each, with what was meant", async () => {
    const file = join(folder, "wrong.env");
    await writeFile(file, `LIMITS='{"waitMss":1}'\nLOG_LEVEL=loud\nOTEL_TRACES_SAMPLER=x\n`);
    const start = () =>
      runCommand(process.execPath, ["src/tools/commands/cli.ts", "start", "--secrets", file]);
    expect(await start()).toEqual({
      code: 1,
      stdout: "",
      stderr: `The Worker's configuration is not valid. LOG_LEVEL: Invalid option: expected one of "trace"|"debug"|"info"|"warn"|"error"
LIMITS: has no waitMss (did you mean waitMs?)
`,
    });
    await writeFile(file, "OTEL_TRACES_SAMPLER=x\n");
    const { code, stdout, stderr } = await start();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("The setting OTEL_TRACES_SAMPLER is not valid");
  });

  test("a line of the secrets file that is not read, and a byte order mark does not hide the keys", async () => {
    await writeFile(join(folder, "bad.env"), `# keys\n\uFEFFAPI_KEYS ${JSON.stringify({})}\n`);
    const bad = await refused({
      args: ["--worker", "built", "--port", "0", "--secrets", "bad.env"],
    });
    expect(bad).toMatchObject({ code: 1 });
    expect(bad.output).toContain("bad.env:2: this line has no variable name before =.");
    const keys = JSON.stringify({ ada: "0".repeat(64) });
    await writeFile(join(folder, "marked.env"), `\uFEFFAPI_KEYS='${keys}'\n`);
    const closed = await host(folder, { args: ["--storage", "marked", "--secrets", "marked.env"] });
    try {
      expect((await request(closed.url, "tools/list")).status).toBe(401);
    } finally {
      await closed.end();
    }
  });

  test("a setting that is not valid in the file of variables: .env where there is no .dev.vars", async () => {
    const other = await project();
    try {
      const worker = join(folder, "built");
      const said = () => refused({ args: ["--worker", worker, "--port", "0"] }, other);
      await writeFile(join(other, ".env"), "LIMITS=x\nPUBLIC_URL=https://mcp.example.com/mcp\n");
      expect((await said()).output).toMatch(/LIMITS[^]*PUBLIC_URL|PUBLIC_URL[^]*LIMITS/);
      await writeFile(join(other, ".env.local"), "LIMITS={}\n");
      expect((await said()).output).toMatch(/PUBLIC_URL/);
      expect((await said()).output).not.toMatch(/LIMITS/);
      await writeFile(join(other, ".dev.vars"), "LIMITS=y\n");
      expect((await said()).output).toMatch(/LIMITS/);
      expect((await said()).output).not.toMatch(/PUBLIC_URL/);
    } finally {
      await rm(other, { recursive: true });
    }
  });

  test.each([
    [
      "a kind of binding that workerd does not have",
      "[[d1_databases]]\nbinding = 'DB'\n",
      /d1_databases: a server/,
    ],
    ["TOML that is not valid", "nonsense", /not valid TOML/],
    [
      "a class that no migration makes",
      "[[durable_objects.bindings]]\nname='A'\nclass_name='B'\n",
      /makes the class B/,
    ],
    ["a Worker without its bundle", "", /Could not resolve[^]*none\.ts|npm run bundle/],
  ])("%s", async (_what, more, message) => {
    const other = await project(join(folder, "none.ts"), more);
    try {
      const { code, output } = await refused({ args: ["--port", "0"] }, other);
      expect(output).toMatch(message);
      expect(code).toBe(1);
    } finally {
      await rm(other, { recursive: true });
    }
  });
});
