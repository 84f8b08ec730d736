/** Requests to the receivers of webhooks. https://www.standardwebhooks.com */
import { withoutDot } from "../../kernel/core/host-name.ts";
import { fits } from "../../kernel/core/glob.ts";
import { textWithin } from "../../kernel/http/body.ts";
import { isPrivate } from "../../kernel/http/private-hosts.ts";
import { limits } from "./limits.ts";
import {
  challengeIn,
  deliveryHeaders,
  secretBytes,
  verificationBody,
  type ReceiverError,
} from "./wire.ts";

/** The hosts to which this server may deliver. */
export interface ReceiverPolicy {
  /** Globs; empty for all public hosts. */
  allowed: readonly string[];
  /** The server's own hosts, without ports. */
  own: readonly string[];
}

/** Why a URL cannot be a receiver, and whether the operator's list is the reason; undefined if it can be one. */
export function receiverProblem(
  url: string,
  { allowed, own }: ReceiverPolicy,
): { text: string; isForbidden: boolean } | undefined {
  const wrong = (text: string) => ({ text, isForbidden: false });
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== "https:")
    return wrong("delivery.url must be an https URL");
  if (parsed.username !== "" || parsed.password !== "" || url.includes("#"))
    return wrong("delivery.url must have no user name, password or fragment");
  const host = withoutDot(parsed.hostname);
  if (own.some((name) => withoutDot(name) === host))
    return wrong("delivery.url is this server itself: name another receiver");
  const isNamed = allowed.includes(host);
  if (isPrivate(host) && !isNamed)
    return wrong(`delivery.url is on the private host ${host}: name a public one`);
  if (allowed.length === 0 || isNamed || allowed.some((glob) => fits(glob, host))) return undefined;
  return {
    text: `This server does not deliver to ${host}: its operator's list of hosts lacks it`,
    isForbidden: true,
  };
}

/** A message for a receiver. */
export interface ReceiverMessage {
  url: string;
  /** The current secret, and the earlier one for a short time after a change. */
  secrets: readonly string[];
  /** The subscription's id. */
  subscription: string;
  /** The event's id; for other messages, an id of their own. */
  id: string;
  /** JSON. */
  body: string;
}

/** A receiver's answer: its status, or why there is none. */
export type ReceiverAnswer = { status: number } | { error: ReceiverError };

/** Sends a message. Never throws; never follows a redirect, and reads nothing of the answer. */
export async function sendToReceiver(message: ReceiverMessage): Promise<ReceiverAnswer> {
  const sent = await sendFor(message, async (response) => {
    await response.body?.cancel();
    return response.status;
  });
  return "value" in sent ? { status: sent.value } : sent;
}

/** Sends a challenge; returns why the receiver is not verified, or undefined if it has repeated the challenge. */
export async function verify(
  message: Omit<ReceiverMessage, "body" | "id">,
): Promise<ReceiverError | undefined> {
  const challenge = crypto.randomUUID() + crypto.randomUUID();
  const body = JSON.stringify(verificationBody(challenge));
  const id = `msg_verification_${crypto.randomUUID()}`;
  const sent = await sendFor({ ...message, body, id }, async (response) => {
    if (!response.ok) {
      await response.body?.cancel();
      return errorOf(response.status)!;
    }
    const text = await textWithin(response.body, limits.verificationBytes);
    const given = text === undefined ? undefined : challengeIn(text);
    return given !== undefined && isEqual(given, challenge) ? undefined : "challenge_failed";
  });
  return "value" in sent ? sent.value : sent.error;
}

/** What the specification calls this status; undefined for success. */
export function errorOf(status: number): ReceiverError | undefined {
  if (status >= 200 && status < 300) return undefined;
  return status >= 500 ? "http_5xx" : "http_4xx";
}

/** Sends a signed message, and reads the answer within the time that it has. */
async function sendFor<T>(
  { url, secrets, subscription, id, body }: ReceiverMessage,
  read: (response: Response) => Promise<T>,
): Promise<{ value: T } | { error: ReceiverError }> {
  const seconds = Math.floor(Date.now() / 1000);
  const signature = await signatureOf({ id, seconds, body }, secrets);
  const timeout = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => {});
  // A timer of its own: an aborted fetch does not always settle.
  const timer = setTimeout(() => {
    timeout.abort();
    reject(new DOMException("The receiver answers too slowly.", "TimeoutError"));
  }, limits.deliveryMs);
  try {
    const work = async () =>
      read(
        await fetch(url, {
          method: "POST",
          headers: deliveryHeaders({ id, seconds, signature, subscription }),
          body,
          redirect: "manual",
          signal: timeout.signal,
        }),
      );
    return { value: await Promise.race([work(), late]) };
  } catch (error) {
    return { error: failureOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

function failureOf(error: unknown): ReceiverError {
  const { name = "", message = "" } = error instanceof Error ? error : {};
  if (name === "TimeoutError" || name === "AbortError") return "timeout";
  return /\b(tls|ssl|certificate|handshake)\b/i.test(message) ? "tls_error" : "connection_refused";
}

/** The signatures with all secrets, separated by spaces. */
async function signatureOf(
  { id, seconds, body }: { id: string; seconds: number; body: string },
  secrets: readonly string[],
): Promise<string> {
  const signed = new TextEncoder().encode(`${id}.${seconds}.${body}`);
  const all = await Promise.all(
    secrets.map(async (secret) => {
      const algorithm = { name: "HMAC", hash: "SHA-256" };
      const bytes = secretBytes(secret)!;
      const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
      const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
      return `v1,${signature.toBase64()}`;
    }),
  );
  return all.join(" ");
}

/** Compares in constant time. */
function isEqual(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => new TextEncoder().encode(text));
  return one!.length === other!.length && crypto.subtle.timingSafeEqual(one!, other!);
}
