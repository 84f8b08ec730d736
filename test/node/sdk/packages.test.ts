import { expect, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

/** Packages from npm find the platform on `globalThis`. */
const servlet = await loadServlet("test/node/sdk/servlets/packages");

test("ky makes requests, retries them, and says what failed", async () => {
  const arrived: unknown[] = [];
  let isBack = false;
  const { result } = await servlet.callTool(
    "ky",
    {},
    {
      async fetch(request) {
        arrived.push([request.method, request.url, await request.text()]);
        if (request.url.endsWith("away") && !isBack) {
          isBack = true;
          throw new TypeError("network");
        }
        return request.url.endsWith("missing")
          ? new Response("", { status: 503, statusText: "Service Unavailable" })
          : Response.json({ id: 7 });
      },
    },
  );
  expect(result.structuredContent).toEqual({
    made: { id: 7 },
    failed: expect.stringMatching(/^HTTPError: Request failed with status code 503/),
    reached: { id: 7 },
  });
  expect(arrived).toEqual([
    ["POST", "https://api.example/things?b=2+3", '{"a":1}'],
    ["GET", "https://api.example/missing", ""],
    ["GET", "https://api.example/missing", ""],
    ["GET", "https://api.example/away", ""],
    ["GET", "https://api.example/away", ""],
  ]);
});

test("globals are properties of globalThis, as elsewhere", async () => {
  const { result } = await servlet.callTool("globals");
  expect(result.structuredContent).toEqual({
    same: [true, true],
    lacking: [],
  });
});
