import * as z from "zod/mini";
import { once } from "../../core/once.ts";
import { limits } from "../../core/limits.ts";
import { isObject, type Json } from "../../core/model.ts";
import { jsonIn } from "../../core/text.ts";
import { GuestError } from "../../wasm/guest.ts";
import type { GuestResponse } from "../../wasm/http.ts";

/** The side effects of a grant. With the same answers it makes the same requests. */
export interface Means {
  /** An HTTP request of the guest. Throws a `GuestError` if it is refused or fails. */
  request(head: Json, body: Uint8Array): Promise<Pick<GuestResponse, "status" | "body">>;
  /** Params of `elicitation/create`, and the guest's `timeout` in ms → `{action, content?}`. */
  elicit(params: Json): Promise<Json>;
  sleep(ms: number): Promise<void>;
  /** Unix time in ms. */
  now(): number;
}

const text = () => z.string("must be a string");
const webUrl = () => z.url({ protocol: /^https?$/, error: "must be an http or https URL" });
const seconds = () => z.int("must be a whole number").check(z.gte(0, "must not be negative"));

/** `OauthCredentials` of https://github.com/hyper-mcp-rs/hyper-mcp/blob/main/src/oauth2.rs */
const credentialsSchema = once(() =>
  z.object({
    auth_type: z.nullish(z.enum(["basicAuth", "requestBody"], "must be basicAuth or requestBody")),
    client_id: text(),
    client_secret: z.nullish(text()),
    device_authorization_url: z.nullish(webUrl()),
    device_auth_timeout_secs: z.nullish(seconds()),
    extra_params: z.nullish(z.record(z.string(), text(), "must be an object of strings")),
    scopes: z.nullish(z.array(text(), "must be an array of strings")),
    token_endpoint_url: webUrl(),
  }),
);
type Credentials = z.infer<ReturnType<typeof credentialsSchema>>;

/** https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
const tokenSchema = once(() =>
  z.object({
    access_token: z.string(),
    token_type: z.string(),
    expires_in: z.nullish(seconds()),
    scope: z.nullish(z.string()),
  }),
);

/** https://www.rfc-editor.org/rfc/rfc8628#section-3.2; servers older than it say `verification_url`. */
const deviceSchema = once(() =>
  z.object({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri_complete: z.nullish(webUrl()),
    verification_uri: z.nullish(webUrl()),
    verification_url: z.nullish(webUrl()),
    expires_in: seconds(),
    interval: z.nullish(seconds()),
  }),
);
type Device = z.infer<ReturnType<typeof deviceSchema>>;

/** The reference host's default. */
const DEVICE_AUTH_TIMEOUT_SECS = 180;
/** The default interval, and the seconds that `slow_down` adds. */
const POLL_SECS = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * `get_access_token`: the device grant if there is a `device_authorization_url`, else the client credentials grant.
 * Returns `{access_token, expires_at, scopes}` as the reference host does, with the time in the form of Rust's serde;
 * null if no token was granted.
 *
 * Written by hand although oauth4webapi exists: it rejects responses that the reference host accepts
 * (`verification_url`, `expires_in: null`, `interval: 0`, other token types), and has no polling.
 *
 * Throws a `GuestError` without secrets if a key of `asked` is wrong, or a request is refused or fails.
 */
export async function accessToken(asked: Json, does: Means): Promise<Json | null> {
  const read = credentialsSchema().safeParse(asked);
  if (!read.success) {
    const { path, message } = read.error.issues[0]!;
    throw new GuestError(`get_access_token: ${path.join(".")} ${message}.`);
  }
  const client = read.data;
  const { device_authorization_url, token_endpoint_url, extra_params, scopes } = client;
  const wanted = { ...extra_params, ...(scopes?.length ? { scope: scopes.join(" ") } : {}) };
  if (device_authorization_url) {
    const { granted } = await post(device_authorization_url, wanted, client, does);
    const device = deviceSchema().safeParse(granted);
    return device.success ? byDevice(device.data, client, does) : null;
  }
  const form = { ...wanted, grant_type: "client_credentials" };
  return tokenOf((await post(token_endpoint_url, form, client, does)).granted, does);
}

/** Asks the user, then polls. https://www.rfc-editor.org/rfc/rfc8628#section-3.3 */
async function byDevice(device: Device, client: Credentials, does: Means): Promise<Json | null> {
  const { user_code, verification_uri_complete: complete } = device;
  const url = complete ?? device.verification_uri ?? device.verification_url;
  if (!url) return null;
  const patience = client.device_auth_timeout_secs ?? DEVICE_AUTH_TIMEOUT_SECS;
  const secs = Math.min(patience, device.expires_in);
  const deadline = does.now() + secs * 1000;
  const todo = complete ? "check that it shows" : "enter";
  const time = secs < 120 ? `${secs} seconds` : `${Math.floor(secs / 60)} minutes`;
  const message = `Open this page to sign in, and ${todo} the code ${user_code}. You have ${time}.`;
  const asked = { mode: "url", message, url, elicitationId: user_code, timeout: secs * 1000 };
  const { action } = await does.elicit(asked);
  return action === "accept" ? poll(device, deadline, client, does) : null;
}

/** https://www.rfc-editor.org/rfc/rfc8628#section-3.4 and 3.5 */
async function poll(
  { device_code, interval }: Device,
  deadline: number,
  client: Credentials,
  does: Means,
): Promise<Json | null> {
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code };
  let pause = Math.max(1, interval ?? POLL_SECS) * 1000;
  for (let answers = 0; does.now() <= deadline; await does.sleep(pause)) {
    try {
      const { granted, error } = await post(client.token_endpoint_url, form, client, does);
      answers++;
      if (error === "slow_down") pause += POLL_SECS * 1000;
      else if (error !== "authorization_pending") return tokenOf(granted, does);
    } catch (error) {
      // A host that has answered before is allowed and reachable, so a retry may succeed.
      if (answers === 0 || !(error instanceof GuestError)) throw error;
      pause *= 2;
    }
  }
  return null;
}

/**
 * Sends a form as the client, authenticated as on the reference host. `granted` is the JSON of a success, `error` that
 * of https://www.rfc-editor.org/rfc/rfc6749#section-5.2.
 */
async function post(
  url: string,
  fields: Record<string, string>,
  { auth_type, client_id, client_secret }: Credentials,
  does: Means,
): Promise<{ granted?: unknown; error?: unknown }> {
  const form = new URLSearchParams(fields);
  const headers: Json = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  };
  const hasSecret = typeof client_secret === "string";
  if (hasSecret && auth_type !== "requestBody") {
    headers["authorization"] = `Basic ${btoa(`${encoded(client_id)}:${encoded(client_secret)}`)}`;
  } else {
    form.set("client_id", client_id);
    if (hasSecret) form.set("client_secret", client_secret);
  }
  const body = encoder.encode(form.toString());
  const response = await does.request({ url, method: "POST", headers }, body);
  if (response.body.length > limits.issuerBytes) return {};
  const json = jsonIn(decoder.decode(response.body));
  const error = isObject(json) ? json["error"] : undefined;
  return response.status === 200 ? { granted: json, error } : { error };
}

/** Encoded for Basic authentication. https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
const encoded = (value: string): string => new URLSearchParams({ "": value }).toString().slice(1);

function tokenOf(granted: unknown, does: Means): Json | null {
  const { data } = tokenSchema().safeParse(granted);
  if (data === undefined) return null;
  const { access_token, expires_in, scope } = data;
  const expires_at =
    typeof expires_in === "number" ? systemTime(does.now() + expires_in * 1000) : null;
  return { access_token, expires_at, scopes: scope?.split(" ") ?? null };
}

/** Unix ms as https://docs.rs/serde writes a `std::time::SystemTime`. */
function systemTime(ms: number): Json {
  const secs_since_epoch = Math.floor(ms / 1000);
  return { secs_since_epoch, nanos_since_epoch: Math.floor(ms % 1000) * 1_000_000 };
}
