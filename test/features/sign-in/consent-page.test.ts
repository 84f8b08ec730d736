import { beforeAll, describe, expect, test, vi } from "vitest";
import { CALLBACK, ownersApp, visitor, type App } from "../../worker/auth/owner.ts";

/** The page where the owner lets a client in. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

describe("the page", () => {
  test("says who wants to come in, where that leads, and what it may do", async () => {
    const { register, authorizePath, open } = visitor(app);
    const { response, text } = await open(await authorizePath(await register()));
    expect(response.status).toBe(200);
    expect(text).toContain("<bdi>Claude</bdi>");
    expect(text).toContain("<strong>claude.ai</strong>");
    expect(text).toContain("which nobody has checked");
    expect(text).toContain("every tool, resource and prompt");
    expect(text).toContain('name="viewport"');
  });

  test("says in words what its scopes grant, and whose server this is", async () => {
    const scoped = await ownersApp({
      SCOPES: JSON.stringify({ reader: ["http-status:*", "notes:list_*"] }),
      SERVER_ICONS: JSON.stringify([{ src: "https://tools.example/icon.png" }]),
    });
    const { register, authorizePath, open } = visitor(scoped);
    const asked = { scope: "reader operator" };
    const { response, text } = await open(await authorizePath(await register(), asked));
    expect(text).toContain("use everything in http-status; list_* in notes");
    expect(text).toContain("what the server lets operators do");
    expect(text).toContain('<img class="icon" src="https://tools.example/icon.png"');
    expect(text).toMatch(/at\s+https:\/\//);
    expect(response.headers.get("content-security-policy")).toContain(
      "img-src https://tools.example",
    );
  });

  test("has a user name for password managers, and its errors are read out", async () => {
    const { register, authorizePath, open } = visitor(app);
    const { text } = await open(await authorizePath(await register()));
    expect(text).toMatch(/name="username"\s+autocomplete="username"\s+value="owner"/);
  });

  test("has no script, is in no frame, and sends nothing elsewhere", async () => {
    const { register, authorizePath, open } = visitor(app);
    const { response } = await open(await authorizePath(await register()));
    const policy = response.headers.get("content-security-policy");
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'nonce-[^']+'; form-action 'self' https: /,
    );
    expect(policy).toContain("frame-ancestors 'none'; base-uri 'none'");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("set-cookie")).toMatch(/^__Host-.*Secure; HttpOnly; SameSite=Lax/);
  });

  test("shows what a client says of itself as text", async () => {
    const { register, authorizePath, open } = visitor(app);
    const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
    const { text } = await open(await authorizePath(await register({ client_name: evil })));
    expect(text.replaceAll('<img class="icon"', "")).not.toMatch(/<script|<img/);
    expect(text).toContain("&lt;script&gt;");
  });

  test("shows its characters, and obeys none of them", async () => {
    const { register, authorizePath, open } = visitor(app);
    const client = await register({ client_name: "Claude\u202e\u2066\u200b\u001b\u0085 gnp" });
    const { text } = await open(await authorizePath(client));
    expect(text).toContain("<bdi>Claude\\u{202e}\\u{2066}\\u{200b}\\u{1b}\\u{85} gnp</bdi>");
    const wrong = await open(await authorizePath(client, { response_type: "to\u202eken" }));
    expect(wrong.response.status).toBe(400);
    expect(text + wrong.text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  test("warns of programs on one's own device", async () => {
    const { register, authorizePath, open } = visitor(app);
    const redirect_uri = "http://127.0.0.1:33418/callback";
    const client = await register({ redirect_uris: [redirect_uri] });
    const { text, response } = await open(await authorizePath(client, { redirect_uri }));
    expect(text).toContain("a program on your own device");
    expect(response.headers.get("content-security-policy")).toContain("http://127.0.0.1:33418");
  });

  test.each(["cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/oauth"])(
    "leads to an app's own scheme, %s, and says that an app is there",
    async (redirect_uri) => {
      const scheme = new URL(redirect_uri).protocol;
      const { register, authorizePath, open, agree, tokens, verifier } = visitor(app);
      const client_id = await register({ redirect_uris: [redirect_uri] });
      const path = await authorizePath(client_id, { redirect_uri });
      const { text, response } = await open(path);
      expect(text).toContain(`You will be sent to <strong>${scheme}</strong>`);
      expect(text.replaceAll(/\s+/g, " ")).toContain(
        `the app on your own device that opens links with <code>${scheme}</code>`,
      );
      const policy = response.headers.get("content-security-policy");
      expect(policy).toMatch(new RegExp(`form-action[^;]* ${scheme}(;|$)`));
      const back = new URL((await agree(path)).headers.get("location") ?? "");
      expect(back.href.startsWith(`${redirect_uri}?code=`)).toBe(true);
      const code = back.searchParams.get("code") ?? "";
      const grant = { grant_type: "authorization_code", code, client_id, redirect_uri };
      expect(await tokens(grant)).toMatchObject({ status: 400 });
      const again = new URL((await agree(path)).headers.get("location") ?? "");
      const fresh = { ...grant, code: again.searchParams.get("code") ?? "" };
      expect(await tokens({ ...fresh, code_verifier: verifier })).toMatchObject({ status: 200 });
      const wrong = await open(
        await authorizePath(client_id, { redirect_uri, code_challenge: undefined }),
      );
      expect(wrong.text).toContain(`>Back to ${scheme}<`);
    },
  );

  test.each([
    "javascript:alert(1)",
    "JavaScript://claude.ai/%0aalert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "blob:https://claude.ai/x",
    "vbscript:x",
    "view-source:https://claude.ai/",
    "search-ms:query=x",
    "ms-msdt:/id",
    "intent://claude.ai/#Intent",
    "microsoft-edge:https://evil.example/",
    "googlechromes://evil.example/",
    "firefox://open-url?url=https://evil.example/",
    "touch-https://evil.example/",
    "x-safari-https://evil.example/",
    "web+app:cb",
    "itms-services://?action=download-manifest",
    "android-app://evil.example/",
    "httpx://claude.ai/",
    "http://claude.ai/cb",
    "ws://claude.ai/cb",
  ])("%s: no app is registered that could receive nothing else", async (redirect_uri) => {
    const { fetch, register, authorizePath, open } = visitor(app);
    const body = JSON.stringify({ client_name: "x", redirect_uris: [redirect_uri] });
    const headers = { "content-type": "application/json" };
    const response = await fetch("/oauth/register", { method: "POST", headers, body });
    expect(response.status).toBe(400);
    const beside = await register({ redirect_uris: [CALLBACK, redirect_uri] });
    const page = await open(
      await authorizePath(beside ?? "none", { redirect_uri, response_type: "token" }),
    );
    expect(page.response.status).toBe(400);
    expect(page.text).not.toMatch(/<a (?!class="(skip|brand)")/);
  });

  test.each<[string, Record<string, string | undefined>]>([
    ["an unknown client", { client_id: "nobody" }],
    ["no client", { client_id: undefined }],
    ["a redirect elsewhere", { redirect_uri: "https://evil.example/" }],
    ["a redirect that begins like the right one", { redirect_uri: `${CALLBACK}.evil.example` }],
  ])("%s: says so, and sends nobody anywhere", async (_name, more) => {
    const { register, authorizePath, open } = visitor(app);
    const { response, text } = await open(await authorizePath(await register(), more));
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(text).toContain("Start again");
  });

  test.each<[string, Record<string, string | undefined>, string]>([
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["PKCE that does not say how", { code_challenge_method: undefined }, "invalid_request"],
    ["a token at once", { response_type: "token" }, "unsupported_response_type"],
    ["another resource", { resource: "https://else.example/mcp" }, "invalid_target"],
  ])(
    "%s: says so, and leads back to the client whoever wants to go",
    async (_name, more, error) => {
      const { register, authorizePath, open } = visitor(app);
      const { response, text } = await open(await authorizePath(await register(), more));
      expect(response.status).toBe(400);
      expect(response.headers.get("location")).toBeNull();
      const [, link = ""] = /<a href="([^"]+)"[^>]*>Back to claude.ai</.exec(text) ?? [];
      const back = new URL(link.replaceAll("&amp;", "&"));
      expect(back.origin + back.pathname).toBe(CALLBACK);
      expect(back.searchParams.get("error")).toBe(error);
    },
  );

  test.each([
    ["http://[::1]:4000/back", " http:"],
    ["https://claude.ai/back", " https://claude.ai"],
    ["https://a;sandbox/back", " https:"],
  ])("may lead on to %s", async (redirect_uri, source) => {
    const { register, authorizePath, open } = visitor(app);
    const client = await register({ redirect_uris: [redirect_uri] });
    const { response } = await open(await authorizePath(client, { redirect_uri }));
    expect(response.headers.get("content-security-policy")).toMatch(
      new RegExp(`form-action[^;]*${source.replaceAll("/", "\\/")}(;|$)`),
    );
  });

  test("a client that is known by its metadata document: its domain is shown", async () => {
    const client_id = "https://chat.example/client.json";
    const document = {
      client_id,
      client_name: "Chat",
      redirect_uris: ["https://chat.example/back"],
    };
    const fetch = vi.spyOn(globalThis, "fetch");
    fetch.mockImplementation(async () => Response.json(document));
    const { authorizePath, open } = visitor(app);
    const path = await authorizePath(client_id, { redirect_uri: "https://chat.example/back" });
    const { text } = await open(path);
    expect(text).toContain("It is an app of <strong>chat.example</strong>");
    fetch.mockImplementation(async () => new Response("", { status: 404 }));
    const { response } = await open(path.replace("client.json", "other.json"));
    expect(response.status).toBe(400);
    fetch.mockRestore();
  });

  test("no PKCE, of a client with a secret: the same", async () => {
    const { register, authorizePath, open } = visitor(app);
    const client = await register({ token_endpoint_auth_method: "client_secret_basic" });
    const none = { code_challenge: undefined, code_challenge_method: undefined };
    const { response } = await open(await authorizePath(client, none));
    expect(response.headers.get("location") ?? "").not.toContain("code=");
    expect([303, 400]).toContain(response.status);
  });
});
