import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serving } from "./serving.ts";

/** A guest's HTTP requests, against a real server on this machine. */
const { url: mcp } = await serving();
let world: Server;
let base: string;
const seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] =
  [];

const COOKIES = ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2; Path=/", "c="];
/** Node writes headers as Latin-1; most servers, and the hosts of files, write UTF-8. */
const asUtf8 = (text: string) => Buffer.from(text).toString("latin1");

/** Sends a compressed body with its length. */
function sendPacked(response: ServerResponse, content: string | Buffer): void {
  const packed = gzipSync(content);
  response.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length });
  response.end(packed);
}

const routes: Record<string, (response: ServerResponse) => void> = {
  "/plain": (response) => response.setHeader("x-custom", "yes").end("hello"),
  "/named": (response) =>
    response
      .writeHead(200, {
        "content-disposition": asUtf8('attachment; filename="日本.pdf"'),
        "x-latin": "caf\u00e9",
        "set-cookie": COOKIES,
      })
      .end(),
  "/missing": (response) => response.writeHead(404).end("nothing here"),
  "/away": (response) => response.writeHead(302, { location: "https://evil.example/" }).end(),
  "/there": (response) => response.writeHead(303, { location: "/plain" }).end(),
  "/again": (response) => response.writeHead(307, { location: "/plain" }).end(),
  "/round": (response) => response.writeHead(302, { location: "/round" }).end(),
  "/cut": (response) => {
    response.writeHead(200, { "content-length": "100" }).write("half");
    response.destroy();
  },
  "/packed": (response) => sendPacked(response, "hello ".repeat(10_000)),
  "/bomb": (response) => sendPacked(response, Buffer.alloc(64 << 20)),
  "/huge": (response) => {
    const chunk = Buffer.alloc(1 << 20);
    const write = () => {
      while (response.writable && response.write(chunk));
    };
    response.on("drain", write);
    write();
  },
};

beforeAll(async () => {
  world = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      routes[request.url!]?.(response);
    });
  });
  await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(world.address() as AddressInfo).port}`;
});
afterAll(() => {
  world.closeAllConnections();
  world.close();
});

async function fetchBy(request: object, body = "", further: Record<string, string> = {}) {
  const message = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "fetch", arguments: { request, body } },
  };
  const headers = { "content-type": "application/json", accept: "application/json", ...further };
  const response = await fetch(mcp, {
    method: "POST",
    headers,
    body: JSON.stringify(message),
  });
  const { result } = (await response.json()) as {
    result: { content: [{ text: string }]; isError?: boolean };
  };
  const [{ text }] = result.content;
  return result.isError ? { refused: text } : JSON.parse(text);
}

describe("a guest's HTTP request", () => {
  test("gives status, headers and body", async () => {
    const response = await fetchBy({ url: `${base}/plain` });
    expect(response).toMatchObject({ status: 200, body: "hello" });
    expect(response.headers["x-custom"]).toBe("yes");
    expect(await fetchBy({ url: `${base}/missing` })).toMatchObject({ status: 404 });
  });

  test("gives headers beyond Latin-1, and each of several Set-Cookie on a line", async () => {
    const { status, headers } = await fetchBy({ url: `${base}/named` });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-disposition": 'attachment; filename="日本.pdf"',
      "set-cookie": COOKIES.join("\n"),
    });
    expect(headers["x-latin"]).toMatch(/^caf./);
  });

  test("sends method, headers and body, but none that belong to the connection", async () => {
    const headers = {
      "x-mine": "1",
      host: "evil.example",
      "content-length": "3",
      "CF-Connecting-IP": "1.1.1.1",
    };
    await fetchBy({ url: `${base}/plain`, method: "post", headers }, "a body");
    expect(seen.at(-1)).toMatchObject({ method: "POST", body: "a body" });
    expect(seen.at(-1)?.headers).toMatchObject({ "x-mine": "1", "content-length": "6" });
    expect(seen.at(-1)?.headers.host).toContain("127.0.0.1");
    expect(seen.at(-1)?.headers).not.toHaveProperty("cf-connecting-ip", "1.1.1.1");
  });

  test("is part of its caller's trace, unless it has its own", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
    await fetchBy({ url: `${base}/plain` }, "", { traceparent, tracestate: "a=1" });
    const { headers } = seen.at(-1)!;
    // As nobody records a span between them, the caller's own stays the parent.
    expect(headers["traceparent"]).toBe(traceparent);
    expect(headers["tracestate"]).toBe("a=1");
    const own = { traceparent: traceparent.replace("4bf9", "0000") };
    await fetchBy({ url: `${base}/plain`, headers: own }, "", { traceparent });
    expect(seen.at(-1)!.headers["traceparent"]).toBe(own.traceparent);
    await fetchBy({ url: `${base}/plain` }, "", { traceparent: "00-x\u00e9-1" });
    expect(seen.at(-1)!.headers).not.toHaveProperty("traceparent");
  });

  test.each([
    [{ "x-long": "a".repeat(20_000) }, /headers of the servlet.s request are too large/],
    [{ "x-split": "a\r\nset-cookie: b" }, /not allowed/],
    [{ "x-nul": "a\0b" }, /not allowed/],
    [{ "x name": "a" }, /not allowed/],
  ])("with an invalid header is refused: %j", async (headers, message) => {
    const count = seen.length;
    expect((await fetchBy({ url: `${base}/plain`, headers })).refused).toMatch(message);
    expect((await fetchBy({ url: `${base}/${"a".repeat(20_000)}` })).refused).toMatch(
      /URL of over/,
    );
    expect(seen).toHaveLength(count);
  });

  test("has no body with GET and HEAD", async () => {
    await fetchBy({ url: `${base}/plain`, method: "GET" }, "a body");
    expect(seen.at(-1)).toMatchObject({ method: "GET", body: "" });
  });

  test("follows redirects to where it may go, as the method asks", async () => {
    expect(await fetchBy({ url: `${base}/there`, method: "POST" }, "x")).toMatchObject({
      body: "hello",
    });
    expect(seen.at(-1)).toMatchObject({ url: "/plain", method: "GET", body: "" });
    expect(await fetchBy({ url: `${base}/again`, method: "PUT" }, "x")).toMatchObject({
      body: "hello",
    });
    expect(seen.at(-1)).toMatchObject({ url: "/plain", method: "PUT", body: "x" });
  });

  test("with a compressed response gets the whole of it", async () => {
    const headers = { "accept-encoding": "gzip" };
    const { body } = await fetchBy({ url: `${base}/packed`, headers });
    expect(body).toBe("hello ".repeat(10_000));
  });

  test.each([
    ["/away", /evil\.example.*does not allow/],
    ["/round", /redirected too often/],
    ["/cut", /could not be reached/],
    ["/huge", /larger than \d+ bytes/],
    ["/bomb", /larger than \d+ bytes/],
  ])("to %s is refused", async (path, message) => {
    expect((await fetchBy({ url: base + path })).refused).toMatch(message);
  });

  test.each([
    "http://localhost:1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.2]/",
    "http://10.0.0.1/",
    "http://0x7f000002/",
    "http://2130706434/",
    "http://0177.0.0.2/",
    "http://127.2/",
    "http://127.0.0.2./",
    "http://１２７.0.0.2/",
    "http://127.0.0.1@10.0.0.1/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://[64:ff9b::7f00:2]/",
    "http://[fe80::1%25eth0]/",
    "http://metadata.google.internal/",
    "http://169.254.169.254/latest",
    "https://notallowed.example/",
    "ftp://127.0.0.1/",
    "//127.0.0.1/",
    "javascript:1",
    "",
  ])("to %j is refused", async (url) => {
    const count = seen.length;
    expect((await fetchBy({ url })).refused).toBeTruthy();
    expect(seen).toHaveLength(count);
  });

  test("to a port where nobody listens fails with a word of the host", async () => {
    expect((await fetchBy({ url: "http://127.0.0.1:1/" })).refused).toMatch(
      /^The host 127\.0\.0\.1:1 could not be reached\. It is in a private network: .*--private-network\.$/,
    );
  });
});
