import { describe, expect, test } from "vitest";
import { GuestError } from "../../../../src/server/kernel/wasm/guest.ts";
import { accessToken } from "../../../../src/server/kernel/servlets/hyper/token.ts";
import {
  TOKEN_URL,
  DEVICE_URL,
  byDevice,
  granted,
  device,
  ok,
  no,
  scripted,
} from "./token-script.ts";

/** `get_access_token` where a user has to agree, on another device. */
describe("the device grant", () => {
  const POLL =
    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev1ce&client_id=probe";

  test("asks the user, then polls as fast as the server wants", async () => {
    const replies = [
      ok(device),
      no("authorization_pending"),
      no("slow_down"),
      no("authorization_pending"),
      ok({ ...granted, expires_in: 60, scope: "read" }),
    ];
    const { does, seen } = scripted(replies, { action: "accept" }, 7000);
    const more = { scopes: ["read"], extra_params: { audience: "api" } };
    expect(await accessToken({ ...byDevice, ...more }, does)).toEqual({
      access_token: "t0ken",
      expires_at: { secs_since_epoch: 1_700_000_092, nanos_since_epoch: 250_000_000 },
      scopes: ["read"],
    });
    const authorization = undefined;
    expect(seen.requests).toEqual([
      { url: DEVICE_URL, form: "audience=api&scope=read&client_id=probe", authorization, at: 0 },
      { url: TOKEN_URL, form: POLL, authorization, at: 7000 },
      { url: TOKEN_URL, form: POLL, authorization, at: 12_000 },
      { url: TOKEN_URL, form: POLL, authorization, at: 22_000 },
      { url: TOKEN_URL, form: POLL, authorization, at: 32_000 },
    ]);
    expect(seen.asked).toEqual([
      {
        mode: "url",
        message: "Open this page to sign in, and enter the code WDJB-MJHT. You have 3 minutes.",
        url: "https://auth.example/go",
        elicitationId: "WDJB-MJHT",
        timeout: 180_000,
      },
    ]);
  });

  test("with a secret authenticates every request", async () => {
    const { does, seen } = scripted([ok(device), ok(granted)]);
    await accessToken({ ...byDevice, client_secret: "s" }, does);
    const authorization = `Basic ${btoa("probe:s")}`;
    expect(seen.requests).toMatchObject([
      { form: "", authorization },
      { form: POLL.replace("&client_id=probe", ""), authorization },
    ]);
  });

  test.each([
    [
      "the page that has the code in it",
      { verification_uri_complete: "https://auth.example/go?c=1" },
      "https://auth.example/go?c=1",
    ],
    [
      "the page by its older name",
      { verification_uri: undefined, verification_url: "https://auth.example/old" },
      "https://auth.example/old",
    ],
  ])("shows %s", async (_case, more, url) => {
    const { does, seen } = scripted([ok({ ...device, ...more }), ok(granted)]);
    expect(await accessToken(byDevice, does)).not.toBeNull();
    expect(seen.asked).toMatchObject([
      { url, message: expect.stringContaining("the code WDJB-MJHT") },
    ]);
  });

  test("polls with the default interval where the server names none, and never without one", async () => {
    for (const [interval, at] of [
      [undefined, 5000],
      [null, 5000],
      [0, 1000],
      [2, 2000],
    ] as const) {
      const replies = [ok({ ...device, interval }), no("authorization_pending"), ok(granted)];
      const { does, seen } = scripted(replies);
      await accessToken(byDevice, does);
      expect(seen.requests[2]?.at).toBe(at);
    }
  });

  test("takes an error from a server that gives all of them the status of a success", async () => {
    const { does } = scripted([ok(device), ok({ error: "authorization_pending" }), ok(granted)]);
    expect(await accessToken(byDevice, does)).toMatchObject({ access_token: "t0ken" });
  });

  test.each([{ action: "decline" }, { action: "cancel" }, {}])(
    "null, without a poll, where the user answers %j",
    async (answer) => {
      const { does, seen } = scripted([ok(device), ok(granted)], answer);
      expect(await accessToken(byDevice, does)).toBeNull();
      expect(seen.requests).toHaveLength(1);
    },
  );

  test.each([
    ["expired_token", no("expired_token")],
    ["access_denied", no("access_denied")],
    ["a page of HTML", { status: 503, body: "<html>" }],
    ["no token", ok({})],
  ])("null, at once, where a poll is answered by %s", async (_case, reply) => {
    const { does, seen } = scripted([ok(device), no("authorization_pending"), reply]);
    expect(await accessToken(byDevice, does)).toBeNull();
    expect(seen.requests).toHaveLength(3);
  });

  test.each([
    ["the servlet's time", { device_auth_timeout_secs: 12 }, {}, 12_000, "12 seconds"],
    ["the default time", {}, {}, 180_000, "3 minutes"],
    ["the code's time", { device_auth_timeout_secs: 600 }, { expires_in: 20 }, 20_000, "20 sec"],
  ])("polls until %s is over", async (_case, more, said, ms, told) => {
    const { does, seen } = scripted([ok({ ...device, ...said }), no("authorization_pending")]);
    expect(await accessToken({ ...byDevice, ...more }, does)).toBeNull();
    expect(seen.asked).toMatchObject([{ timeout: ms, message: expect.stringContaining(told) }]);
    expect(seen.requests.at(-1)?.at).toBe(Math.floor(ms / 5000) * 5000);
  });

  test("a user who takes too long gets nothing", async () => {
    const { does, seen } = scripted([ok(device), ok(granted)], { action: "accept" }, 180_001);
    expect(await accessToken(byDevice, does)).toBeNull();
    expect(seen.requests).toHaveLength(1);
  });

  test("backs off from a host that has answered before and then does not", async () => {
    const down = new GuestError("The host auth.example could not be reached.");
    const replies = [ok(device), no("authorization_pending"), down, down, ok(granted)];
    const { does, seen } = scripted(replies);
    expect(await accessToken(byDevice, does)).toMatchObject({ access_token: "t0ken" });
    expect(seen.requests.map(({ at }) => at)).toEqual([0, 0, 5000, 15_000, 35_000]);
  });

  test.each([
    ["the device endpoint", (refusal: Error) => [refusal], 1],
    ["the token endpoint", (refusal: Error) => [ok(device), refusal], 2],
  ])("ends the call where %s is refused", async (_case, replies, requests) => {
    const refusal = new GuestError("The servlet may not make HTTP requests to auth.example.");
    const { does, seen } = scripted(replies(refusal));
    await expect(accessToken(byDevice, does)).rejects.toBe(refusal);
    expect(seen.requests).toHaveLength(requests);
  });

  test("lets through what interrupts the call", async () => {
    const wait = new Error("not the guest's");
    const { does } = scripted([ok(device), no("authorization_pending"), wait]);
    await expect(accessToken(byDevice, does)).rejects.toBe(wait);
  });

  test.each([
    ["an error", no("unauthorized_client")],
    ["text that is not JSON", ok("nope")],
    ["no device_code", ok({ ...device, device_code: undefined })],
    ["no user_code", ok({ ...device, user_code: undefined })],
    ["no page", ok({ ...device, verification_uri: undefined })],
    ["a page that is not a web page", ok({ ...device, verification_uri: "javascript:alert(1)" })],
    ["no expiry", ok({ ...device, expires_in: undefined })],
  ])("null, with nobody asked, where the device endpoint answers %s", async (_case, reply) => {
    const { does, seen } = scripted([reply]);
    expect(await accessToken(byDevice, does)).toBeNull();
    expect(seen.asked).toEqual([]);
    expect(seen.requests).toHaveLength(1);
  });

  test("a second run from the same answers asks for the same", async () => {
    const runs = [1, 2].map(async () => {
      const { does, seen } = scripted([ok(device), no("slow_down"), ok(granted)]);
      await accessToken(byDevice, does);
      return seen;
    });
    const [first, second] = await Promise.all(runs);
    expect(second).toEqual(first);
  });
});
