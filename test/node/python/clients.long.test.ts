import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { bundling } from "../bundle/bundling.ts";

/** The HTTP clients that public servers use: they send by the kit's `fetch`. */
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/clients");
});

/** Answers with the request itself; at some paths with something else. */
async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/missing") return new Response("none", { status: 404 });
  if (pathname === "/text") return new Response("no JSON");
  if (pathname === "/lines") return new Response("a\nb\n");
  const { accept: _, "user-agent": __, ...headers } = Object.fromEntries(request.headers);
  const { method, url } = request;
  const cookie = pathname === "/cookie" ? { "set-cookie": "id=1; Path=/" } : undefined;
  return Response.json({ method, url, headers, body: await request.text() }, { headers: cookie });
}

const URL_SENT = "https://api.example.com/items";
const login = "Basic dXNlcjpwYXNz";

test.each<[way: string, result: unknown]>([
  ["with_urlopen", [200, { method: "GET", url: `${URL_SENT}?a=1`, headers: { "x-a": "b" } }]],
  ["posted_by_urlopen", [200, { method: "POST", url: URL_SENT, body: "a=x+y" }]],
  ["failed_by_urlopen", [404, "Not Found", "none"]],
  ["refused_by_urlopen", expect.stringContaining("forbidden.example.com")],
  [
    "connected",
    [200, "application/json", { method: "PUT", url: `${URL_SENT}?b=2`, body: '{"c":3}' }],
  ],
  [
    "got_by_requests",
    [200, true, { url: `${URL_SENT}?q=%C3%A9&n=1&n=2`, headers: { "x-a": "b" } }],
  ],
  [
    "posted_by_requests",
    { body: '{"a":1}', headers: { "content-type": "application/json", authorization: login } },
  ],
  [
    "form_by_requests",
    { body: "a=x", headers: { "content-type": "application/x-www-form-urlencoded" } },
  ],
  ["uploaded_by_requests", 1],
  ["session_of_requests", [null, "id=1", null, `${URL_SENT}?key=k`, "session"]],
  [
    "failed_by_requests",
    ["404 Client Error: Not Found for url: https://api.example.com/missing", 404, "none"],
  ],
  ["refused_by_requests", ["ConnectionError", expect.stringContaining("forbidden.example.com")]],
  ["invalid_by_requests", true],
  ["streamed_by_requests", ["a", "b"]],
  ["got_by_httpx", [200, true, { url: `${URL_SENT}?q=%C3%A9` }]],
  [
    "got_by_client",
    {
      method: "POST",
      url: "https://api.example.com/v1/items",
      headers: { "x-a": "b", "x-b": "c", authorization: login },
      body: '{"a":1}',
    },
  ],
  ["got_by_httpx2", URL_SENT],
  [
    "failed_by_httpx",
    [
      "Client error '404 Not Found' for url 'https://api.example.com/missing'",
      404,
      "https://api.example.com/missing",
    ],
  ],
  ["refused_by_httpx", ["ConnectError", expect.stringContaining("forbidden.example.com"), "GET"]],
  ["streamed_by_httpx", ["a", "b"]],
  ["without_scheme", "refused"],
])("%s", async (way, expected) => {
  const { result } = await servlet.callTool("use", { way }, { fetch: answer });
  const [block] = result.content as { text: string }[];
  expect({ got: result.isError ? block!.text : JSON.parse(block!.text) }).toMatchObject({
    got: expected,
  });
});

describe("when a servlet is built", () => {
  const { bundle } = bundling();
  const SERVLET =
    'from edge_servlets import tool\n@tool\ndef f() -> str:\n  """F"""\n  return "a"\n';

  test("provided clients need no package, and packages of the same name do not replace them", async () => {
    const members = await bundle({
      "servlet.py": `import httpx2, requests\n${SERVLET}assert httpx2.AsyncClient\n`,
      "requirements.txt": "httpx2>=1\nrequests[socks]\nmcp[cli]>=1.2\nfastmcp",
      "vendor/requests/__init__.py": "import ssl",
    });
    expect(members).toMatchObject([{ warnings: [] }]);
  });

  test("there is a warning about a package that needs a module servlets lack", async () => {
    const [member] = await bundle({
      "servlet.py": `import wire\n${SERVLET}`,
      "vendor/wire/__init__.py":
        "def connect():\n  import ssl\n  return ssl.create_default_context()\n",
    });
    expect(member!.warnings).toEqual([
      expect.stringMatching(/wire\/__init__\.py:2: there is no ssl in a servlet/),
    ]);
  });

  test.each(["aiohttp", "redis", "psycopg2-binary"])("%s is refused", async (name) => {
    const made = bundle({ "servlet.py": SERVLET, "requirements.txt": name });
    await expect(made).rejects.toThrow(`there is no ${name} in a servlet, as it needs sockets`);
  });
});
