import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../workerd.ts";
import { servlets } from "../bundle/commands/running.ts";
import { certificate } from "./certificate.ts";
import { examined, lineOf } from "./examining.ts";
import { json, signingIn, smallServer, type Handler } from "./small-server.ts";

/** `npm run servlets -- doctor` against servers of which each has one fault. */

const PATIENT = { listenMs: 60_000, firstMs: 60_000 };

test("a server without faults has none", async () => {
  const found = await examined(`${await smallServer()}/mcp`, { patience: PATIENT });
  expect(found.wrong).toEqual([]);
  expect(found.code).toBe(0);
  expect(found.printed).toMatch(/Nothing is wrong\.$/m);
  expect(lineOf(found, "Call")).toBe("right  Call: The tool read, which only reads, answers.");
  expect(lineOf(found, "Stream of a session")).toContain("and a keep-alive after");
  expect(lineOf(found, "MCP 2026-07-28")).toContain("with 2 tools");
});

describe("a connection", () => {
  test("to a name that does not resolve is said to be so", async () => {
    const found = await examined("https://edge-servlets-doctor.invalid/mcp");
    expect(found.code).toBe(1);
    expect(found.wrong).toEqual([expect.stringMatching(/DNS: .*edge-servlets-doctor\.invalid/)]);
    expect(found.lines.at(-1)).toMatch(/^not tried +Everything else/);
  });

  test("to a port where nothing listens is said to be so, once", async () => {
    const found = await examined(`http://127.0.0.1:${await freePort()}`);
    expect(found.wrong).toEqual([
      expect.stringContaining("nothing listens there. Start the server"),
    ]);
  });

  test("to a port that Node refuses is said to be so", async () => {
    expect((await examined("localhost:6000")).wrong).toEqual([
      expect.stringContaining(
        "Answer: http://localhost:6000/mcp: browsers and Node refuse this port",
      ),
    ]);
  });

  test("by https to a server of plain http is told from one that fails", async () => {
    const origin = await smallServer();
    const found = await examined(origin.replace("http:", "https:"));
    expect(found.wrong).toEqual([
      expect.stringContaining("speaks no TLS. Give the URL with http://"),
    ]);
  });

  test("shows a certificate that clients refuse", async () => {
    const found = await examined(await smallServer(undefined, certificate));
    expect(found.wrong).toEqual([expect.stringContaining("is self-signed, which clients refuse")]);
  });

  test("shows for how long a certificate is valid", async () => {
    const before = getCACertificates();
    setDefaultCACertificates([...before, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const origin = await smallServer(undefined, certificate);
    const found = await examined(origin, { patience: PATIENT });
    expect(lineOf(found, "TLS")).toMatch(
      /^right {2}TLS: The certificate is for localhost, and valid for \d{5} more days\.$/,
    );
    expect(found.wrong).toEqual([]);
  });

  test("that leads elsewhere is told, and not followed", async () => {
    const origin = await smallServer((_request, response) =>
      response.writeHead(308, { location: "https://elsewhere.example/mcp?secret=1" }).end(),
    );
    const found = await examined(origin);
    expect(found.wrong).toEqual([
      expect.stringContaining("The URL leads to https://elsewhere.example/mcp?…. Many clients"),
    ]);
  });

  test("that Cloudflare Access keeps to itself is said to be so", async () => {
    const location = "https://team.cloudflareaccess.com/cdn-cgi/access/login/x";
    const origin = await smallServer((_request, response) =>
      response.writeHead(302, { location }).end(),
    );
    expect((await examined(origin)).wrong).toEqual([expect.stringContaining("action Bypass")]);
  });

  test("is wrong where a slash at the end leads elsewhere", async () => {
    const origin = await smallServer(({ url }, response) =>
      url === "/mcp/" ? response.writeHead(307, { location: "/mcp" }).end() : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([expect.stringMatching(/Slash: \/mcp\/ leads to .*\/mcp,/)]);
  });

  test.each([
    [-95_000, /clock is 9\d s behind/],
    [3_600_000, /clock is 3(59\d|600) s ahead of/],
  ])("shows a clock that differs by %d ms", async (ms, expected) => {
    const origin = await smallServer((_request, response) => {
      response.setHeader("date", new Date(Date.now() + ms).toUTCString());
      return false;
    });
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([expect.stringMatching(expected)]);
    expect(found.wrong[0]).toContain("NTP");
  });
});

describe("an endpoint", () => {
  test.each([
    [404, {}, "There is no MCP endpoint at this URL"],
    [421, { error: { message: "Not this host" } }, 'It says "Not this host"'],
    [503, {}, "See the server's log"],
  ])("that answers with %d is said to be so, with what to do", async (status, body, expected) => {
    const origin = await smallServer(({ url }, response) =>
      url === "/mcp" ? json(response, body, status) : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(lineOf(found, "Endpoint")).toMatch(/^wrong/);
    expect(lineOf(found, "Endpoint")).toContain(expected);
    expect(lineOf(found, "Calls")).toMatch(/^not tried/);
  });

  test("whose tool fails is said to be so", async () => {
    const origin = await smallServer((_request, response, body) => {
      if (!body.includes("tools/call")) return false;
      const { id } = JSON.parse(body) as { id: string };
      const content = [{ type: "text", text: "no\nvariable" }];
      return json(response, { jsonrpc: "2.0", id, result: { isError: true, content } });
    });
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([
      expect.stringContaining('Call: The tool read ends with the error "no variable"'),
    ]);
  });

  test("never has its key or query printed, even if the server repeats them", async () => {
    const key = "esk_very-secret";
    const origin = await smallServer((request, response) => {
      const asked = new URL(request.url!, "http://localhost").searchParams.get("token");
      const words = `${String(request.headers.authorization)} ${request.url} ${asked}`;
      return request.method === "POST" ? json(response, { error: words }, 403) : false;
    });
    for (const given of [{ key }, { args: ["--key", key] }]) {
      const { printed } = await examined(`${origin}/mcp?token=hidden`, given);
      expect(printed).toContain("It says");
      expect(printed).not.toMatch(/secret|hidden/);
    }
  });
});

test("a server that tells nonsense of itself is examined to the end", async () => {
  const odd: Handler = ({ url }, response, body) => {
    if (url === "/operator/setup") return json(response, { publicUrl: "nonsense", lacking: [] });
    if (!body.includes('"initialize"')) return false;
    const { id } = JSON.parse(body) as { id: string };
    return json(response, { jsonrpc: "2.0", id, result: { protocolVersion: { toString: 1 } } });
  };
  const found = await examined(await smallServer(odd), { patience: PATIENT });
  expect(lineOf(found, "Public URL")).toMatch(/^wrong.*PUBLIC_URL is nonsense/);
  expect(lineOf(found, "Call")).toMatch(/^right/);
});

test("a proxy that asks for a password is said to be so", async () => {
  const origin = await signingIn({ challenge: 'Basic realm="x"' });
  expect(lineOf(await examined(origin), "Endpoint")).toMatch(/^wrong.*Let this path pass without/);
});

describe("sign-in", () => {
  test("that is as it should be has no faults, and leaves no clients", async () => {
    const deleted: string[] = [];
    const found = await examined(await signingIn({ deleted }));
    expect(found.wrong).toEqual([]);
    expect(deleted).toEqual(Array.from({ length: 5 }, () => "Bearer t"));
    expect(lineOf(found, "Cursor")).toContain("cursor://anysphere.cursor-mcp/oauth/callback");
  });

  test("cannot have this command delete something at another server", async () => {
    const [sent, deleted] = [[] as unknown[], [] as string[]];
    const deletesAt = await smallServer(({ method, url }, response) => {
      sent.push([method, url]);
      return response.end();
    });
    const found = await examined(await signingIn({ deleted, deletesAt }));
    expect(lineOf(found, "Registered clients")).toContain("stay until they expire");
    expect(sent).toEqual([]);
  });

  test.each([
    [
      "resource",
      { resource: { resource: "https://old.example/mcp" } },
      'is for "https://old.example/mcp"',
    ],
    ["header", { challenge: "Bearer" }, "WWW-Authenticate: The refusal (status 401) has no"],
    ["way to it", { resource: { authorization_servers: [] } }, "names no authorization_servers"],
    [
      "PKCE",
      { metadata: { code_challenge_methods_supported: ["plain"] } },
      "PKCE: code_challenge_methods_supported has no S256",
    ],
    [
      "issuer",
      { metadata: { issuer: "https://other.example" } },
      'is "https://other.example", and http',
    ],
    [
      "endpoint",
      { metadata: { token_endpoint: "http://login.example/token" } },
      "which is not an https URL",
    ],
    [
      "registration",
      { metadata: { registration_endpoint: undefined } },
      "can neither register nor name themselves",
    ],
    [
      "redirect address",
      { takes: (one: string) => !one.startsWith("cursor:") },
      'Cursor: It cannot register (status 400). It says "invalid_redirect_uri". Allow its redirect addresses',
    ],
  ])("with a fault of its %s is said to be so", async (_what, fault, expected) => {
    const found = await examined(await signingIn(fault));
    expect(found.code).toBe(1);
    expect(found.wrong.join("\n")).toContain(expected);
  });

  test.each([401, 404, 502])("whose registration answers with %d is said once", async (status) => {
    const found = await examined(await signingIn({ registers: status }));
    expect(found.wrong).toEqual([
      expect.stringContaining(`Registration: No client can register (status ${status})`),
    ]);
  });

  test("that counts registrations is not tried further", async () => {
    const found = await examined(await signingIn({ registers: 429 }));
    expect(found.wrong).toEqual([]);
    expect(lineOf(found, "Registration")).toMatch(/^not tried.*Try again in an hour/);
  });

  test("that shows its page for an address that nobody has registered is said to be so", async () => {
    const page: Handler = (_request, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("Allow?");
    const found = await examined(await signingIn({ page }));
    expect(found.wrong).toEqual([
      expect.stringMatching(/Foreign address: .* so codes can be stolen/),
    ]);
  });

  test("that leads to any address is said to be so", async () => {
    const page: Handler = ({ url = "" }, response) => {
      const back = new URL(url, "http://localhost").searchParams.get("redirect_uri");
      return response.writeHead(302, { location: `${back}?error=unready` }).end();
    };
    const found = await examined(await signingIn({ page }));
    expect(lineOf(found, "Foreign address")).toMatch(/^wrong.*so codes can be stolen/);
    expect(lineOf(found, "ChatGPT")).toMatch(/^wrong.*leads back with the error "unready"/);
  });

  test("follows the pages of the authorization server with their cookies", async () => {
    const found = await examined(
      await signingIn({
        page: ({ url = "", headers }, response) => {
          const isForeign = url.includes("invalid");
          if (headers.cookie === "step=2")
            return response.writeHead(200, { "content-type": "text/html" }).end("Sign in");
          const location = `${url.replace(/&again.*/, "")}&again`;
          return isForeign
            ? response.writeHead(400).end()
            : response.writeHead(302, { location, "set-cookie": "step=2; Path=/" }).end();
        },
      }),
    );
    expect(found.wrong).toEqual([]);
  });

  test("is not needed where keys alone are taken, which is said plainly", async () => {
    const origin = await smallServer(({ url }, response) =>
      url === "/mcp" || url === "/mcp/" ? json(response, {}, 401) : false,
    );
    const found = await examined(origin);
    expect(lineOf(found, "Sign-in")).toMatch(/^not tried.*takes keys alone/);
    expect(found.wrong).toEqual([]);
  });
});

describe("a client whose user agent is refused", () => {
  test("without an answer is named, too", async () => {
    const origin = await smallServer((request) =>
      request.headers["user-agent"]?.startsWith("curl") ? request.socket.destroy() : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([expect.stringContaining("User agent of curl:")]);
  });

  test.each([
    [
      { "cf-mitigated": "challenge", server: "cloudflare" },
      "",
      "challenges it, which no program can pass",
    ],
    [{ server: "cloudflare" }, "error code: 1010", "Browser Integrity Check (error 1010)"],
    [{ server: "cloudflare" }, "error code: 1020", "WAF custom rules"],
    [{ server: "cloudflare" }, "", "Block AI bots"],
    [{}, "", "Look for a rule of the server, its proxy or firewall"],
  ])("is named, with the rule to look at: %j %s", async (headers, text, expected) => {
    const origin = await smallServer((request, response) =>
      /Claude-User|python/.test(request.headers["user-agent"] ?? "")
        ? response.writeHead(403, headers as Record<string, string>).end(text)
        : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([
      expect.stringContaining("User agent of Claude:"),
      expect.stringContaining("User agent of Python (httpx):"),
    ]);
    for (const line of found.wrong) expect(line).toContain(expected);
    expect(lineOf(found, "User agents")).toMatch(/^right.*ChatGPT.*curl/);
  });
});

describe("a stream", () => {
  const NEVER = { listenMs: 20, firstMs: 20 };
  const isStream = (request: { method?: string | undefined }, body: string) =>
    request.method === "GET" || body.includes("subscriptions/listen");
  const HEAD = { "content-type": "text/event-stream" };

  test.each([
    ["all of it", () => undefined],
    [
      "what is written into it",
      (response: ServerResponse) => response.writeHead(200, HEAD).flushHeaders(),
    ],
  ])("of which a proxy keeps back %s is said to be so", async (_what, answer) => {
    const origin = await smallServer((request, response, body) =>
      request.url === "/mcp" && isStream(request, body) ? answer(response) : false,
    );
    const found = await examined(origin, { patience: NEVER });
    expect(found.wrong).toHaveLength(2);
    for (const line of found.wrong)
      expect(line).toMatch(/keeps (it|the stream) back.*proxy_buffering off/);
  });

  test("that is cut off is said to be so", async () => {
    const origin = await smallServer((request, response, body) =>
      request.url === "/mcp" && isStream(request, body)
        ? response.writeHead(200, HEAD).end("data: {}\n\n")
        : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toHaveLength(2);
    for (const line of found.wrong) expect(line).toContain("proxy_read_timeout");
  });

  test("that fails is said to be so", async () => {
    const origin = await smallServer((request, response, body) =>
      request.url === "/mcp" && isStream(request, body) ? json(response, {}, 502) : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([
      expect.stringContaining("It fails with status 502"),
      expect.stringContaining("It fails with status 502"),
    ]);
  });

  test("that the server does not offer is no fault", async () => {
    const origin = await smallServer((request, response) =>
      request.url === "/mcp" && request.method === "GET" ? json(response, {}, 405) : false,
    );
    const found = await examined(origin, { patience: PATIENT });
    expect(found.wrong).toEqual([]);
    expect(lineOf(found, "Stream of a session")).toMatch(/^not tried.*status 405/);
  });
});

test.each([
  [["ftp://example.com"], /is not the URL of a server/],
  [["https://ada:secret@example.com"], /has a user name or password/],
  [["https://example.com", "--key", "two words"], /^The key has spaces(?!.*two)/s],
  [[], /^Give the server's URL\..*doctor URL/s],
  [["https://example.com", "more"], /^Unexpected argument: more\./],
])("%j is refused in words", async (args, expected) => {
  const { code, stderr } = await servlets(["doctor", ...args]);
  expect(code).toBe(1);
  expect(stderr).toMatch(expected);
});

test.each([
  ["tools.invalid", "https://tools.invalid/mcp (https and the path /mcp assumed; without a key)"],
  ["https://tools.invalid/sse", "https://tools.invalid/sse (without a key)"],
])("%s is read as people mean it", async (given, expected) => {
  expect((await examined(given)).printed).toContain(expected);
});
