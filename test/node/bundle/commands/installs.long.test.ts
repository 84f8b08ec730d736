import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { install } from "../../../../src/tools/commands/installs.ts";
import { begun, Operator, serveLoading } from "../../http/installing.ts";
import { lists } from "../modules.ts";
import { captured, servlets as runServlets, servletsProcess } from "./running.ts";

/** The commands of `npm run servlets` that install, with a real server. */

const KEY = "esk_operator";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

let folder: string;
let server: Awaited<ReturnType<typeof serveLoading>>;
let operator: Operator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "installing-"));
  const API_KEYS = JSON.stringify({
    op: { hash: sha256(KEY), scopes: ["operator"] },
    ada: sha256("ada"),
  });
  const TEST_LIMITS = JSON.stringify({ installsMs: 100 });
  server = await serveLoading({ variables: { API_KEYS, TEST_LIMITS } });
  operator = new Operator(server.url, { authorization: `Bearer ${KEY}` });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Written {
  text?: string;
  handler?: string;
  manifest?: object;
  tool?: string;
}

/** Writes a servlet with one tool, which says its text. */
async function servlet(name: string, written: Written): Promise<void> {
  const { text = name, manifest = {}, tool = `${name}-say` } = written;
  const { handler = `() => "${text}"` } = written;
  const source = `import { defineServlet } from "edge-servlets/servlet";
const tool = { description: "Says ${text}.", input: { type: "object", properties: {} }, handler: ${handler} };
export default defineServlet({ tools: { "${tool}": tool } });`;
  await put(name, { "servlet.js": source, "servlet.json": JSON.stringify(manifest) });
}

/** Writes files of a servlet. */
async function put(name: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

interface Said {
  code: number;
  said: string;
}

async function servlets(
  args: string[],
  { key = KEY, to = server.url.origin, run = runServlets } = {},
): Promise<Said> {
  const variables = { EDGE_SERVLETS_KEY: key, SERVLETS: folder };
  const { code, stdout, stderr } = await run([...args, "--to", to], variables);
  return { code, said: stdout + stderr };
}

async function call(name: string): Promise<string> {
  const response = await fetch(server.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      authorization: "Bearer ada",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: {} },
    }),
  });
  const answer = (await response.json()) as {
    result?: { content: { text: string }[] };
    error?: { message: string };
  };
  return answer.result?.content[0]?.text ?? answer.error!.message;
}

const EVENTUALLY = { timeout: 30_000, interval: 50 };

test("install shows what a servlet may do, and does nothing without agreement", async () => {
  const manifest = {
    prefix: "my",
    allowed_hosts: ["api.example.com"],
    allowed_secrets: [{ service: "git", user: "bot" }],
    env_vars: { region: "${REGION}" },
    memory_limit: "8Mi",
    compute_limit: 2,
  };
  const wat = lists("plain-say", ',"description":"Says one."');
  await put("plain", { "servlet.wat": wat, "servlet.json": JSON.stringify(manifest) });
  const shown = await servlets(["install", "plain"], { run: servletsProcess });
  expect(shown).toMatchObject({ code: 1, said: expect.stringMatching(/There is no terminal/) });
  for (const expected of [
    /^ {2}hosts +api\.example\.com$/m,
    /^ {2}secrets +git\/bot \(the Worker's GIT_BOT\)$/m,
    /^ {2}paths +none$/m,
    /^ {2}config +region=\$\{REGION\}$/m,
    /^ {2}limits +8 MiB of memory, 2 s of computing in a call$/m,
    /^ {2}tool my-plain-say Says one\.$/m,
  ]) {
    expect(shown.said).toMatch(expected);
  }
  expect(await operator.json("GET", "servlet/")).toEqual({ servlets: [] });
});

test("a servlet is installed, and changed", async () => {
  await servlet("words", { text: "one" });
  const first = await servlets(["install", "words", "--yes"]);
  expect(first).toMatchObject({ code: 0, said: expect.stringMatching(/installed as version 1,/) });
  await expect.poll(() => call("words-say"), EVENTUALLY).toBe("one");
  // Nothing is asked where nothing changes.
  expect(await servlets(["install", join(folder, "words")])).toMatchObject({
    code: 0,
    said: expect.stringMatching(/installed already, as version 1\./),
  });

  await servlet("words", { text: "two", manifest: { allowed_hosts: ["example.com"] } });
  const second = await servlets(["install", "words", "--yes"]);
  expect(second.said).toMatch(
    /Compared with version 1[^]*^- +"description": "Says one\."[^]*^\+ manifest allowed_hosts$/m,
  );
  expect(second.said).toMatch(/installed as version 2,/);
  await expect.poll(() => call("words-say"), EVENTUALLY).toBe("two");
  expect((await servlets(["versions", "words"])).said).toMatch(
    /^→ version 2, \w{12}, installed 20.* by op$\n^ {2}version 1, /m,
  );
});

test("it is rolled back and uninstalled", async () => {
  const asks = await servlets(["rollback", "words"]);
  expect(asks).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^- manifest allowed_hosts/m),
  });
  expect((await servlets(["installed"])).said).toMatch(/^words {2}version 2, .*, tools: 1$/m);
  const back = await servlets(["rollback", "words", "--yes"]);
  expect(back).toMatchObject({ code: 0, said: expect.stringMatching(/served as version 1 every/) });
  await expect.poll(() => call("words-say"), EVENTUALLY).toBe("one");
  expect((await servlets(["rollback", "words", "1"])).said).toMatch(/as version 1 already/);
  expect((await servlets(["rollback", "words"])).said).toMatch(/no version before 1/);
  expect((await servlets(["rollback", "words", "7"])).said).toMatch(/kept: 2, 1\./);

  expect(await servlets(["uninstall", "words"])).toMatchObject({ code: 1 });
  expect(await servlets(["uninstall", "words", "--yes"])).toMatchObject({ code: 0 });
  expect((await servlets(["installed"])).said).toMatch(/No servlet is installed/);
  await expect.poll(() => call("words-say"), EVENTUALLY).toMatch(/words-say/);
});

test("publish keeps builds and serves none", async () => {
  await servlet("later", {});
  const { code, said } = await servlets(["publish", "later"]);
  const [, hash] = /^later is published: (\w{64})$/m.exec(said)!;
  expect(code).toBe(0);
  expect((await servlets(["publish"])).said).toContain(`later is published: ${hash}`);
  expect(await operator.json("GET", "servlet/later")).toMatchObject({ versions: [] });
  expect(await servlets(["unpublish", "later"])).toMatchObject({ code: 0 });
  expect((await servlets(["unpublish", "later"])).said).toMatch(/No build of later is published/);
});

test("replay says how many of the calls that wait would go on", async () => {
  const asks = (question: string) => `async (_, context) => {
    const { action } = await context.elicit({ message: "${question}", schema: { type: "object", properties: {} } });
    return action; }`;
  const manifest = { tools: { "patient-say": { task: "always" } } };
  await servlet("patient", { text: "one", handler: asks("Now?"), manifest });
  await servlet("changed", { text: "one", handler: asks("Then?"), manifest, tool: "patient-say" });
  expect(await servlets(["install", "patient", "--yes"])).toMatchObject({ code: 0 });
  const begin = () => begun("patient-say", server.url, { authorization: "Bearer ada" });
  await expect.poll(begin, EVENTUALLY).toMatchObject({ resultType: "task" });
  await expect
    .poll(async () => (await servlets(["replay", "patient"])).said, EVENTUALLY)
    .toMatch(/wait: 1\. Of these, 1 would/);
  const other = await servlets(["replay", "patient", "--against", join(folder, "changed")]);
  expect(other.said).toMatch(/wait: 1\. Of these, 0 would [^]*the same with other content/);
});

test.each([
  ["without a key", () => servlets(["install", "plain"], { key: "" }), /Set EDGE_SERVLETS_KEY/],
  [
    "with a wrong key",
    () => servlets(["install", "plain"], { key: "esk_x" }),
    /Set EDGE_SERVLETS_/,
  ],
  ["without the scope", () => servlets(["installed"], { key: "ada" }), /needs the scope operator/],
  [
    "to a server that does not run",
    () => servlets(["installed"], { to: "http://127.0.0.1:9" }),
    /--to URL/,
  ],
  [
    "to an invalid URL",
    () => servlets(["installed"], { to: "server" }),
    /--to: server is not a URL/,
  ],
  ["unencrypted", () => servlets(["installed"], { to: "http://example.com" }), /unencrypted/],
  ["of an unknown servlet", () => servlets(["install", "none"]), /no servlet none/],
  [
    "of a servlet that is not installed",
    () => servlets(["versions", "plain"]),
    /No servlet plain is inst/,
  ],
  [
    "without a name",
    () => servlets(["uninstall"]),
    /^Give a servlet's name\..*servlets -- uninstall NAME/s,
  ],
  ["with too much", () => servlets(["versions", "plain", "1"]), /^Unexpected argument: 1\./],
  [
    "with a wrong flag",
    () => servlets(["versions", "plain", "--on", "x"]),
    /Unknown option '--on'/,
  ],
])("a command %s is refused in words", async (_what, run, expected) => {
  const { code, said } = await run();
  expect(code).toBe(1);
  expect(said).toMatch(expected);
  expect(said).not.toMatch(/^\s+at /m);
});

test("a name of the bundle and a tool of another servlet are refused, and change nothing", async () => {
  await servlet("hello", {});
  await servlet("clash", { tool: "greet" });
  const before = await operator.json("GET", "servlet/");
  const refused = async (name: string, expected: RegExp) =>
    expect(await servlets(["install", name, "--yes"])).toMatchObject({
      code: 1,
      said: expect.stringMatching(expected),
    });
  await refused("hello", /The name hello belongs to a servlet of the bundle/);
  await refused("clash", /servlet hello also has greet/);
  expect(await operator.json("GET", "servlet/")).toEqual(before);
});

/** A way to the server that breaks connections in the middle of a part, so many times. */
async function breaking(times: number) {
  let left = times;
  const proxy = createServer((from) => {
    const to = connect(Number(server.url.port), server.url.hostname);
    from.on("data", (chunk: Buffer) => {
      if (left > 0 && chunk.includes("PUT /operator/part/")) {
        left -= 1;
        to.write(chunk.subarray(0, -100), () => from.destroy());
      } else to.write(chunk);
    });
    to.on("data", (chunk) => from.write(chunk));
    from.on("close", () => to.destroy()).on("error", () => {});
    to.on("close", () => from.destroy()).on("error", () => {});
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  const { port } = proxy.address() as AddressInfo;
  return { to: `http://127.0.0.1:${port}`, left: () => left, close: () => proxy.close() };
}

/** Installs a servlet over this way, with short pauses before what is cut off is sent again. */
async function installOver({ to }: { to: string }, name: string) {
  const told: string[] = [];
  const progress = (text: string) => void told.push(text);
  const options = {
    folders: [folder] as [string],
    languages: LANGUAGES,
    cache: ".bundle",
    progress,
    pauseMs: 1,
  };
  const asking = { server: to, yes: true };
  const ended = await captured(async () => console.log(await install(name, asking, options)), {
    EDGE_SERVLETS_KEY: KEY,
  });
  return { ...ended, told };
}

test("an upload that is cut off is sent again; where it cannot be, nothing is installed", async () => {
  await servlet("cut", {});
  const dead = await breaking(Infinity);
  const failed = await installOver(dead, "cut");
  dead.close();
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/cannot be reached/) });
  expect(await operator.json("GET", "servlet/cut")).toMatchObject({ versions: [] });
  const poor = await breaking(2);
  const { code, stdout, told } = await installOver(poor, "cut");
  poor.close();
  expect({ code, left: poor.left() }).toEqual({ code: 0, left: 0 });
  expect(stdout).toMatch(/installed as version 1,/);
  expect(told.filter((one) => one.endsWith("trying again"))).toHaveLength(2);
  await expect.poll(() => call("cut-say"), EVENTUALLY).toBe("cut");
});
