import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { CALLBACK, ownersApp, PASSPHRASE, visitor } from "../../worker/auth/owner.ts";

/** Requests that count as attempts to sign in or to register, and those that do not. */
const { signIns, registrations } = limits;
beforeEach(() => configureLimits({ signIns: 3, registrations: 5 }));
afterEach(() => {
  configureLimits({ signIns, registrations });
  vi.useRealTimers();
});

const times = <T>(count: number, act: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, act));

const statuses = (responses: Response[]) => [...new Set(responses.map(({ status }) => status))];

test("what a wider network has used up makes no counter for those in it", async () => {
  const { ATTEMPTS } = env as unknown as { ATTEMPTS: DurableObjectNamespace };
  const counted = new Set<string>();
  const getByName = (name: string) => {
    const counter = ATTEMPTS.getByName(name) as unknown as Record<string, Function>;
    const take = (...how: unknown[]) => (counted.add(name), counter["take"]!(...how) as unknown);
    return { take, giveBack: () => counter["giveBack"]!() as unknown };
  };
  configureLimits({ signIns: 1 });
  const app = await ownersApp({ ATTEMPTS: { getByName, idFromName: () => {} } });
  const one = visitor(app, "2001:db8:99:1::1");
  const path = await one.authorizePath(await one.register());
  counted.clear();
  const answers = [];
  for (let at = 0; at < limits.siteShares * 2; at++)
    answers.push((await visitor(app, `2001:db8:99:${at}::1`).fetch(path)).status);
  expect(answers).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
  expect([...counted].filter((name) => name.startsWith("sign-in address"))).toHaveLength(5);
});

describe("the limit of sign-in pages", () => {
  test.each([
    ["image", "no-cors"],
    ["iframe", "navigate"],
    ["empty", "cors"],
    ["script", "no-cors"],
  ])("is not used by requests other than navigations: %s, %s", async (dest, mode) => {
    const { fetch, register, authorizePath, open } = visitor(await ownersApp());
    const path = await authorizePath(await register());
    const headers = { "sec-fetch-mode": mode, "sec-fetch-dest": dest };
    expect(statuses(await times(5, () => fetch(path, { headers })))).toEqual([403]);
    expect((await open(path)).response.status).toBe(200);
  });

  test.each([
    ["no parameters", {}],
    ["an unknown client", { client_id: "nobody" }],
  ])("is not used by %s", async (_name, more: Record<string, string>) => {
    const { fetch, register, authorizePath, open } = visitor(await ownersApp());
    const path = await authorizePath(await register());
    const wrong = "client_id" in more ? await authorizePath(more["client_id"]!) : "/authorize";
    expect(statuses(await times(5, () => fetch(wrong)))).toEqual([400]);
    expect((await open(path)).response.status).toBe(200);
  });

  test("is given back where the owner has let an app in", async () => {
    const { register, authorizePath, agree } = visitor(await ownersApp());
    const path = await authorizePath(await register());
    for (let count = 0; count < 5; count++) expect((await agree(path)).status).toBe(303);
  });

  test("is used by a page that is denied, for which nobody needs a passphrase", async () => {
    const { register, authorizePath, open, form, fetch } = visitor(await ownersApp());
    const path = await authorizePath(await register());
    for (let count = 0; count < 3; count++) {
      const { handle } = await open(path);
      expect((await form(path, { handle, decision: "deny" })).status).toBe(303);
    }
    expect((await fetch(path)).status).toBe(429);
  });

  test("is not that of registrations", async () => {
    const { register, authorizePath, fetch } = visitor(await ownersApp());
    const path = await authorizePath(await register());
    expect(statuses(await times(3, () => fetch(path)))).toEqual([200]);
    expect(statuses(await times(3, () => fetch(path)))).toEqual([429]);
    expect(await register()).toMatch(/\w/);
  });

  test("and registrations leave it alone; one that is not valid does not count", async () => {
    const { register, authorizePath, fetch } = visitor(await ownersApp());
    const send = (body: object) => () =>
      fetch("/oauth/register", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    expect(statuses(await times(9, send({ redirect_uris: [] })))).toEqual([400]);
    const path = await authorizePath(await register());
    const good = { redirect_uris: [CALLBACK] };
    expect(statuses(await times(4, send(good)))).toEqual([201]);
    expect(statuses(await times(2, send(good)))).toEqual([429]);
    expect((await fetch(path)).status).toBe(200);
  });
});

test("on one's own machine nothing is counted", async () => {
  configureLimits({ wrongPassphrases: 1 });
  const app = await ownersApp();
  const local = visitor(app, "127.0.0.1", "http://localhost:8787");
  const remote = visitor(app, "192.0.2.77", "http://localhost:8787");
  const path = await local.authorizePath(await local.register());
  expect(statuses(await times(8, () => local.fetch(path)))).toEqual([200]);
  const guesses = [];
  for (let count = 0; count < 3; count++) guesses.push(await local.agree(path, "wrong wrong"));
  expect(statuses(guesses)).toEqual([403]);
  expect((await local.agree(path, PASSPHRASE)).status).toBe(303);
  expect(statuses(await times(8, () => remote.fetch(path)))).toContain(429);
  configureLimits({ wrongPassphrases: 10 });
});
