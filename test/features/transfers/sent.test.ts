import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/features/transfers/limits.ts";
import { goOn, newAddress, ROOTS, send, serverOf } from "../../worker/calls/client.ts";
import { modern } from "../../worker/server.ts";
import {
  bytesOf,
  clock,
  die,
  isArriving,
  keysOf,
  limited,
  newCaller,
  objectOf,
  ORIGIN,
  prepare,
  put,
  ring,
  rowsOf,
  sender,
  senderOf,
  serverFor,
  slowly,
  type Json,
  type Sender,
} from "./senders.ts";

prepare();

const sumOf = (bytes: Uint8Array) => bytes.reduce((all, one) => (all * 31 + one) % 1_000_003, 7);

/** What the servlet says of a file. */
const measured = async (by: Sender, data: string, more: Json = {}) => {
  const { structuredContent, content } = await by.call("measure_file", { data, ...more });
  return structuredContent ?? content[0].text;
};

describe("the tool upload_file", () => {
  test("is listed where a tool takes files, and so is what those take", async () => {
    const ada = await sender();
    const { tools } = await ada.ask("tools/list");
    expect(tools.map(({ name }: Json) => name)).toEqual(
      expect.arrayContaining(["upload_file", "read_stored_file"]),
    );
    const { inputSchema } = tools.find(({ name }: Json) => name === "measure_file");
    expect(inputSchema.properties.data).toEqual({
      type: "string",
      format: "uri",
      description: expect.stringMatching(
        /^What to measure\. A file, by its URI\. Get one by upload_file/,
      ),
      "x-mcp-file": { accept: ["text/*", ".bin"], maxSize: 1_000_000 },
    });
    const { resourceTemplates } = await ada.ask("resources/templates/list");
    expect(resourceTemplates).toMatchObject([
      { uriTemplate: "stored-file://{id}{?offset,length}" },
    ]);
  });

  test("is not listed where no tool does", async () => {
    const { bundle } = await import("../../bundle.gen.ts");
    const servlets = bundle.servlets.filter(({ name }) => name === "echo" || name === "counting");
    const name = newCaller();
    const ada = senderOf(await serverFor([name], { bundle: { servlets } }), name);
    const { tools } = await ada.ask("tools/list");
    expect(tools.filter(({ name: tool }: Json) => /file/.test(tool))).toEqual([]);
  });

  test.each<[what: string, args: Json, message: RegExp]>([
    ["no name", { name: " ", size: 1 }, /has no name/],
    ["a media type that is none", { name: "a", size: 1, mimeType: "text" }, /media type/],
    ["a negative size", { name: "a", size: -1 }, /size/],
    ["too many bytes", { name: "a", size: 2 ** 40 }, /size/],
    ["no size", { name: "a" }, /size/],
  ])("refuses %s", async (_what, args, message) => {
    const ada = await sender();
    const { content, isError } = await ada.call("upload_file", args);
    expect([isError, content[0].text]).toEqual([true, expect.stringMatching(message)]);
  });

  test("gives a command that a shell can run", async () => {
    const ada = await sender();
    const { content } = await ada.call("upload_file", { name: "it's; rm -rf.txt", size: 3 });
    expect(content[0].text).toContain(
      `curl -gfsS -T 'it'\\''s; rm -rf.txt' https://files.example/files/in/`,
    );
    const command = async (name: string, size: number) =>
      (await ada.call("upload_file", { name, size })).content[0].text.split("\n")[1];
    expect(await command("[1] a{b}.csv", 3)).toContain(`curl -gfsS -T '[1] a{b}.csv' https:`);
    expect(await command("-f", 200_000_000)).toContain("tail -c +$((i+1)) ./-f |");
    const { content: large } = await ada.call("upload_file", { name: "a.bin", size: 200_000_000 });
    expect(large[0].text).toMatch(/Content-Range: bytes \$i-\$\(\(i\+n-1\)\)\/200000000/);
  });

  test("keeps what is before a character that nobody sees", async () => {
    const ada = await sender();
    const { structuredContent } = await ada.call("upload_file", {
      name: "in/a\u202egpj.exe",
      size: 1,
    });
    expect(structuredContent.file.name).toBe("a\\u{202e}gpj.exe");
  });

  test("counts a file in what its caller stores in a day, if it is not refused", async () => {
    const ada = await sender();
    const MiB = 1024 * 1024;
    const why = async (size: number) =>
      (await ada.call("upload_file", { name: "a", size })).content[0].text;
    limited({ keptPerDay: 100, callerTransferBytes: 90 * MiB });
    for (let nth = 0; nth < 3; nth++) expect(await why(95 * MiB)).toMatch(/limit 94371840/);
    await ada.begin("a", 80 * MiB);
    limited({ callerTransferBytes: 1000 * MiB });
    await expect(why(20 * MiB)).rejects.toThrow(/per day \(limit 100\)/);
    await ada.begin("b", 18 * MiB);
    await expect(why(0)).rejects.toThrow(/per day \(limit 100\)/);
  });

  test("counts the largest file by one message", async () => {
    const ada = await sender();
    const { asked } = await import("../../worker/index.ts");
    asked.length = 0;
    await ada.begin("a", limits.transferBytes);
    expect(asked.filter((one) => one.startsWith("Attempts"))).toEqual([
      `Attempts: kept ${ada.name}`,
    ]);
  });

  test("refuses more files and bytes than a caller may store", async () => {
    const ada = await sender();
    const why = async (size: number) =>
      (await ada.call("upload_file", { name: "a", size })).content[0].text;
    limited({ callerTransferBytes: 1000, callerTransfers: 3 });
    await ada.begin("a", 600);
    expect(await why(401)).toMatch(/have 600 bytes, and this one has 401 more \(limit 1000\)/);
    await ada.begin("a", 400);
    await ada.begin("a", 0);
    expect(await why(0)).toMatch(
      /too many stored files \(limit 3\)\. Delete some on the console's page Files/,
    );
  });
});

describe.each([
  ["a bucket", true],
  ["objects", false],
])("a file that is sent, with its bytes in %s,", (_what, hasBucket) => {
  test("is opened by the servlet", async () => {
    const ada = await sender({ hasBucket });
    const bytes = bytesOf(2_500_000);
    const uri = await ada.upload("data.bin", bytes, "application/x-data");
    expect(await measured(ada, uri)).toMatchObject({
      name: "data.bin",
      mimeType: "application/x-data",
      size: 2_500_000,
      read: 2_500_000,
      parts: 2_500_000,
      sum: sumOf(bytes),
    });
    const [start, length] = [1_048_570, 20];
    const sum = sumOf(bytes.subarray(start, start + length));
    expect(await measured(ada, uri, { start, length })).toMatchObject({ read: 20, sum });
    expect(await measured(ada, uri, { start: 2_499_999, length })).toMatchObject({ read: 1 });
  });

  test("in parts is whole, and each answer says how much has arrived", async () => {
    const ada = await sender({ hasBucket });
    const bytes = bytesOf(3_000_000);
    const { uri, url } = await ada.begin("data.bin", bytes.length);
    const parts = [0, 1_100_000, 1_100_001, 3_000_000];
    const seen: string[] = [];
    for (const [nth, end] of parts.slice(1).entries()) {
      const start = parts[nth]!;
      const range = `bytes ${start}-${end - 1}/${nth === 1 ? "*" : bytes.length}`;
      const response = await put(ada, url, bytes.subarray(start, end), { range });
      expect(response.status).toBe(end === bytes.length ? 201 : 202);
      expect(await response.json()).toMatchObject({ uri, received: end, size: bytes.length });
      const { received } = (await (await ada.fetch(url)).json()) as Json;
      expect(received).toBe(end);
      if (end < bytes.length) seen.push(await measured(ada, uri));
    }
    expect(seen).toEqual(Array(2).fill(expect.stringMatching(/no such file of yours/)));
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytes) });
  });

  test("is fetched by a link of the servlet, which is always the same", async () => {
    const ada = await sender({ hasBucket });
    const uri = await ada.upload("a.txt", "sent and fetched", "text/plain");
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await ada.call("link_file", { data: uri })).content[0]),
    );
    expect(second).toEqual(first);
    expect(first).toMatchObject({ type: "resource_link", name: "a.txt", size: 16 });
    expect(await (await ada.fetch(first.uri)).text()).toBe("sent and fetched");
    const unsent = await ada.begin("b.txt", 3);
    expect((await ada.call("link_file", { data: unsent.uri })).isError).toBe(true);
  });

  test("may be empty", async () => {
    const ada = await sender({ hasBucket });
    expect(await measured(ada, await ada.upload("none", ""))).toMatchObject({ size: 0, read: 0 });
  });

  test("is sent once", async () => {
    const ada = await sender({ hasBucket });
    const { uri, url } = await ada.begin("a.txt", 3);
    expect((await put(ada, url, bytesOf(3))).status).toBe(201);
    const again = await put(ada, url, new Uint8Array([9, 9, 9]));
    expect([again.status, await again.json()]).toEqual([
      409,
      { error: expect.stringMatching(/sent already/), received: 3 },
    ]);
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytesOf(3)) });
    expect(await keysOf(ada)).toHaveLength(hasBucket ? 1 : 0);
  });

  test("that is cut off goes on from what has arrived", async () => {
    const ada = await sender({ hasBucket });
    const bytes = bytesOf(2_500_000);
    const { uri, url } = await ada.begin("data.bin", bytes.length);
    let sent = 0;
    const body = new ReadableStream({
      type: "bytes",
      pull(controller) {
        if (sent >= 1_500_000) return controller.error(new Error("connection lost"));
        controller.enqueue(bytes.slice(sent, sent + 100_000));
        sent += 100_000;
      },
    });
    const cut = await ada.fetch(url, {
      method: "PUT",
      body,
      headers: { "content-length": String(bytes.length) },
      duplex: "half",
    } as RequestInit);
    expect([cut.status, await cut.json()]).toEqual([
      400,
      { error: expect.stringMatching(/cut off/) },
    ]);
    const { received } = (await (await ada.fetch(url)).json()) as { received: number };
    expect(received).toBe(hasBucket ? 0 : 1024 * 1024);
    const range = `bytes ${received}-${bytes.length - 1}/${bytes.length}`;
    expect((await put(ada, url, bytes.subarray(received), { range })).status).toBe(201);
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytes) });
    expect(await keysOf(ada)).toHaveLength(hasBucket ? 1 : 0);
  });

  test("goes on after its object has died between two parts", async () => {
    const ada = await sender({ hasBucket });
    const bytes = bytesOf(200_000);
    const { uri, url } = await ada.begin("data.bin", bytes.length);
    for (let start = 0; start < bytes.length; start += 50_000) {
      await die(ada);
      const range = `bytes ${start}-${start + 49_999}/200000`;
      expect(
        (await put(ada, url, bytes.subarray(start, start + 50_000), { range })).status,
      ).toBeLessThan(203);
    }
    await die(ada);
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytes) });
  });

  test.each<
    [what: string, range: string | undefined, length: number, status: number, message: RegExp]
  >([
    ["that begins too late", "bytes 5-9/10", 5, 409, /begins at byte 5, but 0 bytes have arrived/],
    ["beyond the end", "bytes 0-10/11", 11, 409, /told 10/],
    ["beyond the end of an unknown size", "bytes 0-10/*", 11, 409, /more bytes than the 10/],
    [
      "of another length than its range",
      "bytes 0-4/10",
      4,
      400,
      /has 4 bytes, and its Content-Range 5/,
    ],
    ["of a range that ends before it begins", "bytes 4-3/10", 0, 400, /Content-Range/],
    ["of no range", "lines 1-2/3", 2, 400, /Content-Range/],
    [
      "that is the file, with another size",
      undefined,
      9,
      409,
      /9 bytes, but upload_file was told 10/,
    ],
  ])("refuses a part %s", async (_part, range, length, status, message) => {
    const ada = await sender({ hasBucket });
    const { url } = await ada.begin("a.bin", 10);
    const response = await put(ada, url, bytesOf(length), range === undefined ? {} : { range });
    expect([response.status, ((await response.json()) as Json)["error"]]).toEqual([
      status,
      expect.stringMatching(message),
    ]);
    expect((await put(ada, url, bytesOf(10))).status).toBe(201);
  });

  test("refuses a part whose sender sends less or more than it says", async () => {
    const ada = await sender({ hasBucket });
    const { url } = await ada.begin("a.bin", 10);
    for (const length of [9, 11]) {
      const body = new Blob([bytesOf(length)]).stream();
      const headers = { "content-range": "bytes 0-9/10" };
      const response = await ada.fetch(url, {
        method: "PUT",
        body,
        headers,
        duplex: "half",
      } as RequestInit);
      expect(response.status).toBe(400);
    }
    const { received } = (await (await ada.fetch(url)).json()) as { received: number };
    expect(received).toBeLessThan(10);
  });

  test("is over when its sender waits too long, and nothing of it stays", async () => {
    const ada = await sender({ hasBucket });
    const { uri, url } = await ada.begin("a.bin", 10);
    expect((await put(ada, url, bytesOf(5), { range: "bytes 0-4/10" })).status).toBe(202);
    clock.aheadMs += 15 * 60_000 + 1;
    expect((await put(ada, url, bytesOf(5), { range: "bytes 5-9/10" })).status).toBe(404);
    expect(await measured(ada, uri)).toMatch(/no such file/);
    await ring(ada);
    expect([await rowsOf(ada), await keysOf(ada)]).toEqual([{}, []]);
  });

  test("is over at its last time, however often its sender goes on", async () => {
    const ada = await sender({ hasBucket });
    const { url } = await ada.begin("a.bin", 100);
    for (let at = 0; at < 8; at++) {
      const status = (await put(ada, url, bytesOf(1), { range: `bytes ${at}-${at}/100` })).status;
      expect(status).toBe(202);
      clock.aheadMs += 14 * 60_000;
    }
    clock.aheadMs += 9 * 60_000;
    expect((await put(ada, url, bytesOf(1), { range: "bytes 8-8/100" })).status).toBe(404);
  });

  test("of a call that waits is read again when the call goes on, if it is there still", async () => {
    const ada = await sender({ hasBucket });
    limited({ transferMs: 60_000 });
    const uri = await ada.upload("a.txt", "some text");
    const sent = { ...ada.sent, capabilities: { roots: {} } };
    const params = { name: "measure_file", arguments: { data: uri, isAsking: true } };
    const first = await send("tools/call", params, sent);
    const { requestState: state, inputRequests: requests } = first.result!;
    const round = { ...first, method: "tools/call", params, sent, state, requests };
    const second = await goOn(round, { [Object.keys(requests)[0]!]: ROOTS });
    expect(second.result!["structuredContent"]).toMatchObject({ begins: "some text", parts: 9 });
    clock.aheadMs += 60_001;
    const late = await goOn(round, { [Object.keys(requests)[0]!]: { roots: [] } });
    expect(late.error!.message).toMatch(
      /^The call cannot go on: .* There is no such file of yours here/,
    );
  });
});

describe("a part that arrives slowly", () => {
  const [half, whole] = [bytesOf(5), { headers: { "content-length": "10" } }];

  test("may take longer than the next part may be away", async () => {
    for (const hasBucket of [true, false]) {
      const ada = await sender({ hasBucket });
      const { uri, url } = await ada.begin("a.bin", 10);
      const { controller, response } = slowly(ada, url, whole);
      controller.enqueue(half);
      await expect.poll(() => isArriving(ada)).toBe(true);
      clock.aheadMs += 16 * 60_000;
      await ring(ada);
      controller.enqueue(half);
      controller.close();
      expect((await response).status).toBe(201);
      expect(await measured(ada, uri)).toMatchObject({ size: 10 });
    }
  });

  test("is given up after the time of its upload", async () => {
    const ada = await sender({ hasBucket: true });
    const { url } = await ada.begin("a.bin", 10);
    const { controller, response } = slowly(ada, url, whole);
    controller.enqueue(half);
    await expect.poll(() => isArriving(ada)).toBe(true);
    clock.aheadMs += 2 * 3_600_000 + 1;
    controller.enqueue(half.subarray(1));
    expect([(await response).status, await keysOf(ada)]).toEqual([400, []]);
  });

  test("is not waited for when another part has taken its place", async () => {
    const ada = await sender();
    const { url } = await ada.begin("a.bin", 10);
    const { response } = slowly(ada, url, whole);
    await expect.poll(() => isArriving(ada)).toBe(true);
    expect((await put(ada, url, bytesOf(10))).status).toBe(201);
    expect((await response).status).toBe(400);
  });

  test("counts among the requests of its sender until it has ended", async () => {
    const ada = await sender();
    const { url } = await ada.begin("a.bin", 10);
    limited({ concurrentCalls: 1 });
    const address = { "cf-connecting-ip": newAddress() };
    const { controller, response } = slowly(ada, url, {
      headers: { ...whole.headers, ...address },
    });
    await expect.poll(() => isArriving(ada)).toBe(true);
    clock.aheadMs += 5 * 60_000;
    const look = async () => (await ada.fetch(url, { headers: address })).status;
    expect(await look()).toBe(429);
    controller.error(new Error("gone"));
    await response;
    expect(await look()).toBe(200);
  });
});

describe("the limits of uploads", () => {
  test("a part has at most 90 MB", async () => {
    const ada = await sender();
    limited({ uploadPartBytes: 1000 });
    const { url } = await ada.begin("a.bin", 1001);
    const response = await put(ada, url, bytesOf(1001));
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: expect.stringMatching(/limit 1000.*Content-Range/), received: 0 },
    ]);
    expect((await put(ada, url, bytesOf(1000), { range: "bytes 0-999/1001" })).status).toBe(202);
  });

  test("a file has so many parts at most", async () => {
    const ada = await sender();
    limited({ transferPieces: 2 });
    const { url } = await ada.begin("a.bin", 3);
    for (const [at, status] of [
      [0, 202],
      [1, 202],
      [2, 400],
    ] as const)
      expect((await put(ada, url, bytesOf(1), { range: `bytes ${at}-${at}/3` })).status).toBe(
        status,
      );
  });

  test("a caller has so many uploads at once, and one that is sent again takes its own place", async () => {
    const ada = await sender();
    limited({ uploadsAtOnce: 2 });
    const waiting: ReadableStreamDefaultController[] = [];
    const open = (url: string) => {
      const body = new ReadableStream({ start: (controller) => void waiting.push(controller) });
      const headers = { "content-length": "10" };
      return ada.fetch(url, { method: "PUT", body, headers, duplex: "half" } as RequestInit);
    };
    const urls = [];
    for (let nth = 0; nth < 3; nth++) urls.push((await ada.begin(`${nth}`, 10)).url);
    const admit = vi.spyOn(Map.prototype, "set");
    const first = [open(urls[0]!), open(urls[1]!)];
    await expect
      .poll(
        () =>
          admit.mock.calls.filter(([, value]) => (value as Json)?.["arrival"] !== undefined).length,
      )
      .toBe(2);
    admit.mockRestore();
    const third = await put(ada, urls[2]!, bytesOf(10));
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "5"]);
    expect((await put(ada, urls[0]!, bytesOf(10))).status).toBe(201);
    for (const controller of waiting) controller.error(new Error("gone"));
    expect((await Promise.all(first)).map(({ status }) => status >= 400)).toEqual([true, true]);
    expect((await put(ada, urls[2]!, bytesOf(10))).status).toBe(201);
    expect((await put(ada, urls[1]!, bytesOf(10))).status).toBe(201);
  });

  test("a compressed body, and one without a length, are refused", async () => {
    const ada = await sender();
    const { url } = await ada.begin("a.bin", 10);
    expect((await put(ada, url, bytesOf(10), { "content-encoding": "gzip" })).status).toBe(415);
    const body = new Blob([bytesOf(10)]).stream();
    const response = await ada.fetch(url, { method: "PUT", body, duplex: "half" } as RequestInit);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/Content-Length/),
    ]);
    const post = await ada.fetch(url, { method: "POST", body: "x" });
    expect([post.status, post.headers.get("allow"), await post.json()]).toEqual([
      405,
      "PUT, GET, HEAD",
      { error: "Method POST is not allowed. Use PUT, GET, HEAD." },
    ]);
  });

  test("a sender that stalls is given up", async () => {
    const ada = await sender();
    limited({ uploadStallMs: 1 });
    const { url } = await ada.begin("a.bin", 10);
    const body = new ReadableStream({ start: (controller) => controller.enqueue(bytesOf(5)) });
    const headers = { "content-length": "10" };
    const response = await ada.fetch(url, {
      method: "PUT",
      body,
      headers,
      duplex: "half",
    } as RequestInit);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/cut off/),
    ]);
  });
});

describe("the URI of a file that was sent", () => {
  test("is of use to its caller alone, at its endpoint", async () => {
    const [one, other] = [newCaller(), newCaller()];
    const profiles = {
      some: { servlets: ["transferring"] },
      more: { servlets: ["transferring"] },
    } as never;
    const server = await serverFor([one, other], { bundle: { profiles } });
    const [ada, bob] = [senderOf(server, one), senderOf(server, other)];
    const uri = await ada.upload("a.txt", "mine");
    expect(await measured(ada, uri)).toMatchObject({ begins: "mine" });
    expect(await measured(bob, uri)).toMatch(/no such file of yours/);
    const params = { name: "measure_file", arguments: { data: uri } };
    const { body, headers } = modern("tools/call", params);
    for (const [path, by, works] of [
      ["/mcp", one, true],
      ["/mcp/some", one, false],
      ["/mcp/more", one, false],
    ] as const) {
      const all = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${by}`,
        ...headers,
      };
      const response = await server.fetch(
        new Request(`http://localhost:8787${path}`, {
          method: "POST",
          headers: all,
          body: JSON.stringify(body),
        }),
      );
      const text = await response.text();
      expect(text).toMatch(works ? /"begins":"mine"/ : /no such file of yours/);
    }
  });

  test.each([
    ["a guess", "stored-file://AAAAAAAAAAAAAAAAAAAAAA"],
    ["another scheme", "https://files.example/files/out/x"],
    ["a file of the server", "file:///etc/passwd"],
    ["nothing", ""],
    ["a path", "stored-file://../../x"],
    ["a URI of another form", "STORED-FILE://AAAAAAAAAAAAAAAAAAAAAA"],
    ["a long text", `stored-file://${"A".repeat(5000)}`],
    ["data that is not whole", "data:;base64,a"],
  ])("is refused if it is %s", async (_what, uri) => {
    const ada = await sender();
    expect(await measured(ada, uri)).toMatch(/^open\(\): /);
  });

  test("may be data in the argument itself, as small files are", async () => {
    const ada = await sender();
    expect(await measured(ada, "data:text/csv;name=a%20b.csv;base64,YSxiCg==")).toMatchObject({
      name: "a b.csv",
      mimeType: "text/csv",
      size: 4,
      begins: "a,b\n",
    });
  });

  test("may be of a file that a servlet has made", async () => {
    const ada = await sender();
    const { content } = await ada.call("make_file", { name: "a.txt", text: "passed on" });
    expect(await measured(ada, content[0]._meta["edge-servlets/file"])).toMatchObject({
      begins: "passed on",
    });
  });

  test("ends with the file", async () => {
    const ada = await sender();
    const uri = await ada.upload("a.txt", "soon over");
    clock.aheadMs += 24 * 3_600_000 + 1;
    expect(await measured(ada, uri)).toMatch(/no such file/);
  });
});

describe("the URL to which a file is sent", () => {
  test("is refused if it was not made here, or is of another use, and makes no object", async () => {
    const ada = await sender();
    const { url } = await ada.begin("a.bin", 1);
    const token = url.split("/").at(-1)!;
    const guess = url.replace(token, `${token.slice(0, 62)}${token.endsWith("AA") ? "BB" : "AA"}`);
    for (const other of [
      guess,
      url.replace("/in/", "/out/"),
      `${url}x`,
      "https://files.example/files/in/x",
    ])
      expect((await put(ada, other, bytesOf(1))).status).toBeGreaterThanOrEqual(404);
    expect((await put(ada, url, bytesOf(1))).status).toBe(201);
  });

  test("ends with its owner's access", async () => {
    const name = newCaller();
    const before = senderOf(await serverFor([name]), name);
    const { url } = await before.begin("a.bin", 3);
    const after = senderOf(await serverFor([newCaller()]), name);
    expect((await put(after, url, bytesOf(3))).status).toBe(410);
    expect((await after.fetch(url)).status).toBe(410);
    expect((await put(before, url, bytesOf(3))).status).toBe(201);
  });

  test("is nothing while its caller is forgotten", async () => {
    const ada = await sender({ hasBucket: true });
    const { url } = await ada.begin("a.bin", 10);
    const statuses: number[] = [];
    const { list: real } = Object.getPrototypeOf(env.TRANSFERS_BUCKET!) as R2Bucket;
    vi.spyOn(Object.getPrototypeOf(env.TRANSFERS_BUCKET!) as R2Bucket, "list").mockImplementation(
      async function (this: R2Bucket, ...args: any[]) {
        const found = await (real as any).apply(this, args);
        statuses.push((await put(ada, url, bytesOf(10))).status);
        return found;
      } as never,
    );
    await (await objectOf(ada)).forget();
    vi.restoreAllMocks();
    expect([statuses, await rowsOf(ada), await keysOf(ada)]).toEqual([[404], {}, []]);
  });

  test("is nothing after its caller was forgotten, in the middle of a part", async () => {
    const ada = await sender({ hasBucket: true });
    const { url } = await ada.begin("a.bin", 10);
    const bucket = env.TRANSFERS_BUCKET!;
    const object = await objectOf(ada);
    const { put: real } = Object.getPrototypeOf(bucket) as R2Bucket;
    vi.spyOn(Object.getPrototypeOf(bucket) as R2Bucket, "put").mockImplementation(async function (
      this: R2Bucket,
      ...args: any[]
    ) {
      const stored = await (real as any).apply(this, args);
      await object.forget();
      return stored;
    } as never);
    const response = await put(ada, url, bytesOf(10));
    expect(response.status).toBe(409);
    expect([await rowsOf(ada), await keysOf(ada)]).toEqual([{}, []]);
  });
});

describe("an object that dies while a part arrives", () => {
  test("keeps what has arrived, and takes the rest", async () => {
    const ada = await sender();
    const bytes = bytesOf(2_500_000);
    const { uri, url } = await ada.begin("data.bin", bytes.length);
    let isThere = () => {};
    const arrived = new Promise<void>((resolve) => (isThere = resolve));
    let proceed = () => {};
    const isDead = new Promise<void>((resolve) => (proceed = resolve));
    let at = 0;
    const body = new ReadableStream({
      type: "bytes",
      async pull(controller) {
        if (at === 1_500_000) {
          isThere();
          await isDead;
        }
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + 100_000));
        at += 100_000;
      },
    });
    const headers = { "content-length": String(bytes.length) };
    const init = { method: "PUT", body, headers, duplex: "half" } as RequestInit;
    const sent = ada.fetch(url, init);
    await arrived;
    const received = async () =>
      ((await (await ada.fetch(url)).json()) as { received: number }).received;
    await expect.poll(received).toBe(1024 * 1024);
    await die(ada);
    proceed();
    expect((await sent).status).toBe(400);
    const start = await received();
    expect(start).toBe(1024 * 1024);
    const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
    expect((await put(ada, url, bytes.subarray(start), { range })).status).toBe(201);
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytes) });
  });

  test("after the bucket has taken it, has stored nothing of it, or all", async () => {
    const ada = await sender({ hasBucket: true });
    const { uri, url } = await ada.begin("a.bin", 10);
    const prototype = Object.getPrototypeOf(env.TRANSFERS_BUCKET!) as R2Bucket;
    const { put: real } = prototype;
    const spy = vi.spyOn(prototype, "put").mockImplementation(async function (
      this: R2Bucket,
      ...args: any[]
    ) {
      const stored = await (real as any).apply(this, args);
      await die(ada);
      return stored;
    } as never);
    await put(ada, url, bytesOf(10));
    spy.mockRestore();
    const { received } = (await (await ada.fetch(url)).json()) as { received: number };
    expect([0, 10]).toContain(received);
    const again = await put(ada, url, bytesOf(10));
    expect(again.status).toBe(received === 0 ? 201 : 409);
    expect(await measured(ada, uri)).toMatchObject({ sum: sumOf(bytesOf(10)) });
    expect(await keysOf(ada)).toHaveLength(1);
  });
});

describe("a server without sign-in", () => {
  test("tells its callers apart by their network", async () => {
    const { bundle } = await import("../../bundle.gen.ts");
    const servlets = bundle.servlets.filter(({ name }) => name === "transferring");
    const server = serverOf(
      { ...bundle, servlets },
      { LINKS: "off", PUBLIC_URL: ORIGIN, API_KEYS: undefined },
    );
    const at = (address: string): Sender => {
      const own = senderOf(server, "nobody");
      own.sent.headers = { "cf-connecting-ip": address };
      return own;
    };
    const [one, other] = [at(newAddress()), at(newAddress())];
    const uri = await one.upload("a.txt", "mine");
    expect(await measured(one, uri)).toMatchObject({ begins: "mine" });
    expect(await measured(other, uri)).toMatch(/no such file of yours/);
    const { content } = await one.call("link_file", { data: uri });
    expect(await (await other.fetch(content[0].uri)).text()).toBe("mine");
    const unknown = senderOf(server, "nobody");
    expect(await measured(unknown, await unknown.upload("a.txt", "of anybody"))).toMatchObject({
      begins: "of anybody",
    });
    expect(await measured(unknown, uri)).toMatch(/no such file of yours/);
  });
});

test("no token and no name of a file is in a log", async () => {
  const lines: string[] = [];
  for (const level of ["error", "warn", "info", "log", "debug"] as const)
    vi.spyOn(console, level).mockImplementation(
      (...all) => void lines.push(all.map(String).join(" ")),
    );
  const ada = await sender({ RUN_LOG: "json" });
  const { uri, url } = await ada.begin("private-name.txt", 3);
  await put(ada, url, bytesOf(4));
  await put(ada, url, bytesOf(3));
  await put(ada, url, bytesOf(3));
  const { content } = await ada.call("link_file", { data: uri });
  await ada.fetch(content[0].uri, { method: "DELETE" });
  await ada.fetch(content[0].uri);
  await ada.call("measure_file", { data: `${uri}x` });
  const printed = lines.join("\n");
  expect(printed).toContain("measure_file");
  for (const secret of [url, content[0].uri])
    expect(printed).not.toContain(secret.split("/").at(-1));
  expect(printed).not.toContain("private-name");
});

test("a bucket that fails when a file is over is emptied later, however often it fails", async () => {
  const ada = await sender({ hasBucket: true });
  await ada.upload("a.bin", bytesOf(10));
  clock.aheadMs += 24 * 3_600_000 + 1;
  const failing = vi
    .spyOn(Object.getPrototypeOf(env.TRANSFERS_BUCKET!) as R2Bucket, "list")
    .mockRejectedValue(new Error("list: We encountered an internal error."));
  vi.spyOn(console, "error").mockImplementation(() => {});
  for (let nth = 0; nth < 10; nth++) expect(await ring(ada)).toBe(true);
  failing.mockRestore();
  expect([await ring(ada), await rowsOf(ada), await keysOf(ada)]).toEqual([true, {}, []]);
});

test("a bucket that fails is told, and the part can be sent again", async () => {
  const ada = await sender({ hasBucket: true });
  const { url } = await ada.begin("a.bin", 10);
  const failing = vi
    .spyOn(Object.getPrototypeOf(env.TRANSFERS_BUCKET!) as R2Bucket, "put")
    .mockRejectedValue(new Error("put: We encountered an internal error."));
  const response = await put(ada, url, bytesOf(10));
  expect([response.status, await response.text()]).toEqual([503, expect.stringMatching(/again/)]);
  failing.mockRestore();
  expect((await put(ada, url, bytesOf(10))).status).toBe(201);
});

test("twenty uploads at once all arrive, and hold little memory", async () => {
  const ada = await sender({ hasBucket: true });
  const bytes = bytesOf(300_000);
  const all = await Promise.all(
    Array.from({ length: 20 }, async (_, nth) => ada.upload(`${nth}.bin`, bytes)),
  );
  expect(new Set(all).size).toBe(20);
  expect(await measured(ada, all[19]!)).toMatchObject({ sum: sumOf(bytes) });
});
