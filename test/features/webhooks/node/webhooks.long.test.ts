import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { called } from "../../../node/http/called.ts";
import { serving } from "../../../node/http/serving.ts";

/** Webhooks on workerd itself: those of callers, and many deliveries while its process is killed. */

const SECRET = "the secret of the tests";
const DELIVERIES = 1000;
const KILLS = 20;

/** An effect of a run in the world: its Idempotency-Key, and what it says. */
const effects = new Map<string, any>();
const internet = createServer((request, response) => {
  let body = "";
  request.on("data", (piece: Buffer) => (body += piece.toString()));
  request.on("end", () => {
    effects.set(String(request.headers["idempotency-key"]), JSON.parse(body));
    response.end("there");
  });
});
internet.listen(0, "127.0.0.1");
await once(internet, "listening");
afterAll(() => {
  internet.closeAllConnections();
  internet.close();
});

const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");
const keysOf = (keys: object) => JSON.stringify(keys);
const ALL = { ada: hashOf("ada"), bob: hashOf("bob") };

const variables: Record<string, string> = {
  TEST_SERVLETS: "hooked,clock",
  TEST_LIMITS: JSON.stringify({
    deliveriesPerMinute: 1_000_000,
    keyCheckMs: 50,
    rerunMs: 300,
    deliveryRetryMs: 300,
    maxDeliveryRetryMs: 1000,
    startsAtOnce: 50,
  }),
  HOOK_SECRET: SECRET,
  HOOK_STANDARD: "whsec_AAAA",
  VAULT_PROBE: "opened",
  API_KEYS: keysOf(ALL),
  SCOPES: JSON.stringify({ hooks: ["hooked:*"], times: ["clock:*"] }),
};
const { url, restart } = await serving({
  variables,
  internet: (internet.address() as AddressInfo).port,
});
beforeEach(() => effects.clear());

/** The answer to a call of a tool: its text, or an error's message. */
const call = (name: string, args: object, key: string): Promise<string> =>
  called(url, key, { name, args }).then(
    ({ content }) => content[0].text,
    ({ message }) => message,
  );

const hookUrl = (key: string, name = "github") => call("hook_url", { name }, key);

function deliver(to: string, body: object, { id = randomUUID() as string, secret = SECRET } = {}) {
  const text = JSON.stringify(body);
  return fetch(to, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-delivery": id,
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
    },
    body: text,
  });
}

const errorOf = async (response: Response) => ((await response.json()) as { error: string }).error;

const untilEffects = (count: number, timeout = 30_000) =>
  vi.waitFor(() => expect(effects.size).toBe(count), { timeout, interval: 100 });

describe("the webhook of a caller", () => {
  test("has an address that cannot be guessed, and stays the same for this caller alone", async () => {
    const [mine, again, other] = [await hookUrl("ada"), await hookUrl("ada"), await hookUrl("bob")];
    expect(mine).toMatch(/\/hooks\/hooked\/github\/[\w-]{64}$/);
    expect(again).toBe(mine);
    expect(other).not.toBe(mine);
    expect(await hookUrl("ada", "shop")).not.toContain(mine.split("/").at(-1));
  });

  test("runs the servlet as this caller", async () => {
    const response = await deliver(await hookUrl("ada"), { a: 1 });
    expect(response.status).toBe(202);
    await untilEffects(1);
    const [{ principal, request }] = [...effects.values()];
    expect(principal).toBe("ada");
    expect(request).toMatchObject({ name: "github", body: '{"a":1}' });
  });

  test("verifies as any other, and repeats run nothing", async () => {
    const mine = await hookUrl("ada");
    expect((await deliver(mine, {}, { secret: "other" })).status).toBe(401);
    for (let nth = 0; nth < 3; nth++)
      expect((await deliver(mine, {}, { id: "one" })).status).toBe(202);
    await untilEffects(1);
  });

  test("is reached by no changed address", async () => {
    const mine = await hookUrl("ada");
    const at = mine.length - 64;
    for (const nth of [0, 20, 40, 63]) {
      const letter = mine[at + nth] === "A" ? "B" : "A";
      const changed = mine.slice(0, at + nth) + letter + mine.slice(at + nth + 1);
      expect((await deliver(changed, {})).status).toBe(404);
    }
    expect((await deliver(mine.replace("/github/", "/shop/"), {})).status).toBe(404);
    expect((await deliver(mine.slice(0, -1), {})).status).toBe(404);
    expect(effects.size).toBe(0);
  });

  test("that is revoked is gone, and the next one has another address", async () => {
    const mine = await hookUrl("bob", "github");
    expect(await call("hook_revoke", { name: "github" }, "bob")).toBe("true");
    expect(await call("hook_revoke", { name: "github" }, "bob")).toBe("false");
    const response = await deliver(mine, {});
    expect(response.status).toBe(410);
    expect(await errorOf(response)).toMatch(/revoked/);
    const next = await hookUrl("bob");
    expect(next).not.toBe(mine);
    expect((await deliver(mine, {})).status).toBe(410);
    expect((await deliver(next, {})).status).toBe(202);
    await untilEffects(1);
  });

  test("that the servlet does not have is refused, and says which it has", async () => {
    expect(await hookUrl("ada", "nothing")).toMatch(/no webhook nothing\. It has: github, stripe/);
  });

  test("asks for an address in a run, too", async () => {
    const mine = await hookUrl("ada");
    await deliver(mine, { act: "url" });
    await untilEffects(1);
    expect([...effects.values()]).toEqual([{ url: mine }]);
  });

  test("is dropped once its caller has lost the key, or the scope of the servlet", async () => {
    const [ada, bob] = [await hookUrl("ada"), await hookUrl("bob")];
    variables["API_KEYS"] = keysOf({ bob: { hash: hashOf("bob"), scopes: ["times"] } });
    await restart();
    for (const mine of [ada, bob]) {
      const response = await deliver(mine, {});
      expect(response.status).toBe(410);
      expect(await errorOf(response)).toMatch(/lost access/);
    }
    variables["API_KEYS"] = keysOf(ALL);
    await restart();
    // They do not come back with the access.
    expect((await deliver(ada, {})).status).toBe(410);
    expect(await hookUrl("ada")).not.toBe(ada);
    expect(effects.size).toBe(0);
  });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test(
  `${DELIVERIES} deliveries with ${KILLS} kills have the effects of one each, and none is lost after its 202`,
  { timeout: 600_000 },
  async () => {
    const hook = new URL("/hooks/hooked/github", url).href;
    let left = DELIVERIES;
    let kills = 0;
    const send = async (): Promise<void> => {
      while (left > 0) {
        const nth = left--;
        // As senders do: until it is answered 202.
        for (;;) {
          const response = await deliver(hook, { nth }, { id: `delivery ${nth}` }).catch(() => {});
          if (response?.status === 202) break;
          await pause(50);
        }
      }
    };
    const senders = Array.from({ length: 10 }, send);
    const done = Promise.all(senders);
    // Spread over the deliveries: a run that dies again and again is given up.
    while (kills < KILLS) {
      await vi.waitFor(
        () => expect(left).toBeLessThan(DELIVERIES - (DELIVERIES / KILLS) * (kills + 0.5)),
        { timeout: 120_000, interval: 20 },
      );
      await restart();
      kills++;
    }
    await done;
    await untilEffects(DELIVERIES, 240_000).catch(() => {});
    const numbers = [...effects.values()].map(({ request }) => JSON.parse(request.body).nth);
    expect(new Set(numbers).size).toBe(DELIVERIES);
    expect(numbers).toHaveLength(DELIVERIES);
  },
);
