import { expect, test } from "vitest";
import { withAccounts } from "../../../src/server/kernel/servlets/accounts.ts";
import type { Accounts } from "../../../src/server/kernel/servlets/deployment.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { bundled } from "../installs/installed.ts";

/** Requests with an account, to a host that answers with what it was sent, and does what its headers ask for. */

const TOKEN = "tok-0123456789abcdefghijklmnop";
const URL_OF_API = "https://api.example/echo";

function served(answer: (request: Request) => Response) {
  const sent: Request[] = [];
  const world = {
    ...liveWorld,
    fetch: async (request: Request) => {
      sent.push(request);
      return answer(request);
    },
  };
  const servlet = {
    ...bundled("hello"),
    manifest: {
      allowed_hosts: ["api.example"],
      accounts: { mail: { hosts: ["api.example"] } },
    },
  };
  const accounts = { token: async () => TOKEN } as unknown as Accounts;
  const { fetch } = withAccounts(world, servlet, { accounts, caller: "ada" });
  const ask = async (headers: Record<string, string>, init: RequestInit = {}) => {
    const authorization = "account mail";
    const request = new Request(URL_OF_API, { ...init, headers: { authorization, ...headers } });
    return (await fetch(request)).text();
  };
  return { sent, ask };
}

/** Echoes the part that any header with a range names. */
const echo = ({ headers }: Request) => {
  const whole = headers.get("authorization")!;
  const range = [...headers].find(([name]) => name.endsWith("range"))?.[1];
  const [, from, to] = /bytes=(\d+)-(\d+)/.exec(range ?? "") ?? [];
  const part = from === undefined ? whole : whole.slice(Number(from), Number(to) + 1);
  return new Response(part, { status: from === undefined ? 200 : 206 });
};

test.each([
  ["Range", "bytes=0-9"],
  ["range", "bytes=7-9, 12-14"],
  ["If-Range", '"etag"'],
  ["Request-Range", "bytes=0-9"],
  ["X-MS-Range", "bytes=0-9"],
  ["x-amz-copy-source-range", "bytes=0-9"],
  ["A-IM", "vcdiff, range"],
  ["TE", "trailers"],
  ["Trailer", "x"],
  ["Max-Forwards", "0"],
  ["X-HTTP-Method-Override", "TRACE"],
  ["X-HTTP-Method", "track"],
  ["X-Method-Override", "Trace"],
])("are not sent with %s: %s", async (name, value) => {
  const { sent, ask } = served(echo);
  const refused = `may not have the header ${name.toLowerCase()}`;
  await expect(ask({ [name]: value })).rejects.toThrow(refused);
  expect(sent).toEqual([]);
});

test.each([
  ["X-HTTP-Method-Override", "GET"],
  ["Content-Range", "bytes 0-1/2"],
  ["X-Orange", "yes"],
])("are sent with %s: %s", async (name, value) => {
  const { sent, ask } = served(() => new Response("ok"));
  expect(await ask({ [name]: value })).toBe("ok");
  expect(sent[0]!.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
});

test("of other hosts, ranges are there", async () => {
  const { ask } = served(() => new Response("ok", { status: 206 }));
  expect(await ask({ authorization: "Bearer own", range: "bytes=0-1" })).toBe("ok");
});

test.each<[string, () => Response]>([
  ["206", () => new Response(TOKEN.slice(0, 9), { status: 206 })],
  ["Content-Range", () => new Response(TOKEN.slice(0, 9), { headers: { "content-range": "x" } })],
])("a part that nobody has asked for is refused: %s", async (_, answer) => {
  await expect(served(answer).ask({})).rejects.toThrow(/was a part of one/);
});

test.each([
  ["UTF-16", 2],
  ["UTF-32", 4],
])("the token is found in %s, which cannot be asked for", async (charset, size) => {
  const bytes = new Uint8Array(TOKEN.length * size);
  for (let at = 0; at < TOKEN.length; at++) bytes[at * size] = TOKEN.charCodeAt(at);
  const pieces = () =>
    new ReadableStream({
      start(controller) {
        for (const one of bytes) controller.enqueue(new Uint8Array([one]));
        controller.close();
      },
    });
  const { sent, ask } = served(() => new Response(pieces()));
  await expect(ask({ "accept-charset": charset })).rejects.toThrow(/had its access token in it/);
  expect(sent[0]!.headers.has("accept-charset")).toBe(false);
});
