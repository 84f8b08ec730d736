import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { dialects } from "../../../src/server/kernel/servlets/dialects.ts";
import { callExport, type Setup } from "../../../src/server/kernel/wasm/call.ts";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { extismFunctions } from "../../../src/server/kernel/wasm/extism.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { instantiate } from "../../../src/server/kernel/wasm/link.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { bundle } from "../../bundle.gen.ts";
import { VERSION } from "../../../src/server/kernel/core/version.ts";

const probe = bundle.servlets.find(({ name }) => name === "probe")!;
const { userFunctions } = dialects[probe.dialect];
const program = { ...probe, userFunctions };

/** Requests to the outside world, which answers each by `answer`. */
let sent: Request[];
let answer: (request: Request) => Response;
beforeEach(() => {
  sent = [];
  answer = () => new Response("there");
});

const setup: Setup = {
  ...nobody,
  world: {
    ...liveWorld,
    fetch: (input, init) => {
      const request = new Request(input, init);
      sent.push(request);
      return Promise.resolve(answer(request));
    },
  },
  allowedHosts: ["*"],
};

/** A guest's `http_request`: its answer, or the error. */
async function fetchBy(request: object, body = "") {
  const input = { request: { name: "fetch", arguments: { request, body } }, context: { id: "1" } };
  const ending = await callExport(program, "call_tool", JSON.stringify(input), setup);
  if (ending.kind === "refused") return { refused: ending.message };
  if (ending.kind !== "returned") throw new Error(ending.kind);
  const told = JSON.parse(ending.output!).content[0].text;
  return JSON.parse(told) as { status: number; body: string; headers: Record<string, string> };
}

const URL_OF = "https://public.example/";

describe("a guest's request is refused", () => {
  test.each<[string, object, RegExp]>([
    ["line feed in a header", { headers: { a: "b\nc: d" } }, /header.*"a"/],
    ["carriage return in a header", { headers: { a: "b\rc" } }, /header/],
    ["both, with a request of its own", { headers: { a: "b\r\n\r\nGET / HTTP/1.1" } }, /header/],
    ["NUL in a header", { headers: { a: "b\0c" } }, /header/],
    ["a letter that would be cut to a line feed", { headers: { a: "bċĊ" } }, /header/],
    ["line feed in a name", { headers: { "a\nb": "c" } }, /header.*"a\\nb"/],
    ["colon in a name", { headers: { "host:": "c" } }, /header/],
    ["space in a name", { headers: { "host ": "c" } }, /header/],
    ["no name", { headers: { "": "c" } }, /header/],
    ["an object for a header", { headers: { a: { toString: "b" } } }, /header/],
    ["header beyond measure", { headers: { a: "x".repeat(20_000) } }, /limit \d+ bytes/],
    [
      "headers beyond measure",
      { headers: Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`a${at}`, "12345"])) },
      /limit \d+ bytes/,
    ],
    ["URL beyond measure", { url: URL_OF + "x".repeat(10_000) }, /over \d+ characters/],
    ["user name", { url: "https://ada@public.example/" }, /user name/],
    ["password", { url: "https://:hush@public.example/" }, /user name/],
    ["tunnel", { method: "CONNECT" }, /method/],
    ["trace", { method: "trace" }, /method/],
    ["method with a line", { method: "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET" }, /method/],
    ["no method", { method: "" }, /method/],
    ...[
      "file:///etc/passwd",
      "data:,x",
      "blob:x",
      "ws://public.example/",
      "gopher://public.example/",
    ].map((url): [string, object, RegExp] => [url, { url }, /Use http or https/]),
    ["no host", { url: "https:///" }, /not a URL/],
    ["port beyond 65535", { url: "https://public.example:65536/" }, /not a URL/],
    ["NUL in a host", { url: "https://public\0.example/" }, /not a URL/],
  ])("%s", async (_name, request, message) => {
    expect(await fetchBy({ url: URL_OF, ...request })).toEqual({
      refused: expect.stringMatching(message),
    });
    expect(sent).toEqual([]);
  });
});

test("headers that are not the guest's are left out, others arrive", async () => {
  const own = { authorization: "Bearer x\n", cookie: "a=b", accept: "text/plain", "x-mine": 7 };
  const others = [
    "Host",
    "Connection",
    "Content-Length",
    "Transfer-Encoding",
    "Upgrade",
    "TE",
    "Trailer",
    "Keep-Alive",
    "Expect",
    "Via",
    "Forwarded",
    "X-Forwarded-For",
    "X-Real-IP",
    "X-Client-IP",
    "CF-Connecting-IP",
    "CF-Worker",
    "True-Client-IP",
    "CDN-Loop",
    "Proxy-Authorization",
    "Sec-Fetch-Site",
    "X-Original-URL",
    "X-Rewrite-URL",
  ];
  const headers = { ...own, ...Object.fromEntries(others.map((name) => [name, "chunked"])) };
  await fetchBy({ url: URL_OF, headers });
  expect(Object.fromEntries(sent[0]!.headers)).toEqual({
    ...own,
    authorization: "Bearer x",
    "x-mine": "7",
    "user-agent": expect.stringMatching(/^edge-servlets\/\d/),
  });
});

test("a guest that sets no Accept and no User-Agent sends usual ones", async () => {
  await fetchBy({ url: URL_OF });
  const headers = Object.fromEntries(sent[0]!.headers);
  expect(headers).toMatchObject({ accept: "*/*", "user-agent": `edge-servlets/${VERSION}` });
  await fetchBy({ url: URL_OF, headers: { "User-Agent": "mine/1" } });
  expect(sent[1]!.headers.get("user-agent")).toBe("mine/1");
});

describe("redirects", () => {
  const leading = (location: string) => (request: Request) =>
    request.url === URL_OF
      ? new Response(null, { status: 307, headers: { location } })
      : new Response("there");

  test.each([
    "http://127.0.0.1/",
    "//0x7f.1/",
    "http://[::ffff:7f00:1]/",
    "http://localhost./",
    "http://169.254.169.254/latest/meta-data/",
    "//metadata.google.internal/",
    "file:///etc",
    "https://ada:hush@other.example/",
    "javascript:1",
    "http://",
    `/${"x".repeat(10_000)}`,
  ])("to %s are not followed", async (location) => {
    answer = leading(location);
    expect(await fetchBy({ url: URL_OF })).toHaveProperty("refused");
    expect(sent).toHaveLength(1);
  });

  test("to another host take no credentials along", async () => {
    answer = leading("https://other.example/");
    const headers = { authorization: "a", cookie: "b", "x-mine": "c" };
    expect(await fetchBy({ url: URL_OF, method: "POST", headers }, "x")).toMatchObject({
      body: "there",
    });
    const { authorization, cookie, ...rest } = Object.fromEntries(sent[1]!.headers);
    expect([authorization, cookie, rest["x-mine"]]).toEqual([undefined, undefined, "c"]);
  });

  test("from https to http are not followed, since headers and body may have keys", async () => {
    answer = leading("http://public.example/");
    const got = await fetchBy({ url: URL_OF, method: "POST", headers: { "x-api-key": "a" } }, "x");
    expect(got).toHaveProperty("refused", expect.stringMatching(/redirected from https to http/));
    expect(sent).toHaveLength(1);
  });
});

test("headers of a response are the guest's to read, one by one", async () => {
  answer = () => new Response("x", { headers: { "set-cookie": "a=b", "x-one": "1" } });
  expect(await fetchBy({ url: URL_OF })).toMatchObject({
    headers: { "set-cookie": "a=b", "x-one": "1" },
  });
});

/** A guest without a run. */
function newGuest(): Guest {
  const guest = new Guest(setup, new Journal({ hash: "", input: "" }, setup.world, undefined));
  guest.attach(instantiate(program, guest).exports);
  return guest;
}

const http = extismFunctions["http_request"] as (
  ...args: [Guest, bigint, bigint]
) => Promise<bigint>;

const sameBytes = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

describe("a response's body", () => {
  const KIB = 1024;
  const bodies = [0, 1, 48, 16 * KIB, 64 * KIB - 1, 64 * KIB, 200 * KIB, 3000 * KIB].flatMap(
    (size) => [undefined, size, size >> 1, 2 * size].map((announced) => ({ size, announced })),
  );

  /** A body that the platform feeds, or JavaScript. */
  const streams: [string, (bytes: Uint8Array<ArrayBuffer>) => BodyInit][] = [
    ["the platform", (bytes) => bytes],
    [
      "a script",
      (bytes) =>
        new ReadableStream({
          start(controller) {
            controller.enqueue(bytes.slice(0, 10));
            controller.enqueue(bytes.slice(10));
            controller.close();
          },
        }),
    ],
  ];

  test.each(streams)("of %s is whole, whatever its length is said to be", async (_, bodyOf) => {
    for (const { size, announced } of bodies) {
      const bytes = Uint8Array.from({ length: size }, (_byte, at) => at % 251);
      const headers = new Headers();
      if (announced !== undefined) headers.set("content-length", String(announced));
      answer = () => new Response(bodyOf(bytes), { headers });
      const guest = newGuest();
      const block = await http(guest, guest.put(JSON.stringify({ url: URL_OF })), 0n);
      const same = sameBytes(guest.bytes(block), bytes);
      expect({ size, announced, same }).toEqual({ size, announced, same: true });
      guest.end();
    }
  });

  test.each(streams)("of %s is not read beyond the limit", async (_, bodyOf) => {
    const bytes = new Uint8Array(limits.httpBytes + 1);
    answer = () => new Response(bodyOf(bytes), { headers: { "content-length": "10" } });
    expect(await fetchBy({ url: URL_OF })).toEqual({
      refused: expect.stringContaining(`larger than ${limits.httpBytes} bytes`),
    });
  });
});

test("the record of a run has a response with its headers, and its body in base64", async () => {
  answer = () => new Response("théré", { status: 201, headers: { "x-one": "1" } });
  const guest = newGuest();
  const head = JSON.stringify({ url: URL_OF, method: "PUT" });
  await http(guest, guest.put(head), guest.put("sent"));
  const body = new TextEncoder().encode("théré").toBase64();
  const headers = { "content-type": "text/plain;charset=UTF-8", "x-one": "1" };
  const question = new TextEncoder().encode(`${head}\n${btoa("sent")}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", question)).toHex();
  const { entries } = guest.journal.recorded();
  expect(structuredClone(entries)).toEqual([
    {
      what: "http PUT public.example",
      digest,
      at: expect.any(Number),
      answer: JSON.stringify({ status: 201, headers, body }),
    },
  ]);
  guest.end();
});

test("a call makes so many requests and no more", async () => {
  const guest = newGuest();
  const head = guest.put(JSON.stringify({ url: URL_OF }));
  for (let at = 0; at < limits.httpRequests; at++) await http(guest, head, 0n);
  await expect(http(guest, head, 0n)).rejects.toThrow(/too many HTTP requests/);
  expect(sent).toHaveLength(limits.httpRequests);
  guest.end();
});
