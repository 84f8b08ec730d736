import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Provider, Tokens } from "../../../src/server/kernel/auth/account-provider.ts";
import {
  ACCOUNT_TABLES,
  PersonAccounts,
  type IssuerClients,
} from "../../../src/server/features/people/person-accounts.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { clock, prepare } from "../../worker/calls/client.ts";

/** The renewal of an account's tokens beside other work of its person. */

prepare();

const CALLBACK = "https://server.example/account/callback";
const OF = { servlet: "mail", account: "local" };
const GRANT = { ...OF, scopes: [], hosts: ["mail.example"] };

const key = { id: 1, bytes: new Uint8Array(32) };
const KEYS = { current: () => key, byId: () => key, lasting: () => key.bytes };

/** Opens what it has sealed, but the next time not before it may; and seals so. */
class SlowSealer extends Sealer {
  until: Promise<void> | undefined;
  /** What the next account waits for before it is sealed; undefined once it waits. */
  sealedAfter: Promise<void> | undefined;

  override async seal(plain: Uint8Array<ArrayBuffer>, place?: string) {
    const { sealedAfter } = this;
    if (place?.startsWith("account ") === true) {
      this.sealedAfter = undefined;
      await sealedAfter;
    }
    return super.seal(plain, place);
  }

  override async open(sealed: Uint8Array<ArrayBuffer>, place?: string) {
    const { until } = this;
    this.until = undefined;
    await until;
    return super.open(sealed, place);
  }
}

/** Somebody's connected account, whose first token has expired. Each refresh token is good for one refresh. */
async function expired(work: (at: At) => Promise<void>): Promise<void> {
  const object = env.SCRATCH!.getByName(crypto.randomUUID());
  await runInDurableObject(object, async (_object, { storage }) => {
    storage.sql.exec(ACCOUNT_TABLES);
    const sealer = new SlowSealer(KEYS);
    const at = { refreshed: [] as string[], revoked: [] as Tokens[], answer: Promise.resolve() };
    let begun = 0;
    const provider = {
      identity: "here",
      begin: async () => ({
        url: "",
        begun: { state: `s${++begun}`, verifier: "", redirectUri: CALLBACK },
      }),
      finish: async () => {
        await at.answer;
        return { tokens: { access: "a0", refresh: "r0", expires: 0 } };
      },
      refresh: async (refresh: string) => {
        at.refreshed.push(refresh);
        await at.answer;
        const nth = at.refreshed.length;
        return { tokens: { access: `a${nth}`, refresh: `r${nth}` } };
      },
      revoke: async (tokens: Tokens) => void at.revoked.push(tokens),
    } as unknown as Provider;
    const providers = new Map([["local", provider]]);
    const clients = undefined as unknown as IssuerClients;
    const signedIn = async () => undefined;
    const parts = { sql: storage.sql, sealer, providers, clients, signedIn };
    const accounts = new PersonAccounts(() => parts);
    await accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" });
    await accounts.finish(new URL(`${CALLBACK}?state=s1&code=c`));
    await work(Object.assign(at, { accounts, sealer }));
  });
}

interface At {
  accounts: PersonAccounts;
  sealer: SlowSealer;
  refreshed: string[];
  revoked: Tokens[];
  answer: Promise<void>;
}

describe("an account is renewed", () => {
  test("once, though a request has read its old tokens before they were replaced", () =>
    expired(async ({ accounts, sealer, refreshed }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      sealer.until = promise;
      const late = accounts.token(GRANT);
      expect(await accounts.token(GRANT)).toEqual({ value: "a1" });
      resolve();
      expect(await late).toEqual({ value: "a1" });
      expect(refreshed).toEqual(["r0"]);
    }));

  test("for nobody where its person disconnects it meanwhile: the new tokens are revoked, too", () =>
    expired(async (at) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      at.answer = promise;
      const renewed = at.accounts.token(GRANT);
      await expect.poll(() => at.refreshed).toEqual(["r0"]);
      await at.accounts.disconnect(OF);
      resolve();
      expect(await renewed).toEqual({ value: undefined });
      expect(at.revoked.map(({ refresh }) => refresh)).toEqual(["r0", "r1"]);
    }));

  test("for nobody where its person disconnects it while the new tokens are sealed", () =>
    expired(async ({ accounts, sealer, revoked }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      sealer.sealedAfter = promise;
      const renewed = accounts.token(GRANT);
      await expect.poll(() => sealer.sealedAfter === undefined).toBe(true);
      await accounts.disconnect(OF);
      resolve();
      expect(await renewed).toEqual({ value: undefined });
      expect(await accounts.all()).toEqual([]);
      expect(revoked.map(({ refresh }) => refresh)).toEqual(["r0", "r1"]);
    }));

  test("and does not replace one that its person connects while the new tokens are sealed", () =>
    expired(async ({ accounts, sealer }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      sealer.sealedAfter = promise;
      const renewed = accounts.token(GRANT);
      await expect.poll(() => sealer.sealedAfter === undefined).toBe(true);
      await accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" });
      const [{ connectedAt } = { connectedAt: NaN }] = await accounts.all();
      clock.aheadMs = 1000;
      await accounts.finish(new URL(`${CALLBACK}?state=s2&code=c`));
      resolve();
      await renewed;
      const [now] = await accounts.all();
      expect(now!.connectedAt).toBeGreaterThan(connectedAt);
    }));
});

test("an account is not kept where its person is forgotten while it is sealed", () =>
  expired(async ({ accounts, sealer, revoked }) => {
    await accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" });
    const { promise, resolve } = Promise.withResolvers<void>();
    sealer.sealedAfter = promise;
    const finished = accounts.finish(new URL(`${CALLBACK}?state=s2&code=c`));
    await expect.poll(() => sealer.sealedAfter === undefined).toBe(true);
    await accounts.forgetAll();
    resolve();
    expect(await finished).toBeUndefined();
    expect(await accounts.all()).toEqual([]);
    expect(revoked).toHaveLength(2);
  }));

test("an account that is granted while its person is forgotten is not kept, and is revoked", () =>
  expired(async (at) => {
    await at.accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" });
    const { promise, resolve } = Promise.withResolvers<void>();
    at.answer = promise;
    const finished = at.accounts.finish(new URL(`${CALLBACK}?state=s2&code=c`));
    await at.accounts.forgetAll();
    resolve();
    expect(await finished).toBeUndefined();
    expect(await at.accounts.all()).toEqual([]);
    expect(at.revoked).toHaveLength(2);
  }));

test("accounts are begun to be connected as often as they may, also at once", () =>
  expired(async ({ accounts }) => {
    const often = Array.from({ length: limits.connecting + 5 }, () =>
      accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" }),
    );
    const refused = (await Promise.allSettled(often)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(5);
  }));

test("the token of an account is for no more than its person has agreed to", () =>
  expired(async ({ accounts }) => {
    expect(await accounts.token(GRANT)).toEqual({ value: "a1" });
    const wider = { ...GRANT, hosts: ["mail.example", "evil.example"] };
    expect(await accounts.token(wider)).toEqual({ value: undefined });
    expect(await accounts.token({ ...GRANT, scopes: ["send"] })).toEqual({ value: undefined });
  }));

test("an answer that has come to the address of another provider is not taken: its code is that one's", () =>
  expired(async (at) => {
    await at.accounts.begin(GRANT, { redirectUri: CALLBACK, back: "/" });
    const answer = new URL(`${CALLBACK}/okta?state=s2&code=c`);
    expect(await at.accounts.finish(answer)).toBeUndefined();
  }));
