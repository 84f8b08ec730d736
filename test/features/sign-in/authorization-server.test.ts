import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  CALLBACK,
  ORIGIN,
  ownersApp,
  PASSPHRASE,
  principalOf,
  visitor,
  type App,
} from "../../worker/auth/owner.ts";

/** The server's own sign-in, in workerd with its storage. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

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

  test.each([
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/oauth-authorization-server/mcp/",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
    "/mcp/.well-known/oauth-authorization-server",
  ])("finds the same metadata at %s", async (path) => {
    const { fetch } = visitor(app);
    const metadata = async (at: string) => (await fetch(at)).json();
    expect(await metadata(path)).toEqual(await metadata("/.well-known/oauth-authorization-server"));
  });

  test.each([
    [`${ORIGIN}/mcp/`, `${ORIGIN}/mcp`],
    [`${ORIGIN}/mcp`, `${ORIGIN}/mcp/`],
    [ORIGIN, `${ORIGIN}/`],
    [`${ORIGIN.toUpperCase()}/mcp`, `${ORIGIN}:443/mcp/`],
    [`${ORIGIN}/mcp?`, `${ORIGIN}/%6dcp`],
    [`${ORIGIN}/mcp?v=2`, `${ORIGIN}/mcp?v=3&w`],
  ])("names the endpoint by any of its URLs: %s, then %s", async (resource, other) => {
    const { register, authorizePath, agree, tokens, call, verifier } = visitor(app);
    const client_id = await register();
    const back = await agree(await authorizePath(client_id, { resource }));
    const code = new URL(back.headers.get("location")!).searchParams.get("code")!;
    const grant = { grant_type: "authorization_code", code, code_verifier: verifier };
    const given = await tokens({ ...grant, client_id, redirect_uri: CALLBACK, resource: other });
    expect(given.status).toBe(200);
    for (const path of ["/mcp", "/mcp/", "/mcp?v=2"])
      expect((await call(given.access_token, path)).status).toBe(200);
    const { refresh_token } = given;
    const refresh = { grant_type: "refresh_token", refresh_token, client_id };
    for (const foreign of [`${ORIGIN}/tools`, `${ORIGIN}/mcp#x`, "https://else.example/mcp/"])
      expect(await tokens({ ...refresh, resource: foreign })).toMatchObject({
        error: "invalid_target",
      });
    expect(await tokens({ ...refresh, resource })).toMatchObject({ status: 200 });
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

describe("where it is not configured", () => {
  test.each(["/authorize", "/oauth/token", "/.well-known/oauth-authorization-server"])(
    "%s: 404",
    async (path) => {
      const plain = createApp(new Kernel(bundle, env));
      expect((await plain.fetch(new Request(new URL(path, ORIGIN)))).status).toBe(404);
    },
  );

  test.each([
    [{ OAUTH_KV: undefined }, /OAUTH_KV/],
    [{ ATTEMPTS: undefined }, /ATTEMPTS/],
    [{ GRANTS: undefined }, /GRANTS/],
    [{ OWNER_PASSPHRASE: PASSPHRASE }, /npm run passphrase/],
    [{ OWNER_PASSPHRASE: `pbkdf2:100001:${"A".repeat(22)}==:${"A".repeat(43)}=` }, /100000/],
    [{ OWNER_PASSPHRASE: `pbkdf2:1000$${"A".repeat(22)}==:${"A".repeat(43)}=` }, /passphrase/],
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
