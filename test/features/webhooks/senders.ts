import { hmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { HookObject } from "../../../src/server/features/webhooks/hook-object.ts";
import { bundle } from "../../bundle.gen.ts";
import { newAddress, serverOf } from "../../worker/calls/client.ts";
import { settings } from "../../worker/settings.ts";

/** Services that send to webhooks of the guest `hooked`, with signatures by an implementation of their own. */

export const SECRET = settings.HOOK_SECRET;
const STANDARD_KEY = Uint8Array.fromBase64(settings.HOOK_STANDARD.slice("whsec_".length));

export interface Delivery {
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer>;
}

interface Sending {
  /** The sender's id of it. */
  id?: string;
  /** When it is signed, in seconds. */
  at?: number;
  secret?: string;
}

const seconds = () => Math.floor(Date.now() / 1000);
const bytesOf = (body: Delivery["body"]) => (typeof body === "string" ? utf8ToBytes(body) : body);
const hexOf = (hash: typeof sha256, secret: string, head: string, body: Delivery["body"]) =>
  bytesToHex(hmac(hash, utf8ToBytes(secret), concatBytes(utf8ToBytes(head), bytesOf(body))));

export const json = (value: unknown): string => JSON.stringify(value);

export const github = (
  body: Delivery["body"],
  { id = crypto.randomUUID(), secret = SECRET }: Sending = {},
): Delivery => ({
  headers: {
    "content-type": "application/json",
    "x-github-event": "issues",
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${hexOf(sha256, secret, "", body)}`,
  },
  body,
});

export const stripe = (
  body: Delivery["body"],
  { at = seconds(), secret = SECRET }: Sending = {},
): Delivery => ({
  headers: {
    "content-type": "application/json",
    "stripe-signature": `t=${at},v1=${hexOf(sha256, secret, `${at}.`, body)},v0=00`,
  },
  body,
});

export const slack = (
  body: Delivery["body"],
  { at = seconds(), secret = SECRET }: Sending = {},
): Delivery => ({
  headers: {
    "content-type": "application/json",
    "x-slack-request-timestamp": String(at),
    "x-slack-signature": `v0=${hexOf(sha256, secret, `v0:${at}:`, body)}`,
  },
  body,
});

export const standard = (
  body: Delivery["body"],
  { id = `msg_${crypto.randomUUID()}`, at = seconds() }: Sending = {},
): Delivery => {
  const signed = concatBytes(utf8ToBytes(`${id}.${at}.`), bytesOf(body));
  const signature = new Uint8Array(hmac(sha256, STANDARD_KEY, signed)).toBase64();
  return {
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(at),
      "webhook-signature": `v1,bm90IHRoaXM= v1,${signature}`,
    },
    body,
  };
};

export const shop = (
  body: Delivery["body"],
  { id = crypto.randomUUID(), at = seconds(), secret = SECRET }: Sending = {},
): Delivery => {
  const signed = concatBytes(utf8ToBytes(`${id}|${at}|`), bytesOf(body));
  const signature = new Uint8Array(hmac(sha512, utf8ToBytes(secret), signed)).toBase64();
  return {
    headers: {
      "x-shop-id": id,
      "x-shop-time": String(at),
      "x-shop-signature": `v9=${signature}`,
    },
    body,
  };
};

export const bare = (body: Delivery["body"]): Delivery => ({
  headers: { "x-bare": bytesToHex(hmac(sha1, utf8ToBytes(SECRET), bytesOf(body))) },
  body,
});

/** Linear takes 200 alone, and calls its retries by the same id. */
export const linear = (
  body: Delivery["body"],
  { id = crypto.randomUUID(), secret = SECRET }: Sending = {},
): Delivery => ({
  headers: { "linear-delivery": id, "linear-signature": hexOf(sha256, secret, "", body) },
  body,
});

export const SENDERS = { github, stripe, slack, standard, shop, bare };

/** A server of its own, so that it refuses nothing for what other tests have sent to it. */
export const hookServer = (variables: object = {}) => serverOf(bundle, variables);
type Server = ReturnType<typeof hookServer>;

interface To {
  server?: Server;
  /** The path after `/hooks/`. */
  hook: string;
  method?: string;
}

export const ORIGIN = "http://localhost:8787";

/** Sends a delivery. */
export async function deliver(
  { headers, body }: Delivery,
  { server = hookServer(), hook, method = "POST" }: To,
): Promise<Response> {
  const url = hook.startsWith("http") ? hook : `${ORIGIN}/hooks/${hook}`;
  const all = { "cf-connecting-ip": newAddress(), ...headers };
  const hasBody = method !== "GET" && method !== "HEAD";
  return server.fetch(new Request(url, { method, headers: all, ...(hasBody && { body }) }));
}

/** The message of a refusal. */
export const errorOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: string }).error;

/** An effect of a run in the world. */
export interface Effect {
  key: string | null;
  what: any;
}

/** The effects of runs since a test began. */
export const effects: Effect[] = [];

/** Before each test of a file the world has seen nothing, and answers. */
export function prepareWorld(): void {
  beforeEach(() => {
    effects.length = 0;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const request = new Request(input as Request, init);
      const key = request.headers.get("idempotency-key");
      effects.push({ key, what: JSON.parse(await request.text()) });
      return new Response("there");
    });
  });
  afterEach(() => void vi.restoreAllMocks());
}

/** Waits until runs have had so many effects, and no more. */
export async function untilEffects(count: number): Promise<Effect[]> {
  await vi.waitFor(() => expect(keys().size).toBeGreaterThanOrEqual(count), 20_000);
  expect(keys().size).toBe(count);
  return effects;
}

/** The effects as the world counts them: a request that is repeated with its key is one. */
export const keys = (): Set<string | null> => new Set(effects.map(({ key }) => key));

const HOOKS = env.HOOKS!;

/** The object of a webhook of the guest. */
export const objectOf = (hook: string): DurableObjectStub<HookObject> =>
  HOOKS.getByName(`hooked/${hook}`);

/** What its page shows of it. */
export const shownOf = async (hook: string) => objectOf(hook).shown();

/** Deletes what earlier tests have left there. */
export async function forgetAll(): Promise<void> {
  for (const hook of [...Object.keys(SENDERS), "linear", "open"]) await objectOf(hook).forget();
}
