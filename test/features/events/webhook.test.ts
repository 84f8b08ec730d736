import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/features/events/limits.ts";
import { SubscriptionStore } from "../../../src/server/features/events/subscription-store.ts";
import {
  accepting,
  caller,
  callerOf,
  clock,
  limited,
  newCaller,
  newSecret,
  note,
  NOTE,
  objectFor,
  prepareEvents,
  ring,
  serverFor,
  webhook,
  type Answer,
  type Caller,
  type Json,
  type Received,
} from "./subscribers.ts";

const own = prepareEvents();

/** Waits until the receiver has so many events. */
const delivered = (url: string, count: number) =>
  expect.poll(() => own.receivers.events(url).length).toBe(count);

const textsAt = (url: string): string[] =>
  own.receivers.events(url).map(({ data }) => data.text as string);

/** True if a request has a signature of Standard Webhooks with this secret, by the receiver's own reading of the rules. */
async function isSigned({ headers, text }: Received, secret: string): Promise<boolean> {
  const bytes = Uint8Array.fromBase64(secret.slice("whsec_".length));
  const key = await crypto.subtle.importKey(
    "raw",
    bytes,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${text}`;
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  const expected = `v1,${new Uint8Array(mac).toBase64()}`;
  return headers.get("webhook-signature")!.split(" ").includes(expected);
}

describe("events/subscribe", () => {
  test("verifies the receiver before it delivers, by a signed challenge", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    const params = webhook(url);
    const granted = await ada.ask("events/subscribe", params);
    expect(granted).toMatchObject({ truncated: false, cursor: expect.any(String) });
    expect(granted.id).toMatch(/^sub_[0-9a-f]{32}$/);
    expect(Date.parse(granted.refreshBefore)).toBeGreaterThan(Date.now());
    expect(granted).not.toHaveProperty("deliveryStatus");
    const [challenge, ...others] = own.receivers.of(url) as [Received, ...Received[]];
    expect(others).toEqual([]);
    expect(challenge.body).toMatchObject({ type: "verification" });
    expect(challenge.body.challenge.length).toBeGreaterThan(60);
    expect(challenge.headers.get("webhook-id")).toMatch(/^msg_verification_/);
    expect(challenge.headers.get("x-mcp-subscription-id")).toBe(granted.id);
    expect(await isSigned(challenge, params["delivery"].secret)).toBe(true);
    await ada.emit(note("hello"));
    await delivered(url, 1);
    const event = own.receivers.of(url).at(-1)!;
    expect(event.body).toMatchObject({
      name: "note.added",
      data: { topic: "a", text: "hello" },
      cursor: expect.any(String),
      timestamp: expect.any(String),
    });
    expect(event.headers.get("webhook-id")).toBe(event.body.eventId);
    expect(event.headers.get("content-type")).toBe("application/json");
    const seconds = Number(event.headers.get("webhook-timestamp"));
    expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(300);
    expect(await isSigned(event, params["delivery"].secret)).toBe(true);
    expect(await isSigned(event, newSecret())).toBe(false);
  });

  test("of the same receiver again, with other arguments or to refresh, verifies nothing", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    const params = webhook(url);
    const first = await ada.ask("events/subscribe", params);
    const again = await ada.ask("events/subscribe", params);
    const other = await ada.ask("events/subscribe", { ...params, arguments: { topic: "b" } });
    expect(own.receivers.of(url)).toHaveLength(1);
    expect(again.id).toBe(first.id);
    expect(other.id).not.toBe(first.id);
    expect(again.deliveryStatus).toMatchObject({ active: true, lastError: null });
  });

  test("goes on if the subscription ends while it is refreshed", async () => {
    const ada = await caller();
    const params = webhook(own.receivers.add());
    const { id } = await ada.ask("events/subscribe", params);
    const { prepare } = SubscriptionStore.prototype;
    vi.spyOn(SubscriptionStore.prototype, "prepare").mockImplementationOnce(async function (
      this: SubscriptionStore,
      ...given
    ) {
      const write = await prepare.apply(this, given);
      await this.drop(id);
      return write;
    });
    const again = await ada.ask("events/subscribe", params);
    expect(again).toMatchObject({ id, truncated: false });
    expect(again).not.toHaveProperty("deliveryStatus");
  });

  test("takes the order of arguments for nothing", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    const ids = [
      { topic: "b", size: 1 },
      { size: 1, topic: "b" },
    ].map(
      async (given) => (await ada.ask("events/subscribe", webhook(url, { arguments: given }))).id,
    );
    expect(await ids[0]).toBe(await ids[1]);
  });

  test.each<[what: string, secret: string]>([
    ["that is too short", newSecret(23)],
    ["that is too long", newSecret(65)],
    ["without its prefix", newSecret().slice(6)],
    ["that is no base64", `whsec_${"!".repeat(44)}`],
    ["that is missing", undefined as unknown as string],
  ])("refuses a secret %s", async (_what, secret) => {
    const ada = await caller();
    const url = own.receivers.add();
    const { error } = await ada.send("events/subscribe", {
      ...NOTE,
      delivery: { mode: "webhook", url, secret },
    });
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/secret/) });
    expect(own.receivers.received).toEqual([]);
  });

  test.each([24, 64])("takes a secret of %i bytes", async (bytes) => {
    const ada = await caller();
    const delivery = { mode: "webhook", url: own.receivers.add(), secret: newSecret(bytes) };
    expect(await ada.ask("events/subscribe", { ...NOTE, delivery })).toHaveProperty("id");
  });

  test.each([
    "http://r.example.com/",
    "https://ada:pw@r.example.com/",
    "https://ada@r.example.com/",
    "https://r.example.com/#part",
    "https://127.0.0.1/",
    "https://10.1.2.3/hook",
    "https://[::1]/hook",
    "https://[fd00::1]/hook",
    "https://169.254.169.254/latest",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://127.0.0.1./",
    "https://①②⑦.⓪.⓪.①/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://100.64.0.1/",
    "https://LOCALHOST%2e/",
    "https://localhost/hook",
    "https://localhost./hook",
    "https://intranet/hook",
    "https://printer.local/hook",
    "https://metadata.google.internal./hook",
    "ftp://r.example.com/",
    "not a url",
  ])("refuses the receiver %s, and sends nothing there", async (url) => {
    const ada = await caller();
    const { error } = await ada.send("events/subscribe", webhook(url));
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/params\.delivery\.url/),
    });
    expect(own.receivers.received).toEqual([]);
  });

  test.each([
    ["its public URL", { PUBLIC_URL: "https://mcp.example.com" }, "https://mcp.example.com/mcp"],
    [
      "that in wide letters",
      { PUBLIC_URL: "https://mcp.example.com" },
      "https://ｍcp。example.com",
    ],
    ["that with a dot", { PUBLIC_URL: "https://mcp.example.com" }, "https://mcp.example.com./x"],
    ["another of its hosts", { ALLOWED_HOSTS: "b.example.org" }, "https://B.example.org:8443/"],
  ])("refuses the server itself: %s", async (_what, variables, url) => {
    const ada = await caller({ variables });
    const { error } = await ada.send("events/subscribe", webhook(url), {
      headers: { ...ada.sent.headers, host: "localhost:8787" },
    });
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/server itself/) });
  });

  test.each(["tools.example.net", "tools.example.net.", "tools.example.net.:8443"])(
    "refuses the host of the request as a receiver: %s",
    async (host) => {
      const ada = await caller();
      const { error } = await ada.send("events/subscribe", webhook("https://tools.example.net/x"), {
        headers: { ...ada.sent.headers, host },
      });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/server itself/),
      });
    },
  );

  test("delivers only to hosts of the operator's list, also to a private one that it names", async () => {
    const ada = await caller({ variables: { EVENT_HOSTS: "*.example.org, box.local" } });
    const forbidden = await ada.send("events/subscribe", webhook(own.receivers.add()));
    expect(forbidden.error).toMatchObject({ code: -32012, data: { reason: "host_not_allowed" } });
    for (const host of ["hooks.example.org", "box.local"]) {
      const url = own.receivers.add(accepting, host);
      expect(await ada.ask("events/subscribe", webhook(url))).toHaveProperty("id");
    }
    const other = await ada.send("events/subscribe", webhook("https://other.local/"));
    expect(other.error?.code).toBe(-32602);
  });

  test.each<[what: string, answer: Answer, reason: string]>([
    ["answers another challenge", () => Response.json({ challenge: "x" }), "challenge_failed"],
    ["answers an empty body", () => new Response("", { status: 200 }), "challenge_failed"],
    ["answers no JSON", () => new Response("<p>hi</p>"), "challenge_failed"],
    [
      "answers a huge body",
      ({ body }) => Response.json({ challenge: body.challenge, more: "x".repeat(100_000) }),
      "challenge_failed",
    ],
    ["answers 404", () => new Response("no", { status: 404 }), "http_4xx"],
    [
      "redirects, also with the challenge",
      ({ body }) =>
        Response.json(
          { challenge: body.challenge },
          { status: 307, headers: { location: "https://169.254.169.254/" } },
        ),
      "http_4xx",
    ],
    ["answers 500", () => new Response("no", { status: 500 }), "http_5xx"],
    [
      "refuses the connection",
      () => Promise.reject(new TypeError("Network")),
      "connection_refused",
    ],
    [
      "has a bad certificate",
      () => Promise.reject(new TypeError("TLS peer's certificate is not trusted")),
      "tls_error",
    ],
  ])("grants nothing to a receiver that %s", async (_what, answer, reason) => {
    const ada = await caller();
    const url = own.receivers.add(answer);
    const { error } = await ada.send("events/subscribe", webhook(url));
    expect(error).toMatchObject({ code: -32015, data: { reason } });
    await ada.emit(note("nothing"));
    await ring(ada);
    expect(own.receivers.of(url)).toHaveLength(1);
  });

  test("grants nothing to a receiver that never answers", async () => {
    limited({ deliveryMs: 20 });
    const ada = await caller();
    const { error } = await ada.send(
      "events/subscribe",
      webhook(own.receivers.add(() => new Promise(() => {}))),
    );
    expect(error).toMatchObject({ code: -32015, data: { reason: "timeout" } });
  });

  test("is for callers who have signed in", async () => {
    const { serverOf } = await import("../../worker/calls/client.ts");
    const { bundle } = await import("../../bundle.gen.ts");
    const nobody = callerOf(serverOf(bundle, { LINKS: "off" }), "");
    const { error } = await nobody.send("events/subscribe", webhook(own.receivers.add()), {
      headers: { "cf-connecting-ip": "198.51.100.7" },
    });
    expect(error).toMatchObject({ code: -32012, data: { reason: "authentication_required" } });
  });

  test("knows no other mode of delivery", async () => {
    const ada = await caller();
    const params = webhook(own.receivers.add());
    const delivery = { ...params["delivery"], mode: "queue" };
    const { error } = await ada.send("events/subscribe", { ...params, delivery });
    expect(error).toMatchObject({ code: -32014, data: { value: "queue" } });
  });

  test.each<[wanted: unknown, ms: number]>([
    [undefined, 3_600_000],
    [1, 60_000],
    [7_200_000, 7_200_000],
    [1e12, 24 * 3_600_000],
    [null, 24 * 3_600_000],
  ])("grants a time to live for %j, which is never without end", async (ttlMs, ms) => {
    const ada = await caller();
    const granted = await ada.ask("events/subscribe", webhook(own.receivers.add(), { ttlMs }));
    expect(Math.abs(Date.parse(granted.refreshBefore) - Date.now() - ms)).toBeLessThan(30_000);
  });

  test("refuses one subscription too many, and counts those of others apart", async () => {
    limited({ subscriptions: 2, verificationsPerMinute: 100 });
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name));
    const url = own.receivers.add();
    for (const topic of ["a", "b"])
      await ada!.ask("events/subscribe", webhook(url, { arguments: { topic } }));
    const { error } = await ada!.send("events/subscribe", webhook(url));
    expect(error).toMatchObject({ code: -32013, data: { limit: "subscriptions", max: 2 } });
    expect(await bob!.ask("events/subscribe", webhook(url))).toHaveProperty("id");
    // To refresh one of them is none more.
    await ada!.ask("events/subscribe", webhook(url, { arguments: { topic: "a" } }));
  });

  test("refuses one too many among many at once, too", async () => {
    limited({ subscriptions: 3 });
    const ada = await caller();
    const url = own.receivers.add();
    await ada.ask("events/subscribe", webhook(url));
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, nth) =>
        ada.send("events/subscribe", webhook(url, { arguments: { topic: `${nth}` } })),
      ),
    );
    expect(all.filter(({ result }) => result !== undefined)).toHaveLength(2);
    const errors = new Set(all.flatMap(({ error }) => error?.code ?? []));
    expect(errors).toEqual(new Set([-32013]));
  });

  test("of a thousand grants as many as are allowed, and verifies few", async () => {
    const ada = await caller();
    const url = own.receivers.add(() => new Response(null, { status: 500 }));
    const codes = new Set<number | undefined>();
    for (let at = 0; at < 1000; at += 50) {
      const some = Array.from({ length: 50 }, (_, nth) =>
        ada.send("events/subscribe", webhook(`${url}/${at + nth}`)),
      );
      for (const { error } of await Promise.all(some)) codes.add(error?.code);
    }
    expect(codes).toEqual(new Set([-32013, -32015]));
    expect(own.receivers.received).toHaveLength(10);
  });

  test.each<[what: string, end: (ada: Caller, params: Json) => Promise<unknown>]>([
    ["ended", (ada, params) => ada.ask("events/unsubscribe", params)],
    ["of a caller that is forgotten", (ada) => objectFor(ada).forget()],
  ])("%s while its receiver is verified does not come back", async (_what, end) => {
    const ada = await caller();
    const answer = Promise.withResolvers<Response>();
    const asked = Promise.withResolvers<Received>();
    const url = own.receivers.add((received) => {
      asked.resolve(received);
      return answer.promise;
    });
    const params = webhook(url);
    const subscribing = ada.send("events/subscribe", params);
    const { body } = await asked.promise;
    await end(ada, params);
    answer.resolve(Response.json({ challenge: body.challenge }));
    expect((await subscribing).error).toMatchObject({ code: -32011 });
    await ada.emit(note("nothing"));
    await ring(ada);
    expect(own.receivers.events(url)).toEqual([]);
  });

  test("from a cursor delivers what came after it, and keeps nothing of what was dropped", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["one", "two", "three"]) await ada.emit(note(text));
    const url = own.receivers.add();
    const granted = await ada.ask("events/subscribe", webhook(url, { cursor }));
    expect(granted.truncated).toBe(false);
    await delivered(url, 3);
    expect(textsAt(url)).toEqual(["one", "two", "three"]);
    limited({ pendingDeliveries: 2 });
    const other = own.receivers.add();
    const late = await ada.ask("events/subscribe", webhook(other, { cursor }));
    expect(late.truncated).toBe(true);
    await delivered(other, 2);
    expect(textsAt(other)).toEqual(["two", "three"]);
  });

  test("delivers only the events that its arguments fit", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    await ada.ask("events/subscribe", webhook(url, { arguments: { topic: "b", size: 2 } }));
    await ada.emit({ name: "note.added", data: { topic: "a", size: 2 } });
    await ada.emit({ name: "note.added", data: { topic: "b" } });
    await ada.emit({ name: "note.added", data: { topic: "b", size: 2, text: "yes" } });
    await delivered(url, 1);
    expect(textsAt(url)).toEqual(["yes"]);
  });
});

describe("events/unsubscribe", () => {
  test("ends the subscription of these params, and knows no other", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name));
    const url = own.receivers.add();
    const params = webhook(url);
    const { id } = await ada!.ask("events/subscribe", params);
    const missing = { code: -32011, data: { kind: "subscription" } };
    expect((await bob!.send("events/unsubscribe", params)).error).toMatchObject(missing);
    const others = [
      { ...params, arguments: { topic: "x" } },
      { ...params, delivery: { url: `${url}/` } },
    ];
    for (const other of others)
      expect((await ada!.send("events/unsubscribe", other)).error).toMatchObject(missing);
    // The id alone authorizes nothing.
    expect((await ada!.send("events/unsubscribe", { id })).error?.code).toBe(-32602);
    const { name, arguments: given } = params;
    expect(
      await ada!.ask("events/unsubscribe", { name, arguments: given, delivery: { url } }),
    ).toMatchObject({ resultType: "complete" });
    expect((await ada!.send("events/unsubscribe", params)).error).toMatchObject(missing);
    await ada!.emit(note("nothing"));
    await ring(ada!);
    expect(own.receivers.events(url)).toEqual([]);
  });
});

describe("a delivery", () => {
  /** A caller with a subscription to a receiver that then answers so. */
  async function subscribed(answer?: Answer, more: Json = {}, sent = {}) {
    const ada = await caller();
    const url = own.receivers.add();
    const params = webhook(url, more);
    const granted = await ada.ask("events/subscribe", params, sent);
    if (answer !== undefined) own.receivers.change(url, answer);
    return { ada, url, params, granted };
  }

  /** Lets the next attempts come: time goes on by this much, and the alarm rings. */
  async function later(of: { name: string }, ms: number) {
    clock.aheadMs += ms;
    await ring(of);
  }

  test("is tried five times in a quarter of an hour with new timestamps, and then given up", async () => {
    const failing = () => new Response(null, { status: 500 });
    const { ada, url, params } = await subscribed(failing, { ttlMs: null });
    const began = Date.now();
    await ada.emit(note("lost"));
    await delivered(url, 1);
    for (const seconds of [11, 61, 181, 481]) await later(ada, seconds * 1000);
    expect(Date.now() - began).toBeLessThan(15 * 60_000);
    const tries = own.receivers.of(url).slice(1);
    expect(tries).toHaveLength(5);
    expect(new Set(tries.map(({ headers }) => headers.get("webhook-timestamp"))).size).toBe(5);
    expect(new Set(tries.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    for (const one of tries) expect(await isSigned(one, params["delivery"].secret)).toBe(true);
    await later(ada, 3_000_000);
    expect(own.receivers.of(url)).toHaveLength(6);
    const { deliveryStatus } = await ada.ask("events/subscribe", params);
    expect(deliveryStatus).toMatchObject({
      active: true,
      lastError: "http_5xx",
      lastDeliveryAt: null,
      failedSince: expect.any(String),
    });
  });

  test.each([410, 413])("that is answered %i ends that event alone", async (status) => {
    const { ada, url } = await subscribed(() => new Response(null, { status }));
    await ada.emit(note("unwanted"));
    await delivered(url, 1);
    await later(ada, 1_000_000);
    expect(own.receivers.events(url)).toHaveLength(1);
    own.receivers.change(url, accepting);
    await ada.emit(note("wanted"));
    await ring(ada);
    await delivered(url, 2);
  });

  test.each([301, 302, 307, 308, 400, 425, 429, 503])(
    "that is answered %i is tried again, and goes nowhere else",
    async (status) => {
      const elsewhere = "https://elsewhere.example.net/x";
      const headers = { location: elsewhere };
      const { ada, url } = await subscribed(() => new Response(null, { status, headers }));
      await ada.emit(note("again"));
      await delivered(url, 1);
      own.receivers.change(url, accepting);
      await later(ada, 11_000);
      expect(textsAt(url)).toEqual(["again", "again"]);
      expect(own.receivers.of(elsewhere)).toEqual([]);
      await later(ada, 1_000_000);
      expect(textsAt(url)).toHaveLength(2);
    },
  );

  test("counts the attempts of each event apart", async () => {
    const { ada, url } = await subscribed(() => new Response(null, { status: 500 }));
    await ada.emit(note("one"));
    await delivered(url, 1);
    // The second event is due before the first is again.
    const due = vi.spyOn(SubscriptionStore.prototype, "due").mockReturnValue([]);
    await ada.emit(note("two"));
    await ring(ada);
    due.mockRestore();
    await later(ada, 11_000);
    expect(textsAt(url)).toEqual(["one", "one", "two"]);
    await later(ada, 11_000);
    expect(textsAt(url)).toEqual(["one", "one", "two", "two"]);
  });

  test("does not wait for a time that is far ahead since the clock was set back", async () => {
    const { ada, url } = await subscribed(() => new Response(null, { status: 500 }));
    clock.aheadMs = 3_000_000;
    await ada.emit(note("one"));
    await ring(ada);
    await delivered(url, 1);
    clock.aheadMs = 0;
    own.receivers.change(url, accepting);
    await ada.emit(note("two"));
    await ring(ada);
    await delivered(url, 3);
    expect(textsAt(url).toSorted()).toEqual(["one", "one", "two"]);
  });

  test("of an event that fails does not hold up those after it", async () => {
    const { ada, url } = await subscribed(({ body }) =>
      body.data?.text === "poison"
        ? new Response(null, { status: 500 })
        : accepting({ body } as Received),
    );
    await ada.emit(note("poison"));
    await delivered(url, 1);
    await ada.emit(note("good"));
    await delivered(url, 2);
    expect(textsAt(url)).toEqual(["poison", "good"]);
  });

  test("has a cursor up to which all events are delivered or given up", async () => {
    const { ada, url, params } = await subscribed(({ body }) =>
      body.data?.text === "poison"
        ? new Response(null, { status: 500 })
        : accepting({ body } as Received),
    );
    await ada.emit(note("poison"));
    await delivered(url, 1);
    await ada.emit(note("good"));
    await delivered(url, 2);
    const behind = own.receivers.events(url)[1].cursor;
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor: behind });
    expect(events.map(({ data }: any) => data.text)).toEqual(["poison", "good"]);
    expect((await ada.ask("events/subscribe", params)).cursor).toBe(behind);
    own.receivers.change(url, accepting);
    await later(ada, 11_000);
    await delivered(url, 3);
    const { cursor } = await ada.ask("events/subscribe", params);
    expect((await ada.ask("events/poll", { ...NOTE, cursor })).events).toEqual([]);
  });

  test("to a slow receiver delays no other", async () => {
    const { ada, url } = await subscribed(() => new Promise(() => {}));
    limited({ deliveryMs: 2000 });
    const fast = own.receivers.add();
    await ada.ask("events/subscribe", webhook(fast));
    for (const text of ["one", "two", "three"]) await ada.emit(note(text));
    await delivered(fast, 3);
    expect(own.receivers.events(url)).toHaveLength(1);
  });

  test("to many failing receivers that answer no more delays no other", async () => {
    const { ada } = await subscribed();
    const failing = Array.from({ length: 6 }, () => own.receivers.add());
    for (const url of failing) await ada.ask("events/subscribe", webhook(url));
    for (const url of failing) own.receivers.change(url, () => new Response(null, { status: 500 }));
    await ada.emit(note("first"));
    for (const url of failing) await delivered(url, 1);
    limited({ deliveryMs: 2000 });
    for (const url of failing) own.receivers.change(url, () => new Promise(() => {}));
    const healthy = own.receivers.add();
    await ada.ask("events/subscribe", webhook(healthy));
    for (const text of ["one", "two", "three"]) await ada.emit(note(text));
    await delivered(healthy, 3);
    const attempts = failing.flatMap((url) => own.receivers.events(url));
    expect(attempts).toHaveLength(failing.length + limits.deliveriesAtOnce - 1);
  });

  test("never reads the body of the answer", async () => {
    let read = 0;
    const { ada, url } = await subscribed(
      () =>
        new Response(
          new ReadableStream(
            {
              pull(controller) {
                read++;
                controller.enqueue(new Uint8Array(65_536));
              },
            },
            { highWaterMark: 0 },
          ),
        ),
    );
    await ada.emit(note("one"));
    await delivered(url, 1);
    await ada.emit(note("two"));
    await delivered(url, 2);
    expect(read).toBeLessThan(3);
  });

  test("is signed with both secrets for a short time after a change", async () => {
    const { ada, url, params } = await subscribed();
    const before = params["delivery"].secret as string;
    const secret = newSecret();
    await ada.ask("events/subscribe", { ...params, delivery: { ...params["delivery"], secret } });
    await ada.emit(note("both"));
    await delivered(url, 1);
    const both = own.receivers.of(url).at(-1)!;
    expect([await isSigned(both, before), await isSigned(both, secret)]).toEqual([true, true]);
    clock.aheadMs += 11 * 60_000;
    await ada.emit(note("new"));
    await ring(ada);
    await delivered(url, 2);
    const one = own.receivers.of(url).at(-1)!;
    expect([await isSigned(one, before), await isSigned(one, secret)]).toEqual([false, true]);
  });

  test("is suspended if nearly all of a hundred fail, and goes on with the next refresh", async () => {
    limited({ suspensionAttempts: 10, pendingDeliveries: 20 });
    const { ada, url, params } = await subscribed(() => new Response(null, { status: 500 }));
    for (let nth = 0; nth < 10; nth++) await ada.emit(note(`${nth}`));
    await delivered(url, 10);
    await ada.emit(note("later"));
    await later(ada, 30_000);
    expect(own.receivers.events(url)).toHaveLength(10);
    own.receivers.change(url, accepting);
    const { deliveryStatus } = await ada.ask("events/subscribe", params);
    expect(deliveryStatus).toMatchObject({ active: true, lastError: "http_5xx" });
    await ring(ada);
    await delivered(url, 21);
    expect(textsAt(url).slice(10).toSorted()).toEqual(
      [...Array.from({ length: 10 }, (_, nth) => `${nth}`), "later"].toSorted(),
    );
  });

  test("ends with the time to live of its subscription", async () => {
    const { ada, url } = await subscribed(undefined, { ttlMs: 60_000 });
    await later(ada, 61_000);
    await ada.emit(note("late"));
    await ring(ada);
    expect(own.receivers.events(url)).toEqual([]);
  });

  const CONTROL = {
    capabilities: { extensions: { "io.modelcontextprotocol/events": {} } },
  };

  test.each<[what: string, sent: object, isTold: boolean]>([
    ["is told of a gap where its client has the extension", CONTROL, true],
    ["is told of none otherwise", {}, false],
  ])("that was given up: the receiver %s", async (_what, sent, isTold) => {
    const failing = () => new Response(null, { status: 500 });
    const { ada, url, params } = await subscribed(failing, {}, sent);
    await ada.emit(note("lost"));
    await delivered(url, 1);
    for (const seconds of [11, 61, 181, 481]) await later(ada, seconds * 1000);
    own.receivers.change(url, accepting);
    await ada.emit(note("next"));
    await ring(ada);
    await delivered(url, 6);
    const gaps = own.receivers.of(url).filter(({ body }) => body.type === "gap");
    expect(gaps).toHaveLength(isTold ? 1 : 0);
    // Its client is told with the next refresh.
    const refreshes = [];
    for (let nth = 0; nth < 2; nth++)
      refreshes.push((await ada.ask("events/subscribe", params, sent)).truncated);
    expect(refreshes).toEqual([!isTold, false]);
    if (!isTold) return;
    expect(gaps[0]!.body).toEqual({ type: "gap", cursor: expect.any(String) });
    expect(gaps[0]!.headers.get("webhook-id")).toMatch(/^msg_gap_/);
  });

  test("of more events than may wait gives up the oldest", async () => {
    limited({ pendingDeliveries: 3 });
    const { ada, url } = await subscribed(() => new Response(null, { status: 500 }), {}, CONTROL);
    for (const text of ["one", "two", "three", "four", "five"]) await ada.emit(note(text));
    await ring(ada);
    own.receivers.change(url, accepting);
    const before = own.receivers.received.length;
    await later(ada, 11_000);
    const bodies = own.receivers.received.slice(before).map(({ body }) => body);
    expect(bodies.map(({ type, data }) => type ?? data.text)).toEqual([
      "gap",
      "three",
      "four",
      "five",
    ]);
  });
});
