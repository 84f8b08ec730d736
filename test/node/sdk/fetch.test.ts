import { beforeAll, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** Requests that `fetch` sends, and how its responses are read. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/fetch");
});

/** Answers with the request itself: its method, URL, headers (the usual ones aside), and its body's bytes. */
const echo: NonNullable<Script["fetch"]> = async (request) => {
  const bytes = [...new Uint8Array(await request.arrayBuffer())];
  const { method, url } = request;
  const { accept: _, "user-agent": __, ...headers } = Object.fromEntries(request.headers);
  return Response.json({ method, url, headers, bytes });
};

const textOf = async (tool: string, args: Record<string, unknown>, script: Script) => {
  const { result } = await servlet.callTool(tool, args, script);
  const [block] = result.content;
  return block?.type === "text" ? block.text : "";
};

const FORM = "application/x-www-form-urlencoded;charset=UTF-8";
const TEXT = "text/plain;charset=UTF-8";

describe("a request arrives as it was made", () => {
  test.each<[init: Record<string, unknown>, arrived: Record<string, unknown>]>([
    [{}, { method: "GET", headers: {}, bytes: [] }],
    [{ method: "delete" }, { method: "DELETE", headers: {}, bytes: [] }],
    [
      { method: "post", body: "text" },
      { method: "POST", headers: { "content-type": TEXT }, bytes: [0xc3, 0xa9] },
    ],
    [
      { method: "PATCH", body: "text", headers: { "Content-Type": "text/csv", "X-A": "1" } },
      { method: "PATCH", headers: { "content-type": "text/csv", "x-a": "1" }, bytes: [0xc3, 0xa9] },
    ],
    [
      { method: "PUT", body: "bytes" },
      { method: "PUT", headers: {}, bytes: [1, 2] },
    ],
    [
      { method: "PUT", body: "buffer" },
      { method: "PUT", headers: {}, bytes: [7, 8] },
    ],
    [
      { method: "POST", body: "form" },
      {
        method: "POST",
        headers: { "content-type": FORM },
        bytes: [...new TextEncoder().encode("a=1+2&b=%26")],
      },
    ],
  ])("%j", async (init, arrived) => {
    const url = "https://api.example/x?y=1";
    const { result } = await servlet.callTool("request", { url, ...init }, { fetch: echo });
    const { status, text } = result.structuredContent as { status: number; text: string };
    expect({ status, ...JSON.parse(text) }).toEqual({ status: 200, url, ...arrived });
  });

  const IN = [...new TextEncoder().encode("in")];
  test.each<[form: string, arrived: Record<string, unknown>]>([
    ["url", { method: "GET", headers: {}, bytes: [] }],
    ["request", { method: "PUT", headers: { "content-type": TEXT, b: "2, 3" }, bytes: IN }],
    ["request and init", { method: "POST", headers: { c: "4" }, bytes: IN }],
    ["context", { method: "DELETE", headers: {}, bytes: [] }],
  ])("by %s", async (form, arrived) => {
    const text = await textOf("request_by", { form }, { fetch: echo });
    expect(JSON.parse(text)).toEqual({ url: "https://api.example/x?y=1", ...arrived });
  });

  test("those made at once are sent one after the other", async () => {
    const sent: string[] = [];
    const fetch = (request: Request) => {
      sent.push(request.url);
      return new Response(`${sent.length}`, { status: 200 + sent.length });
    };
    expect(await textOf("one_after_the_other", {}, { fetch })).toBe("201 1,202 2,203 3");
    expect(sent).toEqual(["https://a.example/", "https://b.example/", "https://c.example/"]);
  });
});

describe("a response", () => {
  test("has its status, headers and body, once and for each clone", async () => {
    const fetch = () =>
      new Response('\ufeff{"ok":["é"]}', {
        status: 404,
        headers: { "content-type": "application/json", "X-B": "2", "x-a": "1" },
      });
    const { result } = await servlet.callTool("response", {}, { fetch });
    expect(result.structuredContent).toEqual({
      status: 404,
      ok: false,
      url: "https://api.example/thing",
      type: "default",
      redirected: false,
      headers: [
        ["content-type", "application/json"],
        ["x-a", "1"],
        ["x-b", "2"],
      ],
      type_of: "application/json",
      none: null,
      before: false,
      json: { ok: ["é"] },
      after: true,
      again: "TypeError: The body has been read already.",
      bytes: [...new TextEncoder().encode('\ufeff{"ok":["é"]}')],
      cloned: "https://api.example/thing",
    });
  });

  test("has whatever headers a server sends, for copies of it too", async () => {
    const [named, cookie] = [
      'attachment; filename="日本 €😀.pdf"',
      "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
    ];
    const fetch = () => {
      const response = new Response("pdf");
      // As workerd gives them; Node's have Latin-1 only.
      const headers = [
        ["content-disposition", named],
        ["set-cookie", cookie],
        ["set-cookie", "b=2"],
        ["x-lone", "a\ud800"],
        ["x-nothing", ""],
      ];
      Object.defineProperty(response, "headers", {
        value: Object.assign(headers, {
          get: (name: string) => headers.find(([one]) => one === name)?.[1] ?? null,
          getSetCookie: () => [cookie, "b=2"],
        }),
      });
      return response;
    };
    const { result } = await servlet.callTool("received", {}, { fetch });
    const seen = { named, cookies: [cookie, "b=2"], count: 5 };
    expect(result.structuredContent).toEqual({
      ways: Array.from({ length: 6 }, () => seen),
      joined: `${cookie}, b=2`,
      own: "TypeError",
      sent: expect.stringMatching(/TypeError: .*"x-name".*Latin-1.*encodeURIComponent/),
    });
  });

  test("has bytes of any value", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    const { result } = await servlet.callTool("buffer", {}, { fetch: () => new Response(bytes) });
    expect(result.structuredContent).toEqual({ is: true, bytes: [...bytes] });
  });

  test("may have no body", async () => {
    const fetch = () => new Response(null, { status: 204 });
    const { result } = await servlet.callTool(
      "request",
      { url: "https://api.example/" },
      { fetch },
    );
    expect(result.structuredContent).toEqual({ status: 204, text: "" });
  });

  test("that is not JSON fails as JSON", async () => {
    const fetch = () => new Response("<html>");
    expect(await textOf("not_json", {}, { fetch })).toBe("SyntaxError");
  });
});

describe("a request that fails is rejected, and the servlet goes on", () => {
  const fetch = (request: Request) => {
    if (request.url.includes("down")) throw new Error("ECONNREFUSED 10.0.0.1");
    return new Response(null, { status: 204 });
  };

  test.each<[url: string, why: string]>([
    [
      "https://elsewhere.test/?secret",
      "The servlet may not make HTTP requests to elsewhere.test: its manifest does not allow that host. Add it to allowed_hosts in servlet.json.",
    ],
    ["https://down.example/?secret", "The host down.example could not be reached."],
    [
      "/relative",
      "The servlet made an HTTP request with an address that is not a URL. Pass an absolute http or https URL.",
    ],
  ])("%s", async (url, why) => {
    const { result } = await servlet.callTool("caught", { url }, { fetch });
    expect(result.structuredContent).toEqual({ failed: `TypeError: ${why}`, after: 204 });
  });
});

describe("invalid requests are not sent", () => {
  test.each<[tool: string, said: string]>([
    ["aborted", "Error: stopped"],
    ["get_with_body", "TypeError: A request with GET has no body."],
  ])("%s", async (tool, said) => {
    expect(await textOf(tool, {}, {})).toBe(said);
  });
});
