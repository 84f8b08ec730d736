import { beforeAll, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** Requests that `fetch` sends, and how its responses are read. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/fetch");
});

/** Answers with the request itself: its method, URL, headers (the usual ones aside), and its body's text in Latin-1. */
const echo: NonNullable<Script["fetch"]> = async (request) => {
  const body = Buffer.from(await request.arrayBuffer()).toString("latin1");
  const { method, url } = request;
  const { accept: _, "user-agent": __, ...headers } = Object.fromEntries(request.headers);
  return Response.json({ method, url, headers, body });
};

const URL_SENT = "https://api.example.com/items?a=1";
const sent = async (args: Record<string, unknown>) => {
  const { result } = await servlet.callTool("send", args, { fetch: echo });
  const [status, ok, got] = (result.structuredContent as { result: unknown[] }).result;
  expect([status, ok]).toEqual([200, true]);
  return got as { method: string; url: string; headers: Record<string, string>; body: string };
};

describe("a request arrives as it was made", () => {
  test.each<[args: Record<string, unknown>, arrived: Record<string, unknown>]>([
    [
      { body: "none" },
      { method: "GET", url: `${URL_SENT}&q=%C3%A9%20%26&n=1&n=2`, headers: {}, body: "" },
    ],
    [{ body: "none", method: "delete" }, { method: "DELETE" }],
    [{ body: "none", headers: { "X-A": "b" } }, { headers: { "x-a": "b" } }],
    [
      { body: "json" },
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"a":["Ã©",null]}',
      },
    ],
    [{ body: "text" }, { headers: { "content-type": "text/plain;charset=UTF-8" }, body: "Ã©" }],
    [
      { body: "bytes", method: "PUT" },
      { method: "PUT", headers: {}, body: "\0ÿ" },
    ],
    [{ body: "parts" }, { body: "ab" }],
    [
      { body: "form" },
      {
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "a=x%20y%26z&b=1&b=true",
      },
    ],
    [
      { body: "pairs" },
      {
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "a=x%20y%26z&b=1&b=true&a=2",
      },
    ],
    [
      { body: "text", headers: { "Content-Type": "text/csv" } },
      { headers: { "content-type": "text/csv" } },
    ],
  ])("%j", async (args, arrived) => {
    expect(await sent(args)).toMatchObject(arrived);
  });

  test("with files", async () => {
    const { headers, body } = await sent({ body: "files" });
    const response = new Response(Buffer.from(body, "latin1"), { headers });
    const form = await response.formData();
    expect(["a", "b", "c"].map((name) => form.getAll(name))).toEqual([["1"], ["1", "true"], []]);
    const [file, other] = [form.get("f") as File, form.get("g") as File];
    expect([file.name, file.type, await file.text()]).toEqual(["a.txt", "text/plain", "hi"]);
    expect([other.name, await other.text()]).toEqual(["g", "x"]);
    expect(await (form.get("h") as File).text()).toBe("y");
  });
});

test.each([
  ["text with files", "data", "str"],
  ["bytes with files", "data", "bytes"],
  ["texts with files", "data", "str"],
  ["texts", "data", "str"],
  ["triples", "data", "tuple"],
  ["text as params", "params", "str"],
])("fields that are no pairs are refused: %s", async (body, what, found) => {
  const { result } = await servlet.callTool("send", { body }, { fetch: echo });
  const said = `fetch() expects \`${what}\` as a dict or as (name, value) pairs, and got ${found}`;
  expect(result).toEqual({
    content: [{ type: "text", text: expect.stringContaining(said) as unknown }],
    isError: true,
  });
});

test("a response is read as text, bytes and lines", async () => {
  const fetch = () =>
    new Response(Buffer.from("caf\xe9\nZ\xfcrich", "latin1"), {
      status: 404,
      headers: [
        ["Content-Type", "text/plain; charset=ISO-8859-1"],
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
      ],
    });
  const { result } = await servlet.callTool("read", {}, { fetch });
  expect(result.structuredContent).toEqual({
    status: 404,
    ok: false,
    type: "text/plain; charset=ISO-8859-1",
    missing: null,
    cookies: ["a=1", "b=2"],
    text: "café\nZürich",
    bytes: [4, 4, 3],
    lines: ["café", "Zürich"],
    url: "https://api.example.com/file",
  });
});

test("raise_for_status", async () => {
  const fetch = () => new Response("gone", { status: 410 });
  const { result } = await servlet.callTool("raises", {}, { fetch });
  const said = "https://api.example.com/none answered 410: gone";
  expect(result).toEqual({ content: [{ type: "text", text: said }], isError: true });
});

test("a request that fails raises an error that says why", async () => {
  const { result } = await servlet.callTool("handles", {}, { fetch: echo });
  expect(result.content).toMatchObject([
    { text: expect.stringMatching(/^refused: .*other\.example\.com/) },
  ]);
  const { result: other } = await servlet.callTool("unhandled", {}, { fetch: echo });
  expect(other.isError).toBe(true);
});

describe("bytes in an encoding that the library lacks", () => {
  const decoded = async (data: number[], encoding: string) => {
    const given = { data: Buffer.from(data).toString("base64"), encoding };
    const { result } = await servlet.callTool("decoded", given);
    const [block] = result.content;
    return block?.type === "text" ? block.text : block;
  };

  test.each([
    ["shift_jis", [0x93, 0xfa, 0x96, 0x7b], "日本"],
    ["EUC-JP", [0xc6, 0xfc], "日"],
    ["gb18030", [0xd6, 0xd0], "中"],
    ["big5", [0xa4, 0xa4], "中"],
    ["cp949", [0xc7, 0xd1], "한"],
    ["koi8_t", [0xc1], "unknown encoding: koi8_t"],
    ["shift_jis", [0xff], /shift_jis.*not in this encoding/],
  ])("%s %j are read by the host", async (encoding, data, text) => {
    expect(await decoded(data, encoding)).toMatch(text);
  });

  test("cannot be written", async () => {
    const { result } = await servlet.callTool("encoded", { text: "日本", encoding: "shift_jis" });
    expect(result.content).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/can be read in a servlet, and not/) }),
    ]);
  });
});
