import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Resources and templates: how they are listed, what they give, and the completion of variables. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/sdk/servlets/resources");
});

test("they are listed without their functions", async () => {
  const { resources, resourceTemplates } = await servlet.list();
  expect(resources[0]).toEqual({
    uri: "notes://index",
    name: "index",
    title: "Index",
    description: "All notes",
    mimeType: "text/plain",
    size: 9,
    annotations: { audience: ["user"], priority: 0.5 },
  });
  expect(resourceTemplates).toEqual([
    {
      uriTemplate: "notes://{id}",
      name: "note",
      description: "One note",
      mimeType: "text/x",
    },
    { uriTemplate: "files:///{+path}{?rev,q}", name: "file" },
  ]);
});

describe("the result of reading", () => {
  test.each<[uri: string, contents: object[]]>([
    ["notes://index", [{ uri: "notes://index", mimeType: "text/plain", text: "the index" }]],
    ["notes://bytes", [{ uri: "notes://bytes", blob: "AQID" }]],
    ["notes://one", [{ uri: "notes://one", mimeType: "text/b", text: "t" }]],
    [
      "notes://many",
      [
        { uri: "notes://many/1", mimeType: "text/a", text: "1" },
        { uri: "notes://many", mimeType: "text/a", blob: "CQ==" },
      ],
    ],
    [
      "notes://a%20b",
      [{ uri: "notes://a%20b", mimeType: "text/x", text: "a b of notes://a%20b in test" }],
    ],
    [
      "files:///a/b%20c.txt?q=x%20y&rev=3&z=1",
      [
        {
          uri: "files:///a/b%20c.txt?q=x%20y&rev=3&z=1",
          text: '{"path":"a/b c.txt","q":"x y","rev":"3"}',
        },
      ],
    ],
    ["files:///a", [{ uri: "files:///a", text: '{"path":"a"}' }]],
  ])("%s", async (uri, contents) => {
    expect((await servlet.readResource(uri)).result).toEqual({ contents });
  });

  test("may be a whole result", async () => {
    const { result } = await servlet.readResource("notes://whole");
    expect(result).toEqual({ contents: [{ uri: "notes://whole", text: "w" }], _meta: { a: 1 } });
  });

  test("may be told of on the way", async () => {
    const { result, notifications } = await servlet.readResource("notes://told");
    expect(result).toEqual({ contents: [{ uri: "notes://told", text: "" }] });
    expect(notifications).toEqual([
      { method: "notifications/message", params: { level: "info", data: "read" } },
    ]);
  });
});

test.each<[uri: string, fault: object]>([
  ["notes://throws", { code: "servlet_failed", message: "no read" }],
  ["notes://gone", { code: "not_found", message: "gone", data: { uri: "notes://gone" } }],
  [
    "notes://wrong",
    {
      code: "servlet_failed",
      message: "A resource must return a string, a Uint8Array, or contents with `text` or `blob`.",
    },
  ],
  ["notes://x/y", { code: "not_found", data: { uri: "notes://x/y" } }],
])("%s fails", async (uri, fault) => {
  await expect(servlet.readResource(uri)).rejects.toMatchObject(fault);
});

describe("completion", () => {
  test.each<[uri: string, name: string, settled: Record<string, string>, values: string[]]>([
    ["notes://{id}", "id", {}, ["two"]],
    ["notes://{id}", "id", { other: "1" }, ["two", "other"]],
    ["notes://{id}", "nope", {}, []],
    ["files:///{+path}{?rev,q}", "path", {}, []],
  ])("%s: %s, where %j is settled", async (uri, name, settled, values) => {
    const { result } = await servlet.complete({
      ref: { type: "ref/resource", uri },
      argument: { name, value: "t" },
      context: { arguments: settled },
    });
    expect(result.completion).toEqual({ values });
  });
});
