/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import {
  bytesOf,
  clock,
  keysOf,
  limited,
  objectOf,
  prepare,
  ring,
  rowsOf,
  sender,
  senderOf,
  serverFor,
  newCaller,
  type Json,
} from "./senders.ts";
import { goOn, ROOTS, send, TASKS } from "../../worker/calls/client.ts";

prepare();

describe.each([
  ["a bucket", true],
  ["objects", false],
])("a file of a servlet, with its bytes in %s,", (_what, hasBucket) => {
  test("is a link whose URL has its bytes, and which no browser shows", async () => {
    const ada = await sender({ hasBucket });
    const { content } = await ada.call("make_file", {
      name: "table.csv",
      text: "a,b\n1,ö\n",
      mimeType: "text/csv",
    });
    const [link] = content;
    expect(link).toMatchObject({
      type: "resource_link",
      name: "table.csv",
      mimeType: "text/csv",
      size: 9,
    });
    const response = await ada.fetch(link.uri);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/csv",
      "content-disposition": `attachment; filename="table.csv"; filename*=UTF-8''table.csv`,
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringMatching(/default-src 'none'; sandbox/),
      "cache-control": "private, no-store",
      "referrer-policy": "no-referrer",
    });
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await response.text()).toBe("a,b\n1,ö\n");
  });

  test("of several parts is whole, and is fetched in ranges", async () => {
    const ada = await sender({ hasBucket });
    const bytes = bytesOf(1_300_000);
    const { content } = await ada.call("make_file", { name: "a.bin", bytes: bytes.length });
    const { uri } = content[0];
    const whole = await ada.fetch(uri);
    expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
    const range = async (given: string, more = {}) => {
      const response = await ada.fetch(uri, { headers: { range: given, ...more } });
      return [
        response.status,
        response.headers.get("content-range"),
        [...new Uint8Array(await response.arrayBuffer())],
      ];
    };
    const at = 524_286;
    expect(await range(`bytes=${at}-${at + 3}`)).toEqual([
      206,
      `bytes ${at}-${at + 3}/1300000`,
      [...bytes.subarray(at, at + 4)],
    ]);
    expect(await range("bytes=1299999-")).toEqual([
      206,
      "bytes 1299999-1299999/1300000",
      [bytes.at(-1)],
    ]);
    expect(await range("bytes=-2")).toEqual([
      206,
      "bytes 1299998-1299999/1300000",
      [...bytes.subarray(-2)],
    ]);
    expect(await range("bytes=1300000-")).toEqual([416, "bytes */1300000", []]);
    const etag = whole.headers.get("etag")!;
    expect((await range("bytes=0-1", { "if-range": etag }))[0]).toBe(206);
    expect((await range("bytes=0-1", { "if-range": '"other"' }))[0]).toBe(200);
    const head = await ada.fetch(uri, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("may be empty", async () => {
    const ada = await sender({ hasBucket });
    const { content } = await ada.call("make_file", { name: "none", text: "" });
    expect(content[0]).toMatchObject({ size: 0 });
    const response = await ada.fetch(content[0].uri);
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("is deleted at its time, with its bytes", async () => {
    const ada = await sender({ hasBucket });
    const { content } = await ada.call("make_file", { name: "a.bin", bytes: 700_000 });
    const { uri, _meta } = content[0];
    expect(await keysOf(ada)).toHaveLength(hasBucket ? 2 : 0);
    clock.aheadMs += 24 * 3_600_000 - 60_000;
    expect((await ada.fetch(uri)).status).toBe(200);
    clock.aheadMs += 61_000;
    expect((await ada.fetch(uri)).status).toBe(404);
    expect(
      (await ada.call("read_stored_file", { file: _meta["edge-servlets/file"] })).isError,
    ).toBe(true);
    await ring(ada);
    expect([await rowsOf(ada), await keysOf(ada)]).toEqual([{}, []]);
  });

  test("is made once, however often its call is repeated", async () => {
    const ada = await sender({ hasBucket });
    const sent = { ...ada.sent, capabilities: { roots: {} } };
    const params = {
      name: "make_file",
      arguments: { name: "a.txt", text: "once", isAsking: true },
    };
    const first = await send("tools/call", params, sent);
    const { requestState: state, inputRequests: requests } = first.result!;
    const round = { ...first, method: "tools/call", params, sent, state, requests };
    const second = await goOn(round, { [Object.keys(requests)[0]!]: ROOTS });
    expect(await (await ada.fetch(second.result!["content"][0].uri)).text()).toBe("once");
    expect((await rowsOf(ada))["stored_files"]).toBe(1);
  });
});

describe("the URL of a file", () => {
  test("is refused if any part of its token is another", async () => {
    const ada = await sender();
    const { content } = await ada.call("make_file", { name: "a.txt", text: "secret" });
    const { uri } = content[0] as { uri: string };
    const token = uri.split("/").at(-1)!;
    for (const at of [0, 30, 63]) {
      const other = token[at] === "A" ? "B" : "A";
      const guess = uri.replace(token, token.slice(0, at) + other + token.slice(at + 1));
      expect((await ada.fetch(guess)).status).toBe(404);
    }
    expect((await ada.fetch(uri.replace("/out/", "/in/"))).status).toBe(404);
    for (const method of ["POST", "PUT", "DELETE"])
      expect((await ada.fetch(uri, { method })).status).toBe(405);
  });

  test("is in no table in the clear", async () => {
    const ada = await sender();
    const { content } = await ada.call("make_file", {
      name: "private-name.txt",
      text: "private-text",
    });
    const token = content[0].uri.split("/").at(-1);
    const stored = await runInDurableObject(
      (await objectOf(ada)) as never,
      (_: unknown, { storage }: DurableObjectState) =>
        ["stored_files", "file_pieces"].flatMap((table) =>
          storage.sql
            .exec(`SELECT * FROM ${table}`)
            .toArray()
            .flatMap((row) =>
              Object.values(row).map((value) =>
                value instanceof ArrayBuffer
                  ? new TextDecoder("latin1").decode(value)
                  : String(value),
              ),
            ),
        ),
    );
    expect(stored.length).toBeGreaterThan(5);
    for (const secret of [token, "private-name", "private-text", ada.name])
      expect(stored.filter((one) => one.includes(secret))).toEqual([]);
  });

  test("ends with its owner's access", async () => {
    const name = newCaller();
    const before = senderOf(await serverFor([name]), name);
    const { content } = await before.call("make_file", { name: "a.txt", text: "mine" });
    const after = senderOf(await serverFor([newCaller()]), name);
    expect((await after.fetch(content[0].uri)).status).toBe(410);
    expect((await before.fetch(content[0].uri)).status).toBe(200);
  });
});

describe("a file belongs to its caller", () => {
  const resource = (uri: string) => ({ uri });

  test("who reads it in parts, as a resource and by the tool", async () => {
    const ada = await sender();
    const lines = Array.from({ length: 5000 }, (_, at) => `line ${at} ö`).join("\n");
    const { content } = await ada.call("make_file", {
      name: "a.txt",
      text: lines,
      mimeType: "text/plain",
    });
    const uri = content[0]._meta["edge-servlets/file"];
    let read = "";
    const starts: string[] = [];
    for (let next: string | undefined = `${uri}?offset=0&length=10000`; next !== undefined;) {
      const { contents }: any = await ada.ask("resources/read", resource(next));
      const [part] = contents;
      expect(part.text.length).toBeLessThanOrEqual(70_000);
      if (read !== "") starts.push(read.at(-1)!);
      read += part.text;
      next = part._meta["edge-servlets/range"].next;
    }
    expect(read).toBe(lines);
    expect(new Set(starts)).toEqual(new Set(["\n"]));
    const { content: shown } = await ada.call("read_stored_file", {
      file: uri,
      offset: 7,
      length: 20,
    });
    expect(shown[0].text).toBe("ö\nline 1 ö\n");
  });

  test("of which a part has at least a character, and has bytes", async () => {
    const ada = await sender();
    const file = await ada.upload("a.txt", "€€", "text/plain");
    const read = async (args: Json) => (await ada.call("read_stored_file", args)).content;
    expect((await read({ file, length: 1 })).map(({ text }: Json) => text)).toEqual([
      "€",
      `These are bytes 0 to 3 of 6. Read on with ${file}?offset=3`,
    ]);
    expect((await read({ file: `${file}?length=0` }))[0].text).toMatch(/at least one byte/);
    const binary = await ada.upload("a.bin", "€€");
    expect((await read({ file: binary, length: 1 }))[0].resource.blob).toBe("4g==");
  });

  test("and no other caller", async () => {
    const [one, other] = [newCaller(), newCaller()];
    const server = await serverFor([one, other]);
    const [ada, bob] = [senderOf(server, one), senderOf(server, other)];
    const { content } = await ada.call("make_file", { name: "a.txt", text: "mine" });
    const uri = content[0]._meta["edge-servlets/file"];
    expect((await bob.send("resources/read", resource(uri))).error).toMatchObject({
      code: -32602,
    });
    expect((await bob.call("read_stored_file", { file: uri })).isError).toBe(true);
    expect((await bob.call("measure_file", { data: uri })).content[0].text).toMatch(
      /no such file of yours/,
    );
    expect((await ada.ask("resources/read", resource(uri))).contents[0].text).toBe("mine");
  });

  test("until its caller is forgotten", async () => {
    for (const hasBucket of [true, false]) {
      const ada = await sender({ hasBucket });
      const { content } = await ada.call("make_file", { name: "a.txt", text: "mine" });
      await (await objectOf(ada)).forget();
      expect((await ada.fetch(content[0].uri)).status).toBe(404);
      expect([await rowsOf(ada), await keysOf(ada)]).toEqual([{}, []]);
    }
  });
});

describe("a servlet", () => {
  const text = async (ada: Awaited<ReturnType<typeof sender>>, tool: string, args: Json) => {
    const { content, isError } = await ada.call(tool, args);
    expect(isError).toBe(true);
    return content[0].text as string;
  };

  test("is told why it may not make a file", async () => {
    const ada = await sender();
    expect(await text(ada, "make_file", { name: "" })).toMatch(/has no name/);
    expect(await text(ada, "make_file", { name: "../.." })).toMatch(/has no name/);
    expect(await text(ada, "make_file", { name: "a", mimeType: "text/html\r\nx: y" })).toMatch(
      /media type/,
    );
    limited({ callerTransfers: 2 });
    expect(await text(ada, "make_file", { name: "a", text: "a", times: 3 })).toMatch(
      /too many stored files \(limit 2\)/,
    );
    limited({ callerTransfers: 200, callerTransferBytes: 1_000_000 });
    expect(await text(ada, "make_file", { name: "a", bytes: 1_000_001 })).toMatch(/limit 1000000/);
    limited({ callerTransferBytes: 10_000_000, transferBytes: 1000 });
    expect(await text(ada, "make_file", { name: "a", bytes: 1001 })).toMatch(
      /1001 bytes \(limit 1000\)/,
    );
    expect((await ada.call("make_file", { name: "a", bytes: 1000 })).isError).toBeUndefined();
  });

  test("keeps a name without folders and control characters", async () => {
    const ada = await sender();
    const { content } = await ada.call("make_file", {
      name: '/etc/x\r\n"; evil="ü.txt',
      text: "a",
    });
    const response = await ada.fetch(content[0].uri);
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="x[\w. -]*\.txt"; filename\*=UTF-8''x[^\r\n";]*$/,
    );
  });

  test("that is hostile cannot write to files that are not its caller's, or are whole", async () => {
    const [one, other] = [newCaller(), newCaller()];
    const server = await serverFor([one, other]);
    const [ada, bob] = [senderOf(server, one), senderOf(server, other)];
    const write = async (by: typeof ada, payload: Json) => {
      const args = {
        name: "transfers.write",
        payload: { name: "a", start: 0, bytes: "YQ==", isLast: false, ...payload },
      };
      const result = await by.call("call_host", args);
      return result.structuredContent ?? result.content[0].text;
    };
    const {
      result: { id },
    } = await write(ada, {});
    expect(await write(bob, { id, start: 1 })).toMatchObject({
      failed: expect.stringMatching(/no such file/),
    });
    expect(await write(ada, { id, start: 5 })).toMatchObject({ failed: expect.any(String) });
    expect(await write(ada, { id, start: -1 })).toMatchObject({ failed: expect.any(String) });
    expect(await write(ada, { id, start: 1, bytes: "!" })).toMatchObject({
      failed: expect.stringMatching(/base64/),
    });
    expect(await write(ada, { id: "x".repeat(22), start: 1 })).toMatchObject({
      failed: expect.any(String),
    });
    expect(await write(ada, { id, start: 1, isLast: true })).toMatchObject({ result: { size: 2 } });
    expect(await write(ada, { id, start: 2 })).toMatchObject({ failed: expect.any(String) });
    const big = new Uint8Array(1024 * 1024 + 1).toBase64();
    expect(await write(ada, { bytes: big })).toMatchObject({
      failed: expect.stringMatching(/limit 1048576/),
    });
  });

  test("stores once what it writes again", async () => {
    const ada = await sender({ hasBucket: true });
    const write = async (payload: Json) => {
      const { structuredContent } = await ada.call("call_host", {
        name: "transfers.write",
        payload: { name: "a", start: 0, bytes: "YQ==", isLast: false, ...payload },
      });
      return structuredContent.result;
    };
    const { id } = await write({});
    const both = await Promise.all([write({ id, start: 1 }), write({ id, start: 1 })]);
    expect(both).toEqual([{ id }, { id }]);
    limited({ keptPerDay: 1 });
    for (let nth = 0; nth < 3; nth++) await write({ id });
    expect(await write({ id, isLast: true })).toMatchObject({ size: 2 });
    expect(await keysOf(ada)).toHaveLength(2);
  });

  test("whose manifest has no files makes and takes none", async () => {
    const name = newCaller();
    const { bundle } = await import("../../bundle.gen.ts");
    const servlets = bundle.servlets
      .filter((servlet) => servlet.name === "transferring")
      .map((servlet) => ({ ...servlet, manifest: {} }));
    const ada = senderOf(await serverFor([name], { bundle: { servlets } }), name);
    expect(await text(ada, "make_file", { name: "a", text: "a" })).toMatch(
      /Add "files": \{\} to its servlet.json/,
    );
    const { tools } = await ada.ask("tools/list");
    expect(tools.map((tool: Json) => tool["name"])).not.toContain("read_stored_file");
  });
});

describe("a result of more characters than the manifest allows", () => {
  test("becomes a file, with its first part and how to read on", async () => {
    const ada = await sender();
    const { content } = await ada.call("say_words", { length: 30_000 });
    const [first, note, link] = content;
    expect(first.text.length).toBeLessThanOrEqual(5000);
    expect(first.text.endsWith("\n")).toBe(true);
    const { uri, _meta } = link;
    const whole = await (await ada.fetch(uri)).text();
    expect(whole.length).toBe(30_000);
    expect(whole.startsWith(first.text)).toBe(true);
    const next = /file (stored-file:\S+)$/.exec(note.text)![1]!;
    expect(next.startsWith(_meta["edge-servlets/file"])).toBe(true);
    const { content: more } = await ada.call("read_stored_file", { file: next });
    expect(first.text + more[0].text).toBe(whole.slice(0, first.text.length + more[0].text.length));
  });

  test("becomes a file also when its call has waited, or was a task", async () => {
    const { bundle } = await import("../../bundle.gen.ts");
    const servlets = bundle.servlets
      .filter(({ name }) => name === "transferring")
      .map((one) => ({
        ...one,
        manifest: { ...one.manifest, tools: { say_words: { task: "always" as const } } },
      }));
    const ada = await sender({ hasBucket: true, bundle: { servlets } });
    const waits = async (capabilities: object) => {
      const sent = { ...ada.sent, capabilities: { ...capabilities, roots: {} } };
      const params = { name: "say_words", arguments: { length: 9000, isAsking: true } };
      return { sent, params, method: "tools/call", ...(await send("tools/call", params, sent)) };
    };
    const carried = await waits({});
    const { requestState: state, inputRequests: requests } = carried.result!;
    const [key] = Object.keys(requests);
    const { result } = await goOn({ ...carried, state, requests }, { [key!]: ROOTS });
    const { sent, result: task } = await waits(TASKS);
    const { taskId } = task!;
    const look = async () => (await send("tasks/get", { taskId }, sent)).result!;
    await expect.poll(async () => (await look())["status"]).toBe("input_required");
    await send("tasks/update", { taskId, inputResponses: { [key!]: ROOTS } }, sent);
    await expect.poll(async () => (await look())["status"]).toBe("completed");
    for (const { content } of [result!, (await look())["result"]]) {
      expect(content).toHaveLength(3);
      // The object of the task knows no address of the server here.
      const file = content[2]._meta["edge-servlets/file"];
      const { content: whole } = await ada.call("read_stored_file", { file, length: 20_000 });
      expect(whole[0].text).toHaveLength(9000);
    }
  });

  test("as structured content becomes a file of JSON", async () => {
    const ada = await sender();
    const { content, structuredContent } = await ada.call("list_rows", { count: 1000 });
    expect(structuredContent).toBeUndefined();
    const link = content.find(({ type }: Json) => type === "resource_link");
    expect(link).toMatchObject({ name: "list_rows.json", mimeType: "application/json" });
    expect(((await (await ada.fetch(link.uri)).json()) as any).rows).toHaveLength(1000);
  });

  test("keeps a text beside structured content that is longer", async () => {
    const ada = await sender();
    const { content, structuredContent } = await ada.call("list_rows", {
      count: 1000,
      summary: "1000 rows",
    });
    expect(structuredContent).toBeUndefined();
    const [text, note, link] = content;
    expect(text.text).toBe("1000 rows");
    const uri = /^The structured content .* file (stored-file:\S+)$/.exec(note.text)![1];
    expect(uri).toBe(link._meta["edge-servlets/file"]);
    expect(((await (await ada.fetch(link.uri)).json()) as any).rows).toHaveLength(1000);
  });

  test("at the limit stays as it is, and so does an error", async () => {
    const ada = await sender();
    expect((await ada.call("say_words", { length: 5000 })).content).toHaveLength(1);
    expect((await ada.call("say_words", { length: 5001 })).content).toHaveLength(3);
    expect((await ada.call("say_words", { length: 9000, fails: true })).content).toHaveLength(1);
    expect((await ada.call("list_rows", { count: 3 })).structuredContent.rows).toHaveLength(3);
  });

  test("stays whole for a servlet that has called the tool", async () => {
    const { fitResult } = await import("../../../src/server/features/transfers/large-results.ts");
    const result = { content: [{ type: "text" as const, text: "x".repeat(9000) }] };
    const tool = {
      own: "say_words",
      servlet: { manifest: { files: { resultsOver: 5000 } } },
    } as never;
    const call = { share: { fuel: 1, waitMs: 1 } } as never;
    expect(fitResult({} as never, () => undefined)(result, { tool, call })).toBe(result);
  });

  test("that cannot be stored is an error with its first part", async () => {
    const ada = await sender();
    limited({ callerTransfers: 0 });
    const { content, isError } = await ada.call("say_words", { length: 30_000 });
    expect(isError).toBe(true);
    expect(content[0].text.length).toBeLessThanOrEqual(5000);
    expect(content[1].text).toMatch(/30000 characters \(limit 5000\), and could not be stored/);
  });
});
