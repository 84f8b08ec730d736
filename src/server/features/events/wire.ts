/**
 * The events extension on the wire: names, codes and shapes of SEP-3415, a draft. Its next revision is a change of this file.
 * https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 */
import * as z from "zod/mini";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject, type Json, type Notification } from "../../kernel/core/model.ts";
import { once } from "../../kernel/core/once.ts";
import { limits } from "./limits.ts";

/** The capability as the specification names it. */
export const EVENTS_EXTENSION = "io.modelcontextprotocol/events";

/** The members of the capabilities that declare events: ChatGPT reads the one at the top level. */
export const CAPABILITY: Json = { events: {} };

/** The methods. */
export const LIST = "events/list";
export const POLL = "events/poll";
export const STREAM = "events/stream";
export const SUBSCRIBE = "events/subscribe";
export const UNSUBSCRIBE = "events/unsubscribe";

/**
 * The codes that ChatGPT documents. The draft has others for now: -32023 to -32027.
 * `callback` is the failure of a receiver that was verified.
 */
const CODES = {
  notFound: -32_011,
  forbidden: -32_012,
  exhausted: -32_013,
  unsupported: -32_014,
  callback: -32_015,
} as const;

/** An error of the extension, with its code and data. */
export const eventFault = (kind: keyof typeof CODES, message: string, data: Json): Fault =>
  new Fault("extension_error", message, { ownCode: CODES[kind], data });

/** Why a receiver failed, as the specification names it; never a text of the receiver. */
export type ReceiverError =
  | "challenge_failed"
  | "connection_refused"
  | "http_4xx"
  | "http_5xx"
  | "timeout"
  | "tls_error";

/** An event as subscribers receive it. */
export interface Occurrence {
  eventId: string;
  name: string;
  /** ISO 8601. */
  timestamp: string;
  data: Json;
  cursor?: string;
}

/** The notifications of a stream. */
export const notification = (
  kind: "active" | "event" | "heartbeat",
  params: object,
): Notification => ({ method: `notifications/events/${kind}`, params: { ...params } });

/** The bodies that a receiver gets besides events. */
export const verificationBody = (challenge: string): Json => ({ type: "verification", challenge });
export const gapBody = (cursor: string): Json => ({ type: "gap", cursor });
export const terminatedBody = ({ message, ownCode, data }: Fault): Json => ({
  type: "terminated",
  error: { code: ownCode, message, ...(data !== undefined && { data }) },
});

/** The challenge that a receiver's answer repeats; undefined without one. */
export function challengeIn(answer: string): string | undefined {
  try {
    const body: unknown = JSON.parse(answer);
    const challenge = isObject(body) ? body["challenge"] : undefined;
    return typeof challenge === "string" ? challenge : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True for a client that declares the extension in this request: its receiver then takes the bodies `gap` and
 * `terminated`, which the specification defines. ChatGPT takes neither, and does not declare it.
 */
export const takesControlBodies = ({ extensions }: Json): boolean =>
  isObject(extensions) && isObject(extensions[EVENTS_EXTENSION]);

const text = (what: string) => z.string(`${what} must be a string`);
const wholeNumber = (what: string) =>
  z.nullish(z.int(`${what} must be a whole number`).check(z.minimum(0, `${what} is below 0`)));

const subjectShape = () => ({
  name: text("name"),
  arguments: z.optional(
    z.record(z.string(), z.unknown(), "arguments must be an object").check(
      z.refine((given) => JSON.stringify(given).length <= limits.eventArgumentCharacters, {
        error: () =>
          `arguments are too long (limit ${limits.eventArgumentCharacters} characters as JSON)`,
      }),
    ),
  ),
});
const positionShape = () => ({
  cursor: z.nullish(
    text("cursor").check(z.maxLength(200, "cursor is not one of this server's: it is too long")),
  ),
  maxAgeMs: wholeNumber("maxAgeMs"),
});

/** The secret of a subscription, `whsec_` and base64. https://www.standardwebhooks.com */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const SECRET_RULE =
  "delivery.secret must be whsec_ and the base64 of 24 to 64 random bytes, which the client makes";
/** The bytes of a secret; undefined if it is not one. */
export function secretBytes(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const [, base64] = SECRET.exec(secret) ?? [];
  if (base64 === undefined) return undefined;
  try {
    const bytes = Uint8Array.fromBase64(base64);
    return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

const MODE = 'delivery must be {"mode": "webhook", "url", "secret"}';
const schemas = once(() => ({
  poll: z.object({
    ...subjectShape(),
    ...positionShape(),
    maxEvents: z.nullish(z.int("maxEvents must be a whole number").check(z.positive())),
  }),
  stream: z.object({ ...subjectShape(), ...positionShape() }),
  subscribe: z.object({
    ...subjectShape(),
    ...positionShape(),
    delivery: z.object(
      {
        mode: z.string(MODE),
        url: text("delivery.url").check(
          z.maxLength(2048, "delivery.url is too long (limit 2048 characters)"),
        ),
        secret: text("delivery.secret").check(
          z.refine((secret) => secretBytes(secret) !== undefined, SECRET_RULE),
        ),
      },
      MODE,
    ),
    ttlMs: wholeNumber("ttlMs"),
  }),
  unsubscribe: z.object({
    ...subjectShape(),
    delivery: z.object({ url: text("delivery.url") }, 'delivery must be {"url"}'),
  }),
}));

type Schemas = ReturnType<typeof schemas>;

/** The params of a request. Throws `invalid_params` that names what is wrong. */
export function eventParams<K extends keyof Schemas>(kind: K, params: Json): z.infer<Schemas[K]> {
  const { data, error } = z.safeParse(schemas()[kind], params);
  if (data !== undefined) return data as z.infer<Schemas[K]>;
  const [{ path, message }] = error!.issues as [z.core.$ZodIssue];
  const place = path.map(String).join(".");
  throw new Fault("invalid_params", `params.${place}: ${message}.`);
}

/** The state of a subscription's deliveries, in the result of a refresh. */
export interface DeliveryStatus {
  active: boolean;
  /** ISO 8601, or null. */
  lastDeliveryAt: string | null;
  lastError: ReceiverError | null;
  failedSince?: string;
}

/** The result of `events/subscribe`. */
export interface SubscriptionGrant {
  id: string;
  /** ISO 8601: never null, since this server grants no subscription without end. */
  refreshBefore: string;
  cursor: string;
  truncated: boolean;
  deliveryStatus?: DeliveryStatus;
}

/** The headers of a delivery: those of Standard Webhooks, and the subscription's id. */
export const deliveryHeaders = (of: {
  id: string;
  seconds: number;
  signature: string;
  subscription: string;
}): Record<string, string> => ({
  "content-type": "application/json",
  "webhook-id": of.id,
  "webhook-timestamp": String(of.seconds),
  "webhook-signature": of.signature,
  "x-mcp-subscription-id": of.subscription,
});

/** The faults for a missing type of events, and for a missing subscription. */
export const noEvent = (name: string, hint = ""): Fault =>
  eventFault("notFound", `There is no event ${name.slice(0, 100)} here.${hint} See events/list.`, {
    kind: "event",
  });
export const noSubscription = (): Fault =>
  eventFault(
    "notFound",
    "You have no such subscription: it has ended, or its url, name or arguments differ.",
    { kind: "subscription" },
  );
