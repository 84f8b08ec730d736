import { expect } from "vitest";
import type { Json } from "../../../../src/server/kernel/core/model.ts";
import type { Means } from "../../../../src/server/kernel/servlets/hyper/token.ts";

export const TOKEN_URL = "https://auth.example/token";
export const DEVICE_URL = "https://auth.example/device";
export const START = 1_700_000_000_250;
export const SECRET = "s3cr:t/ü";

export const client = { client_id: "probe", token_endpoint_url: TOKEN_URL };
export const byDevice = { ...client, device_authorization_url: DEVICE_URL };
export const granted = { access_token: "t0ken", token_type: "Bearer" };
export const device = {
  device_code: "dev1ce",
  user_code: "WDJB-MJHT",
  verification_uri: "https://auth.example/go",
  expires_in: 1800,
  interval: 5,
};

/** An answer of the fake server: a status with a body (JSON, or text as it is), or an error that the request throws. */
export type Reply = { status?: number; body: unknown } | Error;

export const ok = (body: unknown): Reply => ({ body });
export const no = (error: string): Reply => ({ status: 400, body: { error } });

/** An authorization server and a user who are scripted, and a clock that only they and sleep move. */
export function scripted(replies: Reply[], elicited: Json = { action: "accept" }, userTakesMs = 0) {
  const seen = {
    requests: [] as { url: unknown; form: string; authorization: unknown; at: number }[],
    asked: [] as Json[],
  };
  let now = START;
  const left = [...replies];
  const does: Means = {
    async request({ url, method, headers }, body) {
      const given = headers as Record<string, string>;
      expect(method).toBe("POST");
      expect(given["content-type"]).toBe("application/x-www-form-urlencoded");
      expect(given["accept"]).toBe("application/json");
      const form = new TextDecoder().decode(body);
      seen.requests.push({ url, form, authorization: given["authorization"], at: now - START });
      const reply = left.length > 1 ? left.shift()! : left[0]!;
      if (reply instanceof Error) throw reply;
      const text = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
      return {
        status: reply.status ?? 200,
        headers: {},
        body: new Uint8Array(new TextEncoder().encode(text)),
      };
    },
    async elicit(params) {
      seen.asked.push(params);
      now += userTakesMs;
      return elicited;
    },
    async sleep(ms) {
      now += ms;
    },
    now: () => now,
  };
  return { does, seen };
}
