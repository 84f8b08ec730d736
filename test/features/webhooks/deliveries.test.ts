import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { clock, limited, newAddress, prepare } from "../../worker/calls/client.ts";
import {
  bare,
  deliver,
  effects,
  errorOf,
  forgetAll,
  github,
  hookServer,
  json,
  linear,
  ORIGIN,
  prepareWorld,
  SECRET,
  SENDERS,
  shop,
  shownOf,
  slack,
  standard,
  stripe,
  untilEffects,
} from "./senders.ts";

/** Deliveries to the webhooks of a servlet itself: what is received, what is refused, and what runs. */
prepare();
prepareWorld();
beforeEach(forgetAll);

const to = (hook: string, more: object = {}) => ({ hook: `hooked/${hook}`, ...more });

describe("a right delivery is received, and runs the servlet", () => {
  test.each(Object.entries(SENDERS))("of %s", async (hook, send) => {
    const body = json({ what: hook, id: `evt_${hook}`, event_id: `Ev${hook}` });
    const response = await deliver(send(body), to(hook));
    expect(response.status).toBe(202);
    expect(await response.text()).toBe("");
    const [effect] = await untilEffects(1);
    const { request, principal, meta } = effect!.what;
    expect(request).toMatchObject({ name: hook, body, isBase64: false });
    expect(new Date(request.receivedAt).toISOString()).toBe(request.receivedAt);
    expect(principal).toBe("servlet:hooked");
    expect(meta["edge-servlets/untrusted"]).toBe(`webhook ${hook}`);
    await vi.waitFor(async () =>
      expect((await shownOf(hook)).deliveries).toMatchObject([
        { state: "begun", bytes: body.length, isAgain: false },
      ]),
    );
  });

  test("without verification, where the servlet says so", async () => {
    const response = await deliver({ headers: { "x-id": "1" }, body: "hello" }, to("open"));
    expect(response.status).toBe(202);
    const [effect] = await untilEffects(1);
    expect(effect!.what.request).toMatchObject({ id: "1", body: "hello" });
  });

  test("with a slash at the end of its address", async () => {
    expect((await deliver(github("{}"), { hook: "hooked/github/" })).status).toBe(202);
    await untilEffects(1);
  });

  test("an empty body", async () => {
    expect((await deliver(github(""), to("github"))).status).toBe(202);
    const [effect] = await untilEffects(1);
    expect(effect!.what.request).toMatchObject({ body: "", isBase64: false });
  });

  test("a body that is not UTF-8, in base64", async () => {
    const body = new Uint8Array([0xff, 0xfe, 0, 1]);
    expect((await deliver(github(body), to("github"))).status).toBe(202);
    const [effect] = await untilEffects(1);
    expect(effect!.what.request).toMatchObject({ body: body.toBase64(), isBase64: true });
  });

  test("a body with a mark of its byte order and characters beyond Latin-1, as it was sent", async () => {
    const body = '\ufeff{"name": "Žofie \u{1f980}"}';
    expect((await deliver(github(body), to("github"))).status).toBe(202);
    const [effect] = await untilEffects(1);
    expect(effect!.what.request.body).toBe(body);
  });

  test("a body that is streamed, without its length", async () => {
    const bytes = new TextEncoder().encode("{}");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const headers = { ...github("{}").headers, "cf-connecting-ip": newAddress() };
    const request = new Request(`${ORIGIN}/hooks/hooked/github`, { method: "POST", headers, body });
    expect((await hookServer().fetch(request)).status).toBe(202);
    await untilEffects(1);
  });

  test("GitHub's ping is a delivery like any other", async () => {
    const { headers, body } = github(json({ zen: "Keep it logically awesome." }));
    const ping = { headers: { ...headers, "x-github-event": "ping" }, body };
    expect((await deliver(ping, to("github"))).status).toBe(202);
    const [effect] = await untilEffects(1);
    expect(effect!.what.request.headers["x-github-event"]).toBe("ping");
  });
});

describe("a servlet gets of the headers", () => {
  test("neither signatures, nor what proves who somebody is, nor how the request came", async () => {
    const { headers, body } = shop("{}");
    const more = {
      authorization: "Bearer a",
      cookie: "b=c",
      "x-gitlab-token": "d",
      "x-api-key": "e",
      "x-forwarded-for": "1.2.3.4",
      "cf-ray": "f",
      "x-hub-signature": "sha1=00",
      "X-Custom": "kept",
    };
    await deliver({ headers: { ...headers, ...more }, body }, to("shop"));
    const [effect] = await untilEffects(1);
    const given = effect!.what.request.headers;
    expect(Object.keys(given).toSorted()).toEqual([
      "content-type",
      "x-custom",
      "x-shop-id",
      "x-shop-time",
    ]);
    expect(given["x-custom"]).toBe("kept");
  });

  test("so many, and of such a size", async () => {
    limited({ deliveryHeaders: 5, deliveryHeaderCharacters: 100 });
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, nth) => [`x-a${nth}`, "1"]));
    const { headers, body } = github("{}");
    await deliver(
      { headers: { ...headers, ...many, "x-aa": "l".repeat(200) }, body },
      to("github"),
    );
    const [effect] = await untilEffects(1);
    const given = effect!.what.request.headers;
    expect(Object.keys(given).length).toBeLessThanOrEqual(5);
    expect(JSON.stringify(given).length).toBeLessThan(200);
  });

  test("and not the secrets of its webhooks", async () => {
    await deliver(github("{}"), to("github"));
    const [effect] = await untilEffects(1);
    expect(effect!.what.secrets).toEqual([null, null]);
    expect(JSON.stringify(effect)).not.toContain(SECRET);
  });
});

describe("a refused delivery runs nothing, and its sender is told why", () => {
  test("forged ones", async () => {
    const response = await deliver(github("{}", { secret: "other" }), to("github"));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Signature");
    expect(await errorOf(response)).toMatch(/signature does not match/);
  });

  test("unsigned ones", async () => {
    const response = await deliver({ headers: {}, body: "{}" }, to("github"));
    expect(response.status).toBe(401);
    expect(await errorOf(response)).toMatch(/X-Hub-Signature-256 is missing/);
  });

  test.each(Object.entries({ stripe, slack, standard, shop }))(
    "old ones, and those from the future, of %s",
    async (hook, send) => {
      const now = Math.floor(Date.now() / 1000);
      const tooMuch = hook === "shop" ? 65 : 305;
      const old = await deliver(send("{}", { at: now - tooMuch }), to(hook));
      expect([old.status, await errorOf(old)]).toEqual([
        401,
        expect.stringMatching(/too long ago/),
      ]);
      const early = await deliver(send("{}", { at: now + tooMuch }), to(hook));
      expect([early.status, await errorOf(early)]).toEqual([401, expect.stringMatching(/future/)]);
    },
  );

  test("oversized ones, by their length", async () => {
    limited({ deliveryBytes: 100 });
    const fits = await deliver(github("a".repeat(100)), to("github"));
    expect(fits.status).toBe(202);
    const response = await deliver(github("a".repeat(101)), to("github"));
    expect(response.status).toBe(413);
    expect(await errorOf(response)).toMatch(/limit 100 bytes/);
    await untilEffects(1);
  });

  test("oversized ones that are streamed", async () => {
    limited({ deliveryBytes: 100 });
    const headers = { ...github("a").headers, "cf-connecting-ip": newAddress() };
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(60));
      },
    });
    const request = new Request(`${ORIGIN}/hooks/hooked/github`, { method: "POST", headers, body });
    expect((await hookServer().fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  test("slow ones", async () => {
    limited({ bodyMs: 50 });
    const headers = { ...github("a").headers, "cf-connecting-ip": newAddress() };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(1)),
    });
    const request = new Request(`${ORIGIN}/hooks/hooked/github`, { method: "POST", headers, body });
    const response = await hookServer().fetch(request);
    expect(response.status).toBe(408);
    expect(await errorOf(response)).toMatch(/too slowly/);
  });

  test.each(["GET", "HEAD", "PUT", "DELETE", "PATCH"])("%s", async (method) => {
    const response = await deliver(github("{}"), to("github", { method }));
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });

  test.each([
    "hooked/other",
    "hooked/__proto__",
    "hooked/constructor",
    "nobody/github",
    "greet/github",
    "hooked/github/token",
    `hooked/github/${"A".repeat(64)}`,
    "hooked/github/a/b",
    "hooked",
    "%00/%00",
  ])("at the address %s", async (hook) => {
    expect((await deliver(github("{}"), { hook })).status).toBe(404);
  });

  test("from a page of another origin", async () => {
    const { headers, body } = github("{}");
    const response = await deliver(
      { headers: { ...headers, origin: "https://evil.example" }, body },
      to("github"),
    );
    expect(response.status).toBe(403);
  });

  test.each(["", undefined])("while the secret is %o", async (HOOK_SECRET) => {
    const server = hookServer({ HOOK_SECRET });
    const response = await deliver(github("{}", { secret: " " }), to("github", { server }));
    expect(response.status).toBe(503);
    expect(await errorOf(response)).toMatch(/operator has to set its secret/);
    await vi.waitFor(async () =>
      expect((await shownOf("github")).refusals).toMatchObject([{ refusal: "unusable-secret" }]),
    );
  });

  test("while the secret has another form than the sender gives it", async () => {
    const server = hookServer({ HOOK_STANDARD: "whsec_no base64!" });
    expect((await deliver(standard("{}"), to("standard", { server }))).status).toBe(503);
  });

  test("and what is wrong is counted for operators, without a request to an object for each", async () => {
    const server = hookServer();
    const forged = () => deliver(github("{}", { secret: "other" }), to("github", { server }));
    for (let nth = 0; nth < 5; nth++) await forged();
    await vi.waitFor(async () =>
      expect((await shownOf("github")).refusals).toMatchObject([{ refusal: "forged", count: 1 }]),
    );
    clock.aheadMs = 11_000;
    await forged();
    await vi.waitFor(async () =>
      expect((await shownOf("github")).refusals).toMatchObject([{ refusal: "forged", count: 6 }]),
    );
    expect((await shownOf("github")).deliveries).toEqual([]);
    expect(effects).toEqual([]);
  });
});

describe("a repeated delivery is answered as the first, and runs nothing", () => {
  test.each(Object.entries(SENDERS))("of %s", async (hook, send) => {
    const body = json({ id: "evt_1", event_id: "Ev1" });
    const at = Math.floor(Date.now() / 1000);
    const delivery = send(body, { id: "one", at });
    expect((await deliver(delivery, to(hook))).status).toBe(202);
    expect((await deliver(delivery, to(hook))).status).toBe(202);
    // Its sender signs another attempt anew.
    const later = send(body, { id: "one", at: at + 1 });
    const again = hook === "bare" ? delivery : later;
    expect((await deliver(again, to(hook))).status).toBe(202);
    await untilEffects(1);
    expect((await shownOf(hook)).deliveries).toHaveLength(1);
  });

  test("also of deliveries at the same time", async () => {
    const delivery = github("{}", { id: "one" });
    const server = hookServer();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => deliver(delivery, to("github", { server }))),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([202]));
    await untilEffects(1);
  });

  test("an id that was refused is not remembered", async () => {
    expect.hasAssertions();
    await deliver(github("{}", { id: "one", secret: "other" }), to("github"));
    await deliver(github("{}", { id: "one" }), to("github"));
    await untilEffects(1);
  });

  test("another webhook may have the same id", async () => {
    expect.hasAssertions();
    await deliver(github("{}", { id: "one" }), to("github"));
    await deliver(shop("{}", { id: "one" }), to("shop"));
    await untilEffects(2);
  });

  test("the same body at another time is another delivery, where a time is signed and no id is known", async () => {
    expect.hasAssertions();
    const at = Math.floor(Date.now() / 1000);
    await deliver(slack("command=a", { at }), to("slack"));
    await deliver(slack("command=a", { at: at - 1 }), to("slack"));
    await deliver(slack("command=a", { at }), to("slack"));
    await untilEffects(2);
  });

  test("an id is forgotten after a time", async () => {
    expect.hasAssertions();
    await deliver(github("{}", { id: "one" }), to("github"));
    await untilEffects(1);
    limited({ deliveryIdMs: -1 });
    await deliver(github("{}", { id: "two" }), to("github"));
    await untilEffects(2);
    await deliver(github("{}", { id: "one" }), to("github"));
    await untilEffects(3);
  });

  test("what is not verified and has no id is never a repeat", async () => {
    expect.hasAssertions();
    for (let nth = 0; nth < 2; nth++) await deliver({ headers: {}, body: "a" }, to("open"));
    await untilEffects(2);
  });

  test("a body without an id and a time is run once", async () => {
    expect.hasAssertions();
    for (let nth = 0; nth < 2; nth++) await deliver(bare("a"), to("bare"));
    await deliver(bare("b"), to("bare"));
    await untilEffects(2);
  });
});

describe("Slack's challenge", () => {
  const challenge = json({ type: "url_verification", challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY" });

  test("is answered in place, and runs nothing", async () => {
    const response = await deliver(slack(challenge), to("slack"));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(await response.text()).toBe("3eZbrw1aBm2rZgRNFdxV2595E9CY");
    expect((await shownOf("slack")).deliveries).toEqual([]);
  });

  test("is not answered without a right signature", async () => {
    const response = await deliver(slack(challenge, { secret: "other" }), to("slack"));
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain("3eZ");
  });

  test("of another sender is a delivery", async () => {
    expect((await deliver(github(challenge), to("github"))).status).toBe(202);
    await untilEffects(1);
  });

  test.each([{ challenge: 5 }, { challenge: "a".repeat(2000) }, {}])(
    "of another shape is a delivery",
    async (more) => {
      const body = json({ type: "url_verification", ...more });
      expect((await deliver(slack(body), to("slack"))).status).toBe(202);
      await untilEffects(1);
    },
  );
});

test("a command of Slack is answered 200, without a body that Slack would show", async () => {
  const { headers, body } = slack("command=%2Fhello&text=a");
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const response = await deliver({ headers: { ...headers, ...type }, body }, to("slack"));
  expect([response.status, await response.text()]).toEqual([200, ""]);
  await untilEffects(1);
});

test("a sender that takes 200 alone is answered 200, where the webhook says so", async () => {
  const delivery = linear("{}", { id: "one" });
  for (let nth = 0; nth < 2; nth++)
    expect((await deliver(delivery, to("linear"))).status).toBe(200);
  expect((await deliver(linear("{}", { secret: "other" }), to("linear"))).status).toBe(401);
  await untilEffects(1);
});

describe("a flood", () => {
  test("at one webhook is refused there, and delays no other", async () => {
    limited({ deliveriesPerMinute: 3 });
    const server = hookServer();
    const statuses: number[] = [];
    for (let nth = 0; nth < 5; nth++)
      statuses.push((await deliver(github("{}"), to("github", { server }))).status);
    expect(statuses).toEqual([202, 202, 202, 429, 429]);
    const last = await deliver(github("{}"), to("github", { server }));
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await errorOf(last)).toMatch(/limit 3/);
    expect((await deliver(shop("{}"), to("shop", { server }))).status).toBe(202);
    await untilEffects(4);
    clock.aheadMs = 60_000;
    expect((await deliver(github("{}"), to("github", { server }))).status).toBe(202);
  });

  test("that uses up what a day may store leaves the servlet's other webhooks theirs", async () => {
    const server = hookServer();
    const counters = env.ATTEMPTS!;
    const counterOf = counters.getByName.bind(counters);
    const used = new Set<string>();
    const named = vi.spyOn(counters, "getByName").mockImplementation((name) => {
      if (name.startsWith("kept ")) used.add(name);
      return counterOf(name);
    });
    await deliver(github("{}"), to("github", { server }));
    await untilEffects(1);
    expect(used.size).toBe(1);
    const full = { take: async () => 60_000 } as unknown as ReturnType<typeof counterOf>;
    named.mockImplementation((name) => (used.has(name) ? full : counterOf(name)));
    await deliver(github("{}"), to("github", { server }));
    await deliver(shop("{}"), to("shop", { server }));
    await untilEffects(2);
    await vi.waitFor(async () =>
      expect((await shownOf("github")).deliveries[0]!.why).toMatch(/Too many stored/),
    );
  });

  test("of repeats costs their sender nothing of that", async () => {
    limited({ deliveriesPerMinute: 2 });
    const delivery = github("{}", { id: "one" });
    for (let nth = 0; nth < 5; nth++)
      expect((await deliver(delivery, to("github"))).status).toBe(202);
    expect((await deliver(github("{}"), to("github"))).status).toBe(202);
    await untilEffects(2);
  });

  test("from one network is refused by the number of its concurrent requests", async () => {
    limited({ concurrentCalls: 2, bodyMs: 1000 });
    const server = hookServer();
    const address = newAddress();
    const hanging = () => {
      const headers = { ...github("a").headers, "cf-connecting-ip": address };
      const body = new ReadableStream<Uint8Array>({});
      const url = `${ORIGIN}/hooks/hooked/github`;
      return server.fetch(new Request(url, { method: "POST", headers, body }));
    };
    const pending = [hanging(), hanging()];
    const third = await hanging();
    expect(third.status).toBe(429);
    const other = await deliver(github("{}"), to("github", { server }));
    expect(other.status).toBe(202);
    const slow = await Promise.all(pending.map(async (response) => (await response).status));
    expect(slow).toEqual([408, 408]);
    await untilEffects(1);
  });

  test("of calls is refused by the network's allowance for a minute", async () => {
    limited({ callsPerMinute: 1 });
    const server = hookServer();
    const address = { "cf-connecting-ip": newAddress() };
    const send = () => {
      const { headers, body } = github("{}");
      return deliver({ headers: { ...headers, ...address }, body }, to("github", { server }));
    };
    expect([(await send()).status, (await send()).status]).toEqual([202, 429]);
    await untilEffects(1);
  });
});
