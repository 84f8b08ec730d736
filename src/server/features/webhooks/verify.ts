/**
 * Verifies deliveries by their signatures, as their senders document them:
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries,
 * https://docs.stripe.com/webhooks/signatures, https://docs.slack.dev/authentication/verifying-requests-from-slack,
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { isObject } from "../../kernel/core/model.ts";
import { jsonIn } from "../../kernel/core/text.ts";
import { signedPieces, type Verification } from "../../kernel/servlets/webhook-schema.ts";
import { limits } from "./limits.ts";

/** A request to a webhook, with its body as it was sent. */
export interface HookRequest {
  headers: Headers;
  body: Uint8Array<ArrayBuffer>;
}

/** Why a delivery is refused. */
export type RefusalReason = "unsigned" | "forged" | "stale" | "early" | "unusable-secret";

/** A delivery with a right signature; or why it is refused, with what the sender is told. */
export type Verdict =
  | {
      /** The sender's own id. */
      id?: string | undefined;
      /** The time that was signed, as it was sent. */
      timestamp?: string | undefined;
    }
  | { refusal: RefusalReason; message: string };

type SignatureVerification = Exclude<Verification, { type: "none" }>;

/** A scheme of signatures: where the parts of a delivery are, and how they are signed. */
interface Scheme {
  /** The name of the header with the signature, for messages. */
  header: string;
  /** The signatures in that header; there are several while a sender changes its secret. */
  signatures(headers: Headers): string[];
  decode(signature: string): Uint8Array<ArrayBuffer> | undefined;
  hash: "SHA-1" | "SHA-256" | "SHA-512";
  /** The key of the HMAC; undefined for a secret of another form. */
  key(secret: string): Uint8Array<ArrayBuffer> | undefined;
  /** As `signed` of a description. */
  signed: string;
  timestamp?(headers: Headers): string | null;
  id?(headers: Headers): string | null;
  /** The member of a JSON body that is the id. */
  bodyId?: string;
}

const encoder = new TextEncoder();

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromHex(text);
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

/** The rest of each value that begins with this prefix. */
const prefixed = (values: readonly string[], prefix: string): string[] =>
  values.flatMap((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : []));

const textKey = (secret: string) => new Uint8Array(encoder.encode(secret));

/** A string member of a JSON body; undefined if it is absent or empty. */
function memberOf({ body }: HookRequest, name: string): string | undefined {
  const value = jsonIn(new TextDecoder().decode(body));
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === "string" && found !== "" ? found : undefined;
}

const headerOf = (name: string) => (headers: Headers) => headers.get(name);

/** The items of `Stripe-Signature`, such as `t=1492774577,v1=5257…`. */
const stripeItems = (headers: Headers): string[] =>
  (headers.get("stripe-signature") ?? "").split(",").map((item) => item.trim());

/** A header of Standard Webhooks, which many senders call by the name of its first library. */
const standardHeader = (headers: Headers, name: string): string | null =>
  headers.get(`webhook-${name}`) ?? headers.get(`svix-${name}`);

const SENDERS: Readonly<Record<Exclude<SignatureVerification["type"], "hmac">, Scheme>> = {
  github: {
    header: "X-Hub-Signature-256",
    signatures: (headers) => prefixed([headers.get("x-hub-signature-256") ?? ""], "sha256="),
    decode: fromHex,
    hash: "SHA-256",
    key: textKey,
    signed: "{body}",
    id: headerOf("x-github-delivery"),
  },
  stripe: {
    header: "Stripe-Signature",
    // Other schemes than v1 prove nothing.
    signatures: (headers) => prefixed(stripeItems(headers), "v1="),
    decode: fromHex,
    hash: "SHA-256",
    key: textKey,
    signed: "{timestamp}.{body}",
    timestamp: (headers) => prefixed(stripeItems(headers), "t=")[0] ?? null,
    bodyId: "id",
  },
  slack: {
    header: "X-Slack-Signature",
    signatures: (headers) => prefixed([headers.get("x-slack-signature") ?? ""], "v0="),
    decode: fromHex,
    hash: "SHA-256",
    key: textKey,
    signed: "v0:{timestamp}:{body}",
    timestamp: headerOf("x-slack-request-timestamp"),
    bodyId: "event_id",
  },
  standard: {
    header: "webhook-signature",
    signatures: (headers) =>
      prefixed((standardHeader(headers, "signature") ?? "").split(" "), "v1,"),
    decode: fromBase64,
    hash: "SHA-256",
    key: (secret) => fromBase64(secret.replace(/^whsec_/, "")),
    signed: "{id}.{timestamp}.{body}",
    timestamp: (headers) => standardHeader(headers, "timestamp"),
    id: (headers) => standardHeader(headers, "id"),
  },
};

const HASHES = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" } as const;

/** Standard Webhooks that are signed with a private key. */
const ASYMMETRIC: Scheme = {
  ...SENDERS.standard,
  signatures: (headers) =>
    prefixed((standardHeader(headers, "signature") ?? "").split(" "), "v1a,"),
  key: (secret) => fromBase64(secret.slice(PUBLIC_KEY.length)),
};
const PUBLIC_KEY = "whpk_";

function schemeOf(verify: SignatureVerification, isPublic: boolean): Scheme {
  if (verify.type !== "hmac") return isPublic ? ASYMMETRIC : SENDERS[verify.type];
  const { header, algorithm, encoding, prefix = "", signed, timestamp, id } = verify;
  return {
    header,
    signatures: (headers) => prefixed([headers.get(header) ?? ""], prefix),
    decode: encoding === "hex" ? fromHex : fromBase64,
    hash: HASHES[algorithm],
    key: textKey,
    signed,
    ...(timestamp !== undefined && { timestamp: headerOf(timestamp) }),
    ...(id !== undefined && { id: headerOf(id) }),
  };
}

/** Seconds or ms since 1970 in decimal digits, as ms; undefined for anything else. */
function timeIn(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const number = Number(text);
  return number < 1e11 ? 1000 * number : number;
}

/** Why the signed time is refused at this Unix time in ms. */
function timeProblem(text: string, now: number, toleranceSeconds: number): Verdict | undefined {
  const time = timeIn(text);
  const toleranceMs = 1000 * toleranceSeconds;
  const window = `at most ${toleranceSeconds} seconds from the server's clock`;
  if (time === undefined)
    return { refusal: "unsigned", message: "The time of sending is not a number of seconds." };
  if (time < now - toleranceMs)
    return {
      refusal: "stale",
      message: `The delivery was signed too long ago: it must be ${window}.`,
    };
  if (time > now + toleranceMs)
    return {
      refusal: "early",
      message: `The delivery was signed in the future: it must be ${window}.`,
    };
  return undefined;
}

/** Verifies a delivery at this Unix time in ms. `secret` is the value of the Worker secret. */
export async function verified(
  delivered: HookRequest,
  { verify, secret, now }: { verify: Verification; secret: string; now: number },
): Promise<Verdict> {
  if (verify.type === "none")
    return { id: (verify.id && delivered.headers.get(verify.id)) || undefined };
  const { headers, body } = delivered;
  const isPublic = verify.type === "standard" && secret.startsWith(PUBLIC_KEY);
  const scheme = schemeOf(verify, isPublic);
  const signatures = scheme.signatures(headers).slice(0, limits.deliverySignatures);
  if (signatures.length === 0)
    return {
      refusal: "unsigned",
      message: `The delivery has no signature: ${scheme.header} is missing, or has another form.`,
    };
  const key = await keyOf(scheme, secret, isPublic);
  if (key === undefined) return { refusal: "unusable-secret", message: NO_SECRET };
  const timestamp = scheme.timestamp?.(headers);
  if (timestamp === null)
    return { refusal: "unsigned", message: "The header with the time of sending is missing." };
  const id = scheme.id?.(headers) ?? undefined;
  if (scheme.signed.includes("{id}") && !isUsableId(id, verify))
    return {
      refusal: "unsigned",
      message: "The header with the delivery's id is missing, or has another form.",
    };
  const message = signedBytes(scheme.signed, { timestamp, id }, body);
  let isRight = false;
  for (const text of signatures) {
    const signature = scheme.decode(text);
    // The platform compares in constant time. All are compared, so that the time tells nothing of their order.
    if (signature && (await crypto.subtle.verify(key.algorithm.name, key, signature, message)))
      isRight = true;
  }
  if (!isRight)
    return {
      refusal: "forged",
      message:
        "The signature does not match. Sign the body as it is sent, with the secret that this server has.",
    };
  // Only now: whoever cannot sign learns nothing of the server's clock, and has no body parsed.
  const { toleranceSeconds = limits.deliveryToleranceSeconds } = verify;
  const problem =
    timestamp === undefined ? undefined : timeProblem(timestamp, now, toleranceSeconds);
  if (problem !== undefined) return problem;
  const { bodyId } = scheme;
  return { id: bodyId === undefined ? id : memberOf(delivered, bodyId), timestamp };
}

/** True for an id that can be signed: with a dot, parts of one delivery could be read as those of another. */
const isUsableId = (id: string | undefined, { type }: Verification): boolean =>
  id !== undefined && id !== "" && !(type === "standard" && id.includes("."));

/** The key that verifies; undefined if the secret has another form. */
async function keyOf(
  { key, hash }: Scheme,
  secret: string,
  isPublic: boolean,
): Promise<CryptoKey | undefined> {
  const raw = key(secret);
  if (raw === undefined || raw.length === 0) return undefined;
  const algorithm = isPublic ? { name: "Ed25519" } : { name: "HMAC", hash };
  try {
    return await crypto.subtle.importKey("raw", raw, algorithm, false, ["verify"]);
  } catch {
    return undefined;
  }
}

/** What the sender is told while the secret is missing or unusable; the console tells operators more. */
export const NO_SECRET =
  "This webhook is not set up yet: its operator has to set its secret. Send the delivery again later.";

/** The bytes that the sender has signed. */
function signedBytes(
  signed: string,
  parts: { timestamp: string | undefined; id: string | undefined },
  body: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const pieces = signedPieces(signed).map((piece) => {
    if ("text" in piece) return encoder.encode(piece.text);
    return piece.part === "body" ? body : encoder.encode(parts[piece.part] ?? "");
  });
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
