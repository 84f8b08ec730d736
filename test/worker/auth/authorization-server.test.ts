import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { configureLimits, limits } from "../../../src/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { answerOf } from "../server.ts";
import { CALLBACK, ORIGIN, ownersApp, PASSPHRASE, visitor, type App } from "./owner.ts";

/** The server's own sign-in, in workerd with its storage. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

const principalOf = async (response: Response) => {
  const { result } = await answerOf(response);
  return JSON.parse(result?.["content"][0].text).context.client.principal;
};

describe("a client that has nothing but the URL", () => {
  test("finds its way by the metadata", async () => {
    const { call, fetch } = visitor(app);
    const refused = await call("");
    expect(refused.status).toBe(401);
    const [, address] = /resource_metadata="([^"]+)"/.exec(
      refused.headers.get("www-authenticate")!,
    )!;
    expect(address).toBe(`${ORIGIN}/.well-known/oauth-protected-resource/mcp`);
    const resource = await (await fetch(address!)).json();
    expect(resource).toMatchObject({ resource: `${ORIGIN}/mcp`, authorization_servers: [ORIGIN] });
    const metadata = await fetch("/.well-known/oauth-authorization-server");
    expect(await metadata.json()).toMatchObject({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      registration_endpoint: `${ORIGIN}/oauth/register`,
      code_challenge_methods_supported: ["S256"],
      grant_types_supported: expect.arrayContaining(["refresh_token"]),
      token_endpoint_auth_methods_supported: expect.arrayContaining(["none"]),
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
  });

  test("comes in when the owner agrees, and stays in", async () => {
    const { signIn, call, tokens } = visitor(app);
    const { client, status, access_token, refresh_token, token_type } = await signIn();
    expect({ status, token_type }).toEqual({ status: 200, token_type: "bearer" });
    expect(await principalOf(await call(access_token))).toBe("owner");
    const grant = { grant_type: "refresh_token", refresh_token, client_id: client };
    const next = await tokens({ ...grant, resource: `${ORIGIN}/mcp` });
    expect(next.access_token).not.toBe(access_token);
    expect(await principalOf(await call(next.access_token))).toBe("owner");
  });

  test("is sent away when the owner does not", async () => {
    const { register, authorizePath, open, form } = visitor(app);
    const path = await authorizePath(await register());
    const { handle } = await open(path);
    const back = await form(path, { handle, decision: "deny" });
    expect(back.status).toBe(303);
    const { searchParams } = new URL(back.headers.get("location")!);
    expect(Object.fromEntries(searchParams)).toMatchObject({ error: "access_denied", state: "s1" });
  });
});

describe("the passphrase", () => {
  test("a wrong one: the page again, and then the right one", async () => {
    const { register, authorizePath, open, form } = visitor(app);
    const path = await authorizePath(await register());
    const { handle } = await open(path);
    const again = await form(path, { handle, decision: "allow", passphrase: "wrong" });
    expect(again.status).toBe(403);
    const text = await again.text();
    expect(text).toContain("Wrong passphrase.");
    const next = /name="handle" value="([^"]+)"/.exec(text)![1]!;
    const back = await form(path, {
      handle: next,
      decision: "allow",
      passphrase: ` ${PASSPHRASE} `,
    });
    expect(new URL(back.headers.get("location")!).searchParams.get("code")).toBeTruthy();
  });

  test("wrong ones are counted, though they come at once, and the right one is then of no use", async () => {
    const guest = visitor(app);
    const path = await guest.authorizePath(await guest.register());
    const { handle } = await guest.open(path);
    const guess = (passphrase: string) =>
      guest.form(path, { handle, decision: "allow", passphrase });
    const many = Array.from({ length: 2 * limits.wrongPassphrases }, () => guess("wrong"));
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 403)).toHaveLength(limits.wrongPassphrases);
    expect(statuses.filter((status) => status === 429)).toHaveLength(limits.wrongPassphrases);
    expect((await guess(PASSPHRASE)).status).toBe(429);
    expect((await visitor(app).signIn()).status).toBe(200);
  });

  test("another one: all that was granted is over", async () => {
    const guest = visitor(app);
    const { access_token, refresh_token, client } = await guest.signIn();
    const changed = visitor(await ownersApp());
    expect((await changed.call(access_token)).status).toBe(401);
    const grant = { grant_type: "refresh_token", refresh_token, client_id: client };
    expect(await changed.tokens(grant)).toMatchObject({ status: 400, error: "invalid_grant" });
  });
});

test("one app on two devices stays connected on both", async () => {
  const visit = visitor(app);
  const first = await visit.signIn();
  const path = await visit.authorizePath(first.client);
  const code = new URL((await visit.agree(path)).headers.get("location")!).searchParams.get(
    "code",
  )!;
  const grant = { grant_type: "authorization_code", code, code_verifier: visit.verifier };
  const second = await visit.tokens({ ...grant, client_id: first.client, redirect_uri: CALLBACK });
  for (const { access_token } of [first, second]) {
    expect(await principalOf(await visit.call(access_token))).toBe("owner");
  }
});

describe("requests that are refused", () => {
  test.each<[string, (visit: ReturnType<typeof visitor>) => Promise<Response>]>([
    [
      "a form without a page",
      async ({ form, authorizePath, register }) =>
        form(await authorizePath(await register()), {
          handle: "made-up",
          decision: "allow",
          passphrase: PASSPHRASE,
        }),
    ],
    [
      "a page of another browser",
      async ({ form, authorizePath, register }) => {
        const other = visitor(app);
        const path = await authorizePath(await register());
        const { handle } = await other.open(path);
        return form(path, { handle, decision: "allow", passphrase: PASSPHRASE });
      },
    ],
    [
      "a page that was used",
      async ({ open, form, authorizePath, register }) => {
        const path = await authorizePath(await register());
        const { handle } = await open(path);
        const fields = { handle, decision: "allow", passphrase: PASSPHRASE };
        await form(path, fields);
        return form(path, fields);
      },
    ],
  ])("%s: 400", async (_name, go) => {
    const response = await go(visitor(app));
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
  });

  test("a form of another site: 403", async () => {
    const { form, authorizePath, register } = visitor(app);
    const path = await authorizePath(await register());
    const response = await form(path, { decision: "allow" }, { origin: "https://evil.example" });
    expect(response.status).toBe(403);
  });

  test("a form that is too large, or none: 413, 415", async () => {
    const { form, fetch } = visitor(app);
    expect((await form("/authorize", { passphrase: "x".repeat(20_000) })).status).toBe(413);
    const none = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    expect((await fetch("/authorize", none)).status).toBe(415);
  });

  test.each(["owner:x:y", "a:b:c", "owner:x", "::", "x"])("the token %s: 401", async (token) => {
    expect((await visitor(app).call(token)).status).toBe(401);
  });

  test("a token for another host name of the same Worker: 401", async () => {
    const { signIn, call } = visitor(app);
    const { access_token } = await signIn();
    expect((await call(access_token, "https://other.example/mcp")).status).toBe(401);
  });

  test("a code with another verifier: 400", async () => {
    const { register, authorizePath, agree, tokens } = visitor(app);
    const client_id = await register();
    const back = await agree(await authorizePath(client_id));
    const code = new URL(back.headers.get("location")!).searchParams.get("code")!;
    const grant = { grant_type: "authorization_code", code, code_verifier: "x".repeat(43) };
    const answer = await tokens({ ...grant, client_id, redirect_uri: CALLBACK });
    expect(answer).toMatchObject({ status: 400, error: "invalid_grant" });
  });

  test("wrong passphrases of many addresses are counted too, until the hour is over", async () => {
    const { wrongPassphrases, wrongPassphrasesOfAll } = limits;
    configureLimits({ wrongPassphrases: 2, wrongPassphrasesOfAll: 3 });
    vi.setSystemTime(Date.now() + 2 * limits.attemptsMs); // Whatever was tried before.
    try {
      const statuses = [];
      for (const last of [1, 1, 1, 2, 3, 4]) {
        const { register, authorizePath, agree } = visitor(app, `2001:db8::${last}:0:0:1`);
        const path = await authorizePath(await register());
        statuses.push((await agree(path, "wrong wrong wrong")).status);
      }
      // All of a /64 are one.
      expect(statuses).toEqual([403, 403, 429, 429, 429, 429]);
      const other = visitor(app, "192.0.2.250");
      const path = await other.authorizePath(await other.register());
      expect((await other.agree(path, "wrong wrong wrong")).status).toBe(403);
      const late = await other.agree(path);
      expect(late.status).toBe(429);
      expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(3000);
      expect(await late.text()).toMatch(/Retry in \d+ minutes/);
      vi.setSystemTime(Date.now() + limits.attemptsMs + 1000);
      expect((await other.agree(path)).status).toBe(303);
    } finally {
      vi.useRealTimers();
      configureLimits({ wrongPassphrases, wrongPassphrasesOfAll });
    }
  });

  test("clients that register without end: 429", async () => {
    const { fetch } = visitor(app);
    const register = () =>
      fetch("/oauth/register", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ redirect_uris: [CALLBACK] }),
      });
    const all = await Promise.all(Array.from({ length: limits.registrations + 5 }, register));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(limits.registrations);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(5);
  });
});

describe("scopes", () => {
  const SCOPES = JSON.stringify({ reader: ["http-status:*"], echo: ["probe:*"] });

  test("a client that asks for none may do everything", async () => {
    const visit = visitor(await ownersApp({ SCOPES }));
    const { access_token } = await visit.signIn({ scope: "" });
    expect(await principalOf(await visit.call(access_token))).toBe("owner");
  });

  test.each(["openid root", "mcp:tools constructor", "read*r"])(
    "one that asks only for unknown ones is offered nothing: %s",
    async (scope) => {
      const { register, authorizePath, open } = visitor(await ownersApp({ SCOPES }));
      const { response, text, handle } = await open(
        await authorizePath(await register(), { scope }),
      );
      expect({ status: response.status, handle }).toEqual({ status: 400, handle: "" });
      expect(text).toContain("reader, echo");
      const [, link = ""] = /<a href="([^"]+)"/.exec(text) ?? [];
      const { searchParams } = new URL(link.replaceAll("&amp;", "&"));
      expect(searchParams.get("error")).toBe("invalid_scope");
    },
  );

  test("those that there are stand in the metadata", async () => {
    const { fetch } = visitor(await ownersApp({ SCOPES }));
    for (const path of ["oauth-authorization-server", "oauth-protected-resource/mcp"]) {
      const metadata = await (await fetch(`/.well-known/${path}`)).json();
      expect(metadata).toMatchObject({ scopes_supported: ["reader", "echo"] });
    }
  });

  test("one that asks for some may do that, whatever it asks for later", async () => {
    const visit = visitor(await ownersApp({ SCOPES }));
    const { access_token, refresh_token, client, scope } = await visit.signIn({
      scope: "reader x",
    });
    expect(scope).toBe("reader");
    const refused = await visit.call(access_token);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toMatch(/error="insufficient_scope".*scope="/);
    const grant = { grant_type: "refresh_token", refresh_token, client_id: client };
    const later = await visit.tokens({ ...grant, scope: "nothing echo" });
    expect(later).toMatchObject({ status: 400, error: "invalid_scope" });
  });

  test("operator is for clients that ask for it, and the owner is told what it means", async () => {
    const visit = visitor(await ownersApp({ SCOPES }));
    const show = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await visit.fetch("/operator/state/counting", { headers })).status;
    };
    const everything = await visit.signIn({ scope: "" });
    expect(await show(everything.access_token)).toBe(403);
    const { text } = await visit.open(
      await visit.authorizePath(await visit.register(), { scope: "operator" }),
    );
    expect(text).toContain("see, replace and delete what servlets keep");
    const operator = await visit.signIn({ scope: "operator" });
    expect(operator.scope).toBe("operator");
    expect(await show(operator.access_token)).toBe(200);
  });

  test.each(["mcp:tools", "openid profile"])(
    "one that asks only for unknown ones is offered nothing, where none are configured: %s",
    async (scope) => {
      const { register, authorizePath, open } = visitor(app);
      const { response, text, handle } = await open(
        await authorizePath(await register(), { scope }),
      );
      expect({ status: response.status, handle }).toEqual({ status: 400, handle: "" });
      expect(text).toContain("unknown scopes only. Known are patterns such as SERVLET:TOOL");
    },
  );

  test.each([SCOPES, "{}", undefined])("a pattern, where SCOPES is %s", async (configured) => {
    const visit = visitor(await ownersApp({ SCOPES: configured }));
    const { access_token, scope } = await visit.signIn({ scope: "hello:*" });
    expect(scope).toBe("hello:*");
    expect((await visit.call(access_token)).status).toBe(403);
  });
});

describe("where it is not configured", () => {
  test.each(["/authorize", "/oauth/token", "/.well-known/oauth-authorization-server"])(
    "%s: 404",
    async (path) => {
      const plain = createApp(bundle, env);
      expect((await plain.fetch(new Request(new URL(path, ORIGIN)))).status).toBe(404);
    },
  );

  test.each([
    [{ OAUTH_KV: undefined }, /OAUTH_KV/],
    [{ ATTEMPTS: undefined }, /ATTEMPTS/],
    [{ OWNER_PASSPHRASE: PASSPHRASE }, /npm run passphrase/],
    [{ OWNER_PASSPHRASE: `pbkdf2$100001$${"A".repeat(22)}==$${"A".repeat(43)}=` }, /100000/],
  ])("half of it is an error at start: %o", async (more, message) => {
    await expect(ownersApp(more)).rejects.toThrow(message);
    await expect(ownersApp(more)).rejects.not.toThrow(PASSPHRASE);
  });

  test("plain http to a name that is not loopback: 403", async () => {
    const open = await ownersApp({ ALLOWED_HOSTS: "lan.example" });
    expect((await open.fetch(new Request("http://lan.example/authorize"))).status).toBe(403);
  });
});
