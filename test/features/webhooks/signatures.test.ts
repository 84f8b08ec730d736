import { describe, expect, test } from "vitest";
import { verified, type Verdict } from "../../../src/server/features/webhooks/verify.ts";
import type { Verification } from "../../../src/server/kernel/servlets/webhook-schema.ts";
import { settings } from "../../worker/settings.ts";
import { github, json, SECRET, shop, slack, standard, stripe, type Delivery } from "./senders.ts";

/** The signatures of deliveries, with the examples in the documents of their senders. */

const encoder = new TextEncoder();

const verdictOf = (
  { headers, body }: Delivery,
  verify: Verification,
  { secret = SECRET, now = Date.now() } = {},
): Promise<Verdict> => {
  const bytes = typeof body === "string" ? new Uint8Array(encoder.encode(body)) : body;
  return verified({ headers: new Headers(headers), body: bytes }, { verify, secret, now });
};

const of = (type: "github" | "stripe" | "slack" | "standard", more = {}): Verification => ({
  type,
  secret: "S",
  ...more,
});
const STANDARD = { secret: settings.HOOK_STANDARD };

describe("the examples in the documents are right", () => {
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  test("of GitHub", async () => {
    const headers = {
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    };
    const secret = "It's a Secret to Everybody";
    expect(
      await verdictOf({ headers, body: "Hello, World!" }, of("github"), { secret }),
    ).toMatchObject({ id: "72d3162e-cc78-11e3-81ab-4c9367dc0958" });
  });

  // https://docs.slack.dev/authentication/verifying-requests-from-slack
  test("of Slack", async () => {
    const headers = {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    };
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const secret = "8f742231b10e8888abcd99yyyzzz85a5";
    const at = { secret, now: 1531420618_000 + 30_000 };
    expect(await verdictOf({ headers, body }, of("slack"), at)).toEqual({
      id: undefined,
      timestamp: "1531420618",
    });
  });

  // https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries
  test("of Standard Webhooks", async () => {
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const delivery = { headers, body: '{"test": 2432232314}' };
    const at = { ...STANDARD, now: 1614265330_000 };
    const right = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: "1614265330" };
    expect(await verdictOf(delivery, of("standard"), at)).toEqual(right);
    const named = Object.entries(headers).map(([name, value]) => [
      name.replace("webhook-", "svix-"),
      value,
    ]);
    const svix = { ...delivery, headers: Object.fromEntries(named) as Delivery["headers"] };
    expect(await verdictOf(svix, of("standard"), at)).toEqual(right);
  });

  // https://docs.stripe.com/webhooks/signatures: of the header alone, as its secret is not told.
  test("of Stripe's header", async () => {
    const headers = {
      "stripe-signature":
        "t=1492774577,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39",
    };
    expect(await verdictOf({ headers, body: "{}" }, of("stripe"))).toMatchObject({
      refusal: "forged",
    });
    const other = headers["stripe-signature"].replace("v1=", "v2=");
    expect(
      await verdictOf({ headers: { "stripe-signature": other }, body: "{}" }, of("stripe")),
    ).toMatchObject({ refusal: "unsigned" });
  });
});

describe("ids are those of the senders", () => {
  test.each([
    ["github", github("{}", { id: "a-b" }), of("github"), "a-b"],
    ["stripe", stripe(json({ id: "evt_1" })), of("stripe"), "evt_1"],
    ["slack", slack(json({ event_id: "Ev1" })), of("slack"), "Ev1"],
    ["stripe without an id", stripe(json({ id: 5 })), of("stripe"), undefined],
    ["slack with a body that is no JSON", slack("a=b"), of("slack"), undefined],
  ])("%s", async (_name, delivery, verify, id) => {
    expect(await verdictOf(delivery, verify)).toMatchObject({ id });
  });

  test("standard", async () => {
    const delivery = standard("{}", { id: "msg_1" });
    expect(await verdictOf(delivery, of("standard"), STANDARD)).toMatchObject({ id: "msg_1" });
  });
});

const SHOP: Verification = {
  type: "hmac",
  secret: "S",
  header: "X-Shop-Signature",
  algorithm: "sha512",
  encoding: "base64",
  prefix: "v9=",
  signed: "{id}|{timestamp}|{body}",
  timestamp: "X-Shop-Time",
  id: "X-Shop-Id",
};

const without = (delivery: Delivery, ...names: string[]): Delivery => ({
  ...delivery,
  headers: Object.fromEntries(
    Object.entries(delivery.headers).filter(([name]) => !names.includes(name)),
  ),
});
const withHeader = (delivery: Delivery, name: string, value: string): Delivery => ({
  ...delivery,
  headers: { ...delivery.headers, [name]: value },
});

describe("forged deliveries are refused", () => {
  const SIGNATURE = `sha256=${"0".repeat(64)}`;
  test.each<[string, Delivery, Verification, string]>([
    ["another body", { ...github("{}"), body: "{ }" }, of("github"), "forged"],
    ["another secret", github("{}", { secret: "other" }), of("github"), "forged"],
    [
      "another signature",
      withHeader(github("{}"), "x-hub-signature-256", SIGNATURE),
      of("github"),
      "forged",
    ],
    [
      "a short signature",
      withHeader(github("{}"), "x-hub-signature-256", "sha256=00"),
      of("github"),
      "forged",
    ],
    [
      "an empty signature",
      withHeader(github("{}"), "x-hub-signature-256", "sha256="),
      of("github"),
      "forged",
    ],
    [
      "a signature that is no hex",
      withHeader(github("{}"), "x-hub-signature-256", "sha256=xyz"),
      of("github"),
      "forged",
    ],
    [
      "no prefix",
      withHeader(
        github("{}"),
        "x-hub-signature-256",
        github("{}").headers["x-hub-signature-256"]!.slice("sha256=".length),
      ),
      of("github"),
      "unsigned",
    ],
    ["no signature", without(github("{}"), "x-hub-signature-256"), of("github"), "unsigned"],
    ["the signature of another sender", stripe("{}"), of("slack"), "unsigned"],
    [
      "another time than was signed",
      withHeader(slack("{}", { at: 5 }), "x-slack-request-timestamp", String(Date.now() / 1000)),
      of("slack"),
      "forged",
    ],
    ["no time", without(slack("{}"), "x-slack-request-timestamp"), of("slack"), "unsigned"],
    ["another id than was signed", withHeader(shop("{}"), "x-shop-id", "b"), SHOP, "forged"],
    ["no id", without(shop("{}"), "x-shop-id"), SHOP, "unsigned"],
    [
      "a right signature after too many wrong ones",
      withHeader(
        stripe("{}", { at: 5 }),
        "stripe-signature",
        ["t=5", ...Array.from({ length: 10 }, () => "v1=00"), "v1=11"].join(),
      ),
      of("stripe"),
      "forged",
    ],
  ])("%s", async (_name, delivery, verify, refusal) => {
    expect(await verdictOf(delivery, verify)).toMatchObject({ refusal });
  });

  test("an id with a dot, by which parts of one delivery could be read as those of another", async () => {
    const delivery = standard("{}", { id: "msg.1" });
    expect(await verdictOf(delivery, of("standard"), STANDARD)).toMatchObject({
      refusal: "unsigned",
    });
  });

  test("one that is signed with the text of a Standard Webhooks secret, or with an empty key", async () => {
    const delivery = withHeader(github("{}"), "webhook-signature", "v1,AAAA");
    for (const secret of ["whsec_", "whsec_###"])
      expect(await verdictOf(delivery, of("standard"), { secret })).toMatchObject({
        refusal: "unusable-secret",
      });
  });
});

describe("the time of sending", () => {
  const now = Date.now();
  const at = Math.floor(now / 1000);
  test.each([
    ["as old as it may be", at - 300, 0, undefined],
    ["older", at - 302, 0, "stale"],
    ["as far ahead as it may be", at + 299, 0, undefined],
    ["further ahead", at + 301, 0, "early"],
    ["as old as the webhook lets it be", at - 30, 30, undefined],
    ["older than the webhook lets it be", at - 32, 30, "stale"],
  ])("%s", async (_name, signedAt, toleranceSeconds, refusal) => {
    const more = toleranceSeconds > 0 ? { toleranceSeconds } : {};
    const fixed = { now: 1000 * at };
    for (const [type, send] of [
      ["slack", slack],
      ["stripe", stripe],
    ] as const)
      expect(await verdictOf(send("{}", { at: signedAt }), of(type, more), fixed)).toMatchObject(
        refusal === undefined ? { timestamp: String(signedAt) } : { refusal },
      );
  });

  test("may be in ms", async () => {
    expect(await verdictOf(shop("{}", { at: now }), SHOP, { now })).toMatchObject({
      timestamp: String(now),
    });
  });

  test.each(["soon", "-5", "1e9", "", "0x5", "9".repeat(30)])("is not %o", async (text) => {
    const delivery = shop("{}", { at: text as unknown as number });
    expect(await verdictOf(delivery, SHOP)).toHaveProperty("refusal");
  });
});

test("a sender that changes its secret signs with both", async () => {
  const [old, fresh] = [stripe("{}", { secret: "old" }), stripe("{}")];
  const both = `${old.headers["stripe-signature"]},${fresh.headers["stripe-signature"]!.split(",")[1]}`;
  expect(await verdictOf(withHeader(fresh, "stripe-signature", both), of("stripe"))).toHaveProperty(
    "timestamp",
  );
});

test("Standard Webhooks may be signed by a key pair", async () => {
  const pair = (await crypto.subtle.generateKey({ name: "Ed25519" }, true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const raw = new Uint8Array((await crypto.subtle.exportKey("raw", pair.publicKey)) as ArrayBuffer);
  const at = Math.floor(Date.now() / 1000);
  const signed = encoder.encode(`msg_1.${at}.{}`);
  const signature = new Uint8Array(
    await crypto.subtle.sign({ name: "Ed25519" }, pair.privateKey, signed),
  ).toBase64();
  const delivery = withHeader(
    standard("{}", { id: "msg_1", at }),
    "webhook-signature",
    `v1,AAAA v1a,${signature}`,
  );
  const secret = `whpk_${raw.toBase64()}`;
  expect(await verdictOf(delivery, of("standard"), { secret })).toMatchObject({ id: "msg_1" });
  expect(await verdictOf({ ...delivery, body: "{ }" }, of("standard"), { secret })).toMatchObject({
    refusal: "forged",
  });
});

test("the secret is in no message", async () => {
  const verdict = await verdictOf(github("{}", { secret: "other" }), of("github"));
  expect(JSON.stringify(verdict)).not.toContain(SECRET);
});
