import { env as bound } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../../src/server/kernel/app.ts";
import { Kernel } from "../../../../src/server/kernel/kernel.ts";
import { RUNS } from "../../../../src/server/kernel/settings/own-names.ts";
import { asOnCloudflare } from "../../../../src/tools/host/platform/front.ts";
import { bundle } from "../../../bundle.gen.ts";

/** The server as `start` runs it, behind a proxy that it trusts unless `trustProxy` says otherwise. */
function hosted(settings: object = {}, trustProxy = true) {
  const env = { ...bound, AUTH: undefined, [RUNS]: "self-hosted", ...settings };
  const front = asOnCloudflare(createApp(new Kernel(bundle, env)));
  const context = { props: { trustProxy } } as unknown as ExecutionContext;
  const fetch = async (request: Request) => front.fetch(request, env as Cloudflare.Env, context);
  const get = (path: string, headers: HeadersInit = {}, at = "http://127.0.0.1:8787") =>
    fetch(new Request(at + path, { headers }));
  /** How the server names its endpoint. */
  const named = async (headers: HeadersInit, at?: string) => {
    const response = await get("/nope", headers, at);
    const text = await response.text();
    return response.status === 404 ? /is (\S+)\/mcp\./.exec(text)?.[1] : [response.status, text];
  };
  return { fetch, get, named };
}

const HOST = "https://mcp.example.com";

describe("behind a trusted proxy that names this machine, a server without PUBLIC_URL has the name", () => {
  test.each<[Record<string, string>, string]>([
    [{ "x-forwarded-host": "mcp.example.com", "x-forwarded-proto": "https" }, HOST],
    [{ "x-forwarded-host": "mcp.example.com" }, HOST],
    [{ "x-forwarded-host": "evil.example, MCP.Example.com:443" }, HOST],
    [{ "x-forwarded-host": "mcp.example.com", "x-forwarded-proto": "http, HTTPS" }, HOST],
    [{ "x-forwarded-host": "mcp.example.com", "x-forwarded-proto": "on" }, HOST],
    [{ "x-forwarded-host": "[2001:DB8::1]:8443" }, "https://[2001:db8::1]:8443"],
    [{ "x-forwarded-host": "bücher.example".normalize() }, "https://xn--bcher-kva.example"],
    [{ forwarded: "host=mcp.example.com;proto=https" }, HOST],
    [{ forwarded: 'For="[2001:db8::7]:4711";Host="mcp.example.com:443"; PROTO=https' }, HOST],
    [{ forwarded: "host=evil.example;proto=http, for=192.0.2.1;host=mcp.example.com" }, HOST],
    [{ forwarded: 'host="a, host=evil.example;", host="[2001:db8::1]"' }, "https://[2001:db8::1]"],
    [{ forwarded: 'host="mcp\\.example.com"' }, HOST],
    [{ forwarded: "host=evil.example, for=192.0.2.1" }, "http://127.0.0.1:8787"],
    [{ forwarded: "host=evil.example", "x-forwarded-host": "mcp.example.com" }, HOST],
    [{ "x-forwarded-proto": "https" }, "https://127.0.0.1:8787"],
    [{ "x-forwarded-proto": "https, nonsense" }, "http://127.0.0.1:8787"],
    [{ "x-forwarded-host": " " }, "http://127.0.0.1:8787"],
    [{ forwarded: ',;=",x' }, "http://127.0.0.1:8787"],
  ])("that %j gives it", async (headers, origin) => {
    expect(await hosted().named(headers)).toBe(origin);
  });
});

test.each(["GET", "HEAD"])("a %s with a body is answered as without", async (method) => {
  const request = new Request(`${HOST}/health`, { method: "POST", body: "{}" });
  // No such request can be made here, and over a network it can.
  Object.defineProperty(request, "method", { value: method });
  expect((await hosted({}, false).fetch(request)).status).not.toBe(500);
});

test("a name that is not one is a 400 that says what to do, and with PUBLIC_URL nothing", async () => {
  for (const host of ["a b", "a@b", "a/b", "a:port", "[::1", "a:99999", "a?b"]) {
    const headers = { "x-forwarded-host": host, "x-forwarded-proto": "https, http" };
    const [status, text] = (await hosted().named(headers)) as [number, string];
    expect(status).toBe(400);
    expect(text).toMatch(/X-Forwarded-Host .*PUBLIC_URL/);
    expect(await hosted({ PUBLIC_URL: HOST }).named(headers)).toBe(HOST);
  }
});

test("no forwarded name is looked at with PUBLIC_URL, without --trust-proxy, or for a host that is not served", async () => {
  const headers = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example" };
  expect(await hosted({ PUBLIC_URL: HOST }).named(headers)).toBe(HOST);
  expect(await hosted({}, false).named(headers)).toBe("http://127.0.0.1:8787");
  const own = { "x-forwarded-host": "localhost", "x-forwarded-proto": "https" };
  expect(await hosted().named(own, "http://evil.example")).toMatchObject({ 0: 421 });
});

test("plain http to a forwarded name is refused, as to any other", async () => {
  const headers = { "x-forwarded-host": "mcp.example.com", "x-forwarded-proto": "http" };
  expect(await hosted().named(headers)).toMatchObject({ 0: 403 });
  const allowed = { ALLOWED_HOSTS: "mcp.example.com" };
  expect(await hosted(allowed).named(headers)).toBe("http://mcp.example.com");
});

test("the log says once which line to add where the names differ", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  try {
    const said = () => warn.mock.calls.flat().filter((line) => /PUBLIC_URL=/.test(String(line)));
    const headers = { "x-forwarded-host": "mcp.example.com" };
    for (const settings of [{}, { PUBLIC_URL: "https://old.example" }]) {
      warn.mockClear();
      const { named } = hosted(settings);
      for (const more of [{}, headers, headers, headers]) await named(more);
      expect(said()).toEqual([expect.stringMatching(/PUBLIC_URL=https:\/\/mcp\.example\.com$/)]);
    }
    warn.mockClear();
    await hosted({ PUBLIC_URL: `${HOST}/` }).named(headers);
    await hosted({}, false).named(headers);
    expect(said()).toEqual([]);
  } finally {
    warn.mockRestore();
  }
});

test("the log says once that headers of a proxy are ignored, and how to trust it", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  try {
    const said = () => warn.mock.calls.flat().filter((line) => /--trust-proxy/.test(String(line)));
    for (const name of ["x-forwarded-host", "x-forwarded-for", "forwarded"]) {
      warn.mockClear();
      const { named } = hosted({}, false);
      for (const headers of [{}, { [name]: "host=a" }, { [name]: "host=a" }]) await named(headers);
      expect(said()).toHaveLength(1);
    }
    warn.mockClear();
    await hosted({}).named({ "x-forwarded-host": "mcp.example.com" });
    expect(said()).toEqual([]);
  } finally {
    warn.mockRestore();
  }
});

test("callers are told apart by the address that the proxy has added, without its port", async () => {
  const seen: (string | null)[] = [];
  const front = asOnCloudflare({
    fetch({ headers }) {
      seen.push(headers.get("cf-connecting-ip"));
      return new Response();
    },
  });
  const context = { props: { trustProxy: true } } as unknown as ExecutionContext;
  const sent: Record<string, string>[] = [
    { "x-forwarded-for": "198.51.100.1, 192.0.2.1" },
    { "x-forwarded-for": "192.0.2.1:40172" },
    { "x-forwarded-for": "2001:db8::1" },
    { "x-forwarded-for": "[2001:db8::1]:40172" },
    { forwarded: 'for=198.51.100.1, for="[2001:db8::1]:40172"' },
    { forwarded: "for=192.0.2.1" },
    { forwarded: "for=_hidden" },
    { forwarded: "for=unknown", "cf-connecting-ip": "192.0.2.66" },
  ];
  for (const headers of sent)
    await front.fetch(new Request("http://127.0.0.1/", { headers }), {} as Cloudflare.Env, context);
  const [v4, v6] = ["192.0.2.1", "2001:db8::1"];
  expect(seen).toEqual([v4, v4, v6, v6, v6, v4, null, null]);
});
