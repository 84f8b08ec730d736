import { features } from "../../all-features.ts";
import { env } from "cloudflare:workers";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle as all } from "../../bundle.gen.ts";
import { modern, post } from "../server.ts";

/** Without the servlets whose lists depend on a caller's state: what is listed with them is for one caller alone. */
export const bundle = {
  features,
  servlets: all.servlets.filter(({ manifest, lists }) => manifest.state === undefined || lists),
};

/** Servers whose callers have API keys: each owner's key is the owner's name. */

async function hashOf(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return new Uint8Array(digest).toHex();
}

const SCOPES = { reader: ["http-status:*"], greeter: ["hello:gre*", "clock:*"] };

/** API_KEYS with a key for each of these names. */
export const hashed = async (names: readonly string[]): Promise<string> =>
  JSON.stringify(
    Object.fromEntries(await Promise.all(names.map(async (one) => [one, await hashOf(one)]))),
  );

export async function serverOf(
  keys: Record<string, object>,
  settings: object = { SCOPES: JSON.stringify(SCOPES) },
) {
  const held = Object.entries(keys).map(async ([name, key]) => [
    name,
    { hash: await hashOf(name), ...key },
  ]);
  const API_KEYS = JSON.stringify(Object.fromEntries(await Promise.all(held)));
  return createApp(new Kernel(bundle, { ...env, ...settings, API_KEYS }));
}

export type Server = Awaited<ReturnType<typeof serverOf>>;

export function send(
  server: Server,
  key: string,
  method: string,
  params: Record<string, unknown> = {},
) {
  const { body, headers } = modern(method, params);
  return post(body, { ...headers, authorization: `Bearer ${key}` }, server);
}

export const greet = { name: "greet", arguments: { name: "Ada" } };
