import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { cases } from "./servlets/web/cases.ts";

/** Classes of the web platform that are made when they are first used: Blob, forms, events, streams, ciphers, encodings. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/web");
});

test.each(Object.keys(cases))("%s, as in Node", async (name) => {
  const { result, logs } = await servlet.callTool("run", { name });
  expect(logs).toEqual([]);
  // As JSON, for what is undefined here is absent there.
  const made: unknown = JSON.parse(JSON.stringify((await cases[name]!()) ?? null));
  expect(result).toMatchObject({ structuredContent: { made } });
});

test("a decoder of an old encoding works while the servlet is built, and after", async () => {
  const { result } = await servlet.callTool("early");
  expect(result.content).toEqual([{ type: "text", text: "é€é" }]);
});

test("classes that cannot work say why, and packages do not prefer them to fetch", async () => {
  const { result } = await servlet.callTool("absent");
  const { said, ...rest } = result.structuredContent as { said: string[] };
  expect(said).toEqual([
    expect.stringMatching(
      /^NotSupportedError: There is no WebSocket in a servlet: .*allowed_hosts/,
    ),
    expect.stringMatching(/There is no XMLHttpRequest in a servlet: use fetch/),
    expect.stringMatching(/There is no Worker in a servlet: it has one thread/),
    expect.stringMatching(/There is no SharedWorker in a servlet: it has one thread/),
    expect.stringMatching(/There is no EventSource in a servlet: .*use fetch/),
    expect.stringMatching(/There is no WebSocket in a servlet/),
  ]);
  expect(rest).toEqual({
    found: ["undefined", "undefined", "undefined", "function"],
    there: true,
    open: 1,
  });
});

test("crypto.subtle says what it does not have", async () => {
  const { result } = await servlet.callTool("unsupported");
  const { said } = result.structuredContent as { said: string[] };
  expect(said).toEqual(
    ['hash "MD5"', 'algorithm "RSASSA-PKCS1-V1_5"', 'import of keys as "pkcs8"', "deriveBits"].map(
      (what) =>
        expect.stringContaining(
          `NotSupportedError: crypto.subtle has no ${what} in a servlet: it has digest, HMAC and AES-GCM`,
        ),
    ),
  );
});

test("a response that can have no body has none", async () => {
  const fetch = () => new Response(null, { status: 204 });
  const { result } = await servlet.callTool("no_content", {}, { fetch });
  expect(result.structuredContent).toEqual({ status: 204, body: null });
});

describe("what the host does with bytes is paid for by the byte", () => {
  test.each(["digest", "decode"])("%s without end is stopped", async (what) => {
    const { result } = await servlet.callTool("huge", { what, bytes: 1 << 20 });
    expect(result).toEqual({
      content: [{ type: "text", text: "The servlet computed for too long and was stopped." }],
      isError: true,
    });
  });

  test.each(["digest", "decode"])("%s of too much at once is refused", async (what) => {
    const { result } = await servlet.callTool("huge", { what, bytes: 24 << 20, times: 0 });
    expect(result.content).toEqual([
      { type: "text", text: expect.stringMatching(/^The data given to \w+ is too large: 24 MiB/) },
    ]);
  });
});
