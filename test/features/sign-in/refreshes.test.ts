import { isAboutRefusals } from "../../worker/server.ts";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import {
  CALLBACK,
  ORIGIN,
  ownersApp,
  principalOf,
  visitor,
  type App,
} from "../../worker/auth/owner.ts";

/** Refresh tokens that are used more than once, at the server's own authorization server. */
let app: App;
beforeAll(async () => {
  app = await ownersApp();
});
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const { OAUTH_KV, GRANTS } = env as unknown as {
  OAUTH_KV: KVNamespace;
  GRANTS: DurableObjectNamespace;
};
const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
const LATE = limits.keptRefreshMs + 1;
const REFUSED = { status: 400, error: "invalid_grant" };

/** An app that is signed in. */
async function signedIn(on = app, more: Record<string, string> = {}) {
  const visit = visitor(on);
  const first = await visit.signIn(more);
  const { client } = first as { client: string };
  const refresh = ({ refresh_token }: { refresh_token: string }, fields = {}) =>
    visit.tokens({ grant_type: "refresh_token", refresh_token, client_id: client, ...fields });
  const holder = async ({ access_token }: { access_token: string }) => {
    const response = await visit.call(access_token);
    return response.ok ? principalOf(response) : response.status;
  };
  const object = () => {
    const [user, id] = first.refresh_token.split(":");
    return GRANTS.get(GRANTS.idFromName(`grant:${user}:${id}`));
  };
  return { visit, first, client, refresh, holder, object };
}

describe("the same request", () => {
  test("five at once get the same new tokens, which work", async () => {
    const { first, refresh, holder } = await signedIn();
    const all = await Promise.all(Array.from({ length: 5 }, () => refresh(first)));
    for (const one of all) {
      expect(one).toMatchObject({ status: 200, token_type: "bearer", expires_in: 3600 });
      expect(one.refresh_token).toBe(all[0].refresh_token);
      expect(await holder(one)).toBe("owner");
    }
    expect(await refresh(all[4])).toMatchObject({ status: 200 });
    // Those that were not given to anybody are not kept.
    const { keys } = await OAUTH_KV.list({ prefix: `token:${tokensOf(first)}` });
    expect(keys).toHaveLength(3);
  });

  test("five at once of an app whose registration is renewed by it: it stays", async () => {
    const { first, refresh, holder, client } = await signedIn();
    later(limits.refreshTokenMs * 0.6);
    const all = await Promise.all(Array.from({ length: 5 }, () => refresh(first)));
    for (const one of all) expect(one.refresh_token).toBe(all[0].refresh_token);
    expect(await OAUTH_KV.get(`client:${client}`)).not.toBeNull();
    expect(await holder(all[4])).toBe("owner");
    const { keys } = await OAUTH_KV.list({ prefix: `token:${tokensOf(first)}` });
    expect(keys).toHaveLength(2);
  });

  test("after the answer was lost gets it again, for a minute, with the time that is left", async () => {
    const { first, refresh, holder } = await signedIn();
    const given = await refresh(first);
    later(limits.keptRefreshMs - 1000);
    const again = await refresh(first);
    expect(again).toEqual({ ...given, expires_in: given.expires_in - 59 });
    expect(await holder(again)).toBe("owner");
    expect(await refresh(again)).toMatchObject({ status: 200 });
  });

  test("two refreshes in a row: each of both tokens gets its own answer again", async () => {
    const { first, refresh, holder } = await signedIn();
    const second = await refresh(first);
    const third = await refresh(second);
    expect(await refresh(first)).toEqual(second);
    expect(await refresh(second)).toEqual(third);
    expect(await holder(second)).toBe("owner");
    expect(await refresh(third)).toMatchObject({ status: 200 });
  });

  test("with the same scopes in another order, and another web page", async () => {
    const visit = visitor(app);
    const { client, refresh_token } = await visit.signIn({ scope: "echo:* probe:*" });
    const form = (scope: string, origin: string) =>
      visit.form(
        "/oauth/token",
        { grant_type: "refresh_token", refresh_token, client_id: client, scope },
        { origin },
      );
    const given = await form("echo:* probe:*", ORIGIN);
    const again = await form("probe:* openid echo:*", ORIGIN);
    expect(await again.json()).toEqual(await given.json());
    expect(again.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(again.headers.get("cache-control")).toBe("no-store");
  });

  test("whose server died before it answered: nothing is lost", async () => {
    const { first, refresh, holder, client } = await signedIn();
    for (const broken of ["refresh", "put"]) {
      const dying = await ownersApp(dyingAt(broken));
      const fields = { grant_type: "refresh_token", refresh_token: first.refresh_token };
      await visitor(dying)
        .tokens({ ...fields, client_id: client })
        .catch(() => undefined);
    }
    const given = await refresh(first);
    expect(given.status).toBe(200);
    expect(await holder(given)).toBe("owner");
    expect(await refresh(given)).toMatchObject({ status: 200 });
  });
});

describe("a token that was replaced more than a minute ago", () => {
  test("ends the grant with all its tokens, and says so in one line without secrets", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { first, refresh, holder, client } = await signedIn();
    const second = await refresh(first);
    later(LATE);
    const third = await refresh(second);
    expect(await holder(third)).toBe("owner");
    expect(await refresh(first)).toMatchObject({
      ...REFUSED,
      error_description: expect.stringContaining("Sign in again"),
    });
    for (const one of [first, second, third]) {
      expect(await refresh(one)).toMatchObject(REFUSED);
      expect(await holder(one)).toBe(401);
    }
    const lines = warn.mock.calls.flat().filter((one) => !isAboutRefusals(one));
    expect(lines).toHaveLength(1);
    const [line] = lines as [string];
    expect(line).toContain(client);
    for (const { refresh_token, access_token } of [first, second, third]) {
      expect(line).not.toContain(refresh_token.split(":")[2]);
      expect(line).not.toContain(access_token.split(":")[2]);
    }
    expect(await OAUTH_KV.list({ prefix: `token:${tokensOf(first)}` })).toMatchObject({ keys: [] });
    warn.mockRestore();
  });

  test("of many generations ago ends it too; other grants of the app go on", async () => {
    const { first, refresh } = await signedIn();
    const other = await signedIn();
    let newest = first;
    for (let nth = 0; nth < 6; nth++) newest = await refresh(newest);
    later(LATE);
    expect(await refresh(first)).toMatchObject(REFUSED);
    expect(await refresh(newest)).toMatchObject(REFUSED);
    expect(await other.refresh(other.first)).toMatchObject({ status: 200 });
  });

  test("is refused and ends nothing for another client, whether sooner or later", async () => {
    const { visit, first, refresh, holder } = await signedIn();
    const thief = await visit.register();
    const second = await refresh(first);
    for (const used of [first, second, first]) {
      expect(await refresh(used, { client_id: thief })).toMatchObject(REFUSED);
      later(LATE);
    }
    expect(await refresh(first, { client_id: "made-up" })).toMatchObject({ status: 401 });
    expect(await refresh(second)).toMatchObject({ status: 200 });
    expect(await holder(second)).toBe("owner");
  });

  test("is refused and ends nothing without the client's secret, whether sooner or later", async () => {
    const visit = visitor(app);
    const registration = await visit.fetch("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "Python", redirect_uris: [CALLBACK] }),
    });
    const { client_id, client_secret } = (await registration.json()) as Record<string, string>;
    const back = await visit.agree(await visit.authorizePath(client_id!));
    const code = new URL(back.headers.get("location")!).searchParams.get("code")!;
    const basic = (secret = "") => ({
      origin: ORIGIN,
      authorization: `Basic ${btoa(`${client_id}:${secret}`)}`,
    });
    const send = async (fields: Record<string, string>, secret = client_secret) => {
      const response = await visit.form("/oauth/token", fields, basic(secret));
      return { status: response.status, ...((await response.json()) as Record<string, string>) };
    };
    const asCode = { grant_type: "authorization_code", code, redirect_uri: CALLBACK };
    const first: any = await send({ ...asCode, code_verifier: visit.verifier });
    const fields = { grant_type: "refresh_token", refresh_token: first.refresh_token };
    const second: any = await send(fields);
    expect(await send(fields)).toEqual(second);
    expect(await send({ ...fields, client_id: client_id! })).toEqual(second);
    expect(await send(fields, "wrong")).toMatchObject({ status: 401, error: "invalid_client" });
    later(LATE);
    expect(await send(fields, "wrong")).toMatchObject({ status: 401, error: "invalid_client" });
    expect(await send({ ...fields, refresh_token: second.refresh_token })).toMatchObject({
      status: 200,
    });
  });
});

describe("other requests with a used token", () => {
  test("for other scopes within the minute are refused; the grant goes on", async () => {
    const { first, refresh } = await signedIn(app, { scope: "echo:* probe:*" });
    const narrow = await refresh(first, { scope: "echo:*" });
    expect(narrow).toMatchObject({ status: 200, scope: "echo:*" });
    expect(await refresh(first, { scope: "echo:*" })).toEqual(narrow);
    expect(await refresh(first)).toMatchObject(REFUSED);
    expect(await refresh(first, { scope: "probe:*" })).toMatchObject(REFUSED);
    expect(await refresh(narrow)).toMatchObject({ status: 200, scope: "echo:* probe:*" });
  });

  test("at once, for different scopes: one is given, the others refused, and the grant goes on", async () => {
    const { first, refresh } = await signedIn(app, { scope: "echo:* probe:*" });
    const scopes = ["echo:*", "probe:*", "echo:* probe:*"];
    const all = await Promise.all(scopes.map((scope) => refresh(first, { scope })));
    const given = all.filter(({ status }) => status === 200);
    expect(given).toHaveLength(1);
    expect(await refresh(given[0])).toMatchObject({ status: 200 });
  });

  test("under another passphrase are refused, also within the minute", async () => {
    const { first, refresh, client } = await signedIn();
    await refresh(first);
    const fields = { grant_type: "refresh_token", refresh_token: first.refresh_token };
    const changed = visitor(await ownersApp());
    expect(await changed.tokens({ ...fields, client_id: client })).toMatchObject(REFUSED);
  });

  test("altered, cut, made-up and foreign tokens are refused and end nothing", async () => {
    const { first, refresh } = await signedIn();
    const second = await refresh(first);
    later(LATE);
    const [user, id, secret] = first.refresh_token.split(":");
    for (const refresh_token of [
      `${user}:${id}:${secret}x`,
      `${user}:${id}:${secret.slice(1)}`,
      `${user}:${id}:`,
      `${user}:made-up:${secret}`,
      `${"x".repeat(600)}:${id}:${secret}`,
      "made-up",
      "",
      second.access_token,
    ])
      expect(await refresh({ refresh_token })).toMatchObject({ status: 400 });
    expect(await refresh(second)).toMatchObject({ status: 200 });
  });
});

describe("revocation", () => {
  test.each([0, 1, 2])("by the refresh token of generation %i ends the grant", async (nth) => {
    const { visit, first, refresh, holder, client } = await signedIn();
    const all = [first];
    for (let made = 0; made < 2; made++) {
      all.push(await refresh(all.at(-1)));
      later(LATE);
    }
    const thief = await visit.register();
    const revoke = (client_id: string) =>
      visit.form("/oauth/token", { token: all[nth].refresh_token, client_id });
    expect((await revoke(thief)).status).toBe(200);
    expect(await holder(all[2])).toBe("owner");
    expect((await revoke(client)).status).toBe(200);
    expect(await holder(all[2])).toBe(401);
    expect(await refresh(all[2])).toMatchObject(REFUSED);
  });

  test("during a refresh: what the refresh gives is over", async () => {
    const { visit, first, refresh, holder, client } = await signedIn();
    const [given] = await Promise.all([
      refresh(first),
      visit.form("/oauth/token", { token: first.refresh_token, client_id: client }),
    ]);
    expect(await refresh(given.status === 200 ? given : first)).toMatchObject(REFUSED);
    expect(given.status === 200 ? await holder(given) : 401).toBe(401);
  });
});

describe("what is kept", () => {
  test("holds no token in the clear; the answer goes after a minute, the rest with the grant", async () => {
    const { first, refresh, object } = await signedIn();
    const second = await refresh(first);
    const texts = await stored(object());
    for (const { refresh_token, access_token } of [first, second])
      for (const token of [refresh_token, access_token])
        expect(texts).not.toContain(token.split(":")[2]);
    expect(await answers(object())).toBe(1);
    later(LATE);
    expect(await runDurableObjectAlarm(object())).toBe(true);
    expect(await answers(object())).toBe(0);
    later(limits.refreshTokenMs);
    expect(await runDurableObjectAlarm(object())).toBe(true);
    expect(await stored(object())).toBe("{}");
  });

  test("is bounded, however often an app refreshes", async () => {
    const usual = limits.usedRefreshTokens;
    configureLimits({ usedRefreshTokens: 3 });
    try {
      const { first, refresh, object } = await signedIn();
      let newest = first;
      for (let nth = 0; nth < 5; nth++) newest = await refresh(newest);
      expect(await answers(object())).toBe(3);
      // One that is not remembered is refused like any other text.
      expect(await refresh(first)).toMatchObject(REFUSED);
      expect(await refresh(newest)).toMatchObject({ status: 200 });
    } finally {
      configureLimits({ usedRefreshTokens: usual });
    }
  });

  test("after its end: access tokens that the store listed late are deleted, then nothing is left", async () => {
    const { visit, first, client, object, holder } = await signedIn();
    const key = (await OAUTH_KV.list({ prefix: `token:${tokensOf(first)}` })).keys[0]!.name;
    const late = await OAUTH_KV.get(key);
    await visit.form("/oauth/token", { token: first.refresh_token, client_id: client });
    await OAUTH_KV.put(key, late!);
    expect(await holder(first)).toBe("owner");
    later(limits.ownTokenMemoryMs + 1);
    expect(await runDurableObjectAlarm(object())).toBe(true);
    expect(await holder(first)).toBe(401);
    expect(await stored(object())).toBe("{}");
  });

  test("an isolate whose clock is set back remembers no token for longer", async () => {
    later(3_600_000);
    const { first, holder } = await signedIn();
    expect(await holder(first)).toBe("owner");
    const { keys } = await OAUTH_KV.list({ prefix: `token:${tokensOf(first)}` });
    for (const key of keys) await OAUTH_KV.delete(key.name);
    later(-3_600_000);
    expect(await holder(first)).toBe(401);
  });
});

/** The part of a token that all tokens of its grant begin with. */
const tokensOf = ({ refresh_token }: { refresh_token: string }) =>
  refresh_token.slice(0, refresh_token.lastIndexOf(":") + 1);

const stored = (object: DurableObjectStub) =>
  runInDurableObject(object, (_, { storage }) => {
    const { sql } = storage;
    const tables = sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
      )
      .toArray();
    const rows = tables.map(({ name }) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]);
    return JSON.stringify(Object.fromEntries([...rows, ...storage.kv.list()]), (_key, value) =>
      value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : value,
    );
  });

const answers = (object: DurableObjectStub) =>
  runInDurableObject(
    object,
    (_, { storage }) =>
      storage.sql.exec("SELECT 1 FROM used WHERE answer NOT NULL").toArray().length,
  );

/** Bindings of a server that dies at this step: before or after the object has taken the refresh. */
function dyingAt(step: string): object {
  const dead = () => {
    throw new Error("died");
  };
  if (step === "put")
    return { OAUTH_KV: { get: OAUTH_KV.get.bind(OAUTH_KV), put: dead, delete: dead } };
  const getByName = (name: string) => {
    const object: any = GRANTS.getByName(name);
    return {
      state: (token: string) => object.state(token),
      refresh: async (...given: unknown[]) => {
        await object.refresh(...given);
        dead();
      },
    };
  };
  return { GRANTS: { getByName } };
}
