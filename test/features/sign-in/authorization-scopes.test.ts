import { beforeAll, describe, expect, test } from "vitest";
import { ownersApp, principalOf, visitor, type App } from "../../worker/auth/owner.ts";

let app: App;
beforeAll(async () => {
  app = await ownersApp();
});

describe("scopes of the server's own sign-in", () => {
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

  test.each(["mcp:tools", "openid profile mcp:tools", "OpenID"])(
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

  const words = [
    "openid email profile",
    " offline_access",
    "openid",
    "address phone openid",
    "openid\t\n profile ",
  ];
  test.each(
    words.flatMap(
      (scope) =>
        [
          [scope, undefined],
          [scope, SCOPES],
        ] as const,
    ),
  )(
    "those of OpenID Connect grant nothing and refuse nothing: %j, where SCOPES is %s",
    async (scope, configured) => {
      const visit = visitor(await ownersApp({ SCOPES: configured }));
      const { text } = await visit.open(
        await visit.authorizePath(await visit.register(), { scope }),
      );
      expect(text).toContain("use every tool, resource and prompt");
      expect(text).not.toMatch(/openid|offline_access/);
      const { access_token, refresh_token, client } = await visit.signIn({ scope });
      expect(await principalOf(await visit.call(access_token))).toBe("owner");
      const grant = { grant_type: "refresh_token", refresh_token, client_id: client };
      const later = await visit.tokens({ ...grant, scope });
      expect(await principalOf(await visit.call(later.access_token))).toBe("owner");
    },
  );

  test("beside others they are left out, unless one is configured", async () => {
    const visit = visitor(await ownersApp({ SCOPES }));
    expect((await visit.signIn({ scope: "openid reader email" })).scope).toBe("reader");
    const named = JSON.stringify({ profile: ["probe:*"] });
    const other = visitor(await ownersApp({ SCOPES: named }));
    const { scope, refresh_token, client } = await other.signIn({ scope: "openid profile" });
    expect(scope).toBe("profile");
    const grant = { grant_type: "refresh_token", refresh_token, client_id: client };
    expect((await other.tokens({ ...grant, scope: "openid profile" })).scope).toBe("profile");
  });

  test.each([SCOPES, "{}", undefined])("a pattern, where SCOPES is %s", async (configured) => {
    const visit = visitor(await ownersApp({ SCOPES: configured }));
    const { access_token, scope } = await visit.signIn({ scope: "hello:*" });
    expect(scope).toBe("hello:*");
    expect((await visit.call(access_token)).status).toBe(403);
  });
});
