import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serving } from "../../http/serving.ts";
import { servlets, servletsProcess } from "./running.ts";

/** The command `npm run servlets -- state`, with real servers. */

const KEY = "esk_operator";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const API_KEYS = JSON.stringify({
  op: { hash: sha256(KEY), scopes: ["operator"] },
  ada: sha256("ada"),
});
const closed = await serving({ variables: { API_KEYS } });
const unguarded = await serving();

/** A server that knows where requests come from, as Cloudflare's does in development and on its network. */
const front = createServer((request, response) => {
  const headers = { ...request.headers, "cf-connecting-ip": "127.0.0.1" };
  const { method, url: path } = request;
  const onward = { port: unguarded.port, host: "127.0.0.1", method, path, headers };
  request.pipe(
    forward(onward, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }),
  );
});
let open: { port: number };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "state-"));
  await new Promise<void>((done) => front.listen(0, "127.0.0.1", done));
  open = front.address() as AddressInfo;
});
afterAll(async () => {
  front.close();
  await rm(folder, { recursive: true, force: true });
});

interface Said {
  code: number;
  said: string;
}

async function state(args: string[], key = "", run = servlets): Promise<Said> {
  const { code, stdout, stderr } = await run(["state", ...args], { EDGE_SERVLETS_KEY: key });
  return { code, said: stdout + stderr };
}

const to = ({ port }: { port: number }) => ["--to", `http://127.0.0.1:${port}`];

async function call(
  { port }: { port: number },
  name: string,
  args = {},
  key?: string,
): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    }),
  });
  const { result } = (await response.json()) as { result: { content: { text: string }[] } };
  return result.content[0]!.text;
}

test("shows, exports, deletes and imports one's own state where no key is needed", async () => {
  expect((await state(["show", "counting", ...to(open)])).said).toMatch(/memory {2}none/);
  await call(open, "counting-next");
  await call(open, "filing-do", { what: "write", path: "/data/a.txt", text: "12345" });
  const shown = await state(["show", "filing", ...to(open)]);
  expect(shown).toMatchObject({ code: 0, said: expect.stringMatching(/ 5 {2}data\/a\.txt$/m) });
  expect(shown.said).toMatch(
    /^filing, caller address 127\.0\.0\.1\n {2}memory {2}\d+ KiB, changed 20/,
  );

  const file = join(folder, "counting.state");
  const exported = await state(["export", "counting", file, ...to(open)], "", servletsProcess);
  expect(exported).toMatchObject({ code: 0 });
  expect((await state(["delete", "counting", ...to(open)])).said).toMatch(/^Deleted/);
  expect(await call(open, "counting-next")).toBe("1");
  expect((await state(["import", "counting", file, ...to(open)])).said).toMatch(/^Imported/);
  expect(await call(open, "counting-next")).toBe("2");

  await writeFile(`${file}.cut`, (await readFile(file)).subarray(0, -5));
  const cut = await state(["import", "counting", `${file}.cut`, ...to(open)]);
  expect(cut).toMatchObject({ code: 1, said: expect.stringMatching(/cut off/) });
  expect(await call(open, "counting-next")).toBe("3");
});

test("takes a key with the scope operator, and deletes all of one caller's", async () => {
  await call(closed, "counting-next", {}, "ada");
  await call(closed, "filing-do", { what: "write", path: "/data/a", text: "x" }, "ada");
  const show = ["show", "counting", "--scope", "caller:ada", ...to(closed)];
  expect((await state(show)).said).toMatch(/Set EDGE_SERVLETS_KEY/);
  expect((await state(show, "ada")).said).toMatch(/needs the scope operator/);
  expect((await state(show, KEY)).said).toMatch(/^counting, caller ada\n {2}memory {2}\d+ KiB/);
  const deleted = await state(["delete", "--caller", "ada", ...to(closed)], KEY);
  expect(deleted.said).toMatch(/caller ada: of .*counting/);
  expect((await state(show, KEY)).said).toMatch(/memory {2}none/);
  expect(await call(closed, "counting-next", {}, "ada")).toBe("1");
});

test.each([
  [["shwo", "counting"], /^There is no command state shwo\..*state show NAME/s],
  [["--files"], /^Give a command\./],
  [["show"], /^Give a servlet's name\..*state show NAME/s],
  [["show", "counting", "more"], /^Unexpected argument: more\./],
  [["export", "counting"], /^Give a file, too\..*state export NAME FILE/s],
  [["delete", "--wrong"], /Unknown option '--wrong'/],
  [["delete", "counting", "--caller", "ada"], /--scope caller:ada/],
  [["show", "counting", "--to", "nothing"], /is not a URL/],
  [["show", "counting", "--to", "http://example.com"], /unencrypted/],
  [["show", "counting", "--to", "http://127.0.0.1:1"], /cannot be reached/],
  [["import", "counting", "missing.state"], /missing\.state cannot be read/],
])("%j is refused in words", async (args, expected) => {
  const { code, said } = await state(args, KEY);
  expect(code).toBe(1);
  expect(said).toMatch(expected);
  expect(said).not.toMatch(/^\s+at /m);
});

test("an export that is cut off leaves no file", async () => {
  const server = createServer((_request, response) => response.end("half a file"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const file = join(folder, "half.state");
  await writeFile(file, "as it was");
  const answer = await state(["export", "counting", file, ...to(server.address() as AddressInfo)]);
  server.close();
  expect(answer).toMatchObject({ code: 1, said: expect.stringMatching(/was not written/) });
  expect(await readFile(file, "utf8")).toBe("as it was");
});
