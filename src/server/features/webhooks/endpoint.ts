/** `/hooks/SERVLET/NAME`, and `/hooks/SERVLET/NAME/TOKEN` for the webhook of a caller. */
import { originOf } from "../../kernel/auth/origin.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault, report, httpStatus, retryAfterOf } from "../../kernel/core/errors.ts";
import { isObject } from "../../kernel/core/model.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { jsonIn } from "../../kernel/core/text.ts";
import { bodyBytes, isForm, jsonHeaders } from "../../kernel/http/body.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { webhookSecretOf, type Verification } from "../../kernel/servlets/webhook-schema.ts";
import {
  givenBody,
  givenHeaders,
  shownId,
  type HookPlace,
  type HookRef,
  type RefusalCounts,
  type WebhookInput,
} from "./delivery.ts";
import type { VerifiedDelivery } from "./hook-object.ts";
import type { HookObjects } from "./hook-objects.ts";
import { limits } from "./limits.ts";
import {
  NO_SECRET,
  verified,
  type HookRequest,
  type RefusalReason,
  type Verdict,
} from "./verify.ts";

/** What the endpoint uses of the server. */
export interface HookDependencies {
  kernel: Kernel;
  objects: HookObjects;
  refusals: RefusedDeliveries;
}

/** Receives a delivery. Throws for one that is refused: see `refusedDelivery`. */
export async function receiveDelivery(
  raw: Request,
  place: HookPlace,
  { kernel, objects, refusals }: HookDependencies,
): Promise<Response> {
  const { servlet, hook, token } = place;
  const of = { servlet, hook };
  const verify = await verificationOf(of, kernel);
  if (verify === undefined || (token !== undefined && !(await objects.isToken(token, of))))
    return answer(404, "There is no webhook at this address. Copy its URL again.");
  if (raw.method !== "POST")
    throw new Fault("method_not_allowed", `Method ${raw.method} is not allowed. Use POST.`, {
      data: "POST",
    });
  const name = webhookSecretOf(verify);
  const secret = name === undefined ? "" : kernel.deployment.variables[name];
  const refuse = (refusal: RefusalReason, message: string): never => {
    refusals.note(place, refusal);
    throw new Fault(refusal === "unusable-secret" ? "unavailable" : "unauthorized", message);
  };
  if (name !== undefined && !secret) return refuse("unusable-secret", NO_SECRET);
  const body = await bodyBytes(raw, limits.deliveryBytes);
  if (body === undefined)
    throw new Fault(
      "too_large",
      `The body is too large (limit ${limits.deliveryBytes} bytes). Send a smaller one.`,
    );
  const delivered = { headers: raw.headers, body };
  const now = Date.now();
  const verdict = await verified(delivered, { verify, secret: secret ?? "", now });
  if ("refusal" in verdict) return refuse(verdict.refusal, verdict.message);
  const challenge = verify.type === "slack" ? challengeIn(delivered) : undefined;
  if (challenge !== undefined) return plain(challenge);
  const input = inputOf(of, { delivered, verdict, verify, now });
  const received: VerifiedDelivery = {
    ...of,
    ...(token !== undefined && { token: await hexDigest(token) }),
    repeat: await repeatOf(delivered, { verdict, verify }),
    input,
    bytes: body.length,
    origin: originFor(raw, kernel),
  };
  const outcome = await objects.at(place, async (object) => object.receive(received));
  if (unsettled(outcome) === "gone")
    return answer(410, "This webhook was revoked, or its caller has lost access.");
  return new Response(null, { status: statusFor(verify, raw.headers) });
}

/** The status with which a stored delivery is answered. */
function statusFor(verify: Verification, headers: Headers): number {
  // Slack shows the body of the answer to a command, and takes 200 alone.
  if (verify.type === "slack" && isForm(headers)) return 200;
  return ("status" in verify && verify.status) || 202;
}

/** How deliveries to this webhook are verified; undefined if no servlet has it. */
async function verificationOf(
  { servlet, hook }: HookRef,
  kernel: Kernel,
): Promise<Verification | undefined> {
  const { servlets } = await kernel.registry();
  const webhooks = servlets.find(({ name }) => name === servlet)?.manifest.webhooks ?? {};
  return Object.hasOwn(webhooks, hook) ? webhooks[hook]!.verify : undefined;
}

/** The origin of the pages on which operators answer questions of the run. */
function originFor(raw: Request, { people, authenticator }: Kernel): string | undefined {
  return people === undefined || authenticator.isExposed(raw) ? undefined : originOf(raw);
}

/** The longest challenge that is sent back: Slack's have some 50 characters. */
const CHALLENGE_CHARACTERS = 1000;

/** What Slack wants back once, when its address is set: https://docs.slack.dev/reference/events/url_verification */
function challengeIn({ body, headers }: HookRequest): string | undefined {
  if (isForm(headers)) return undefined;
  const event = jsonIn(new TextDecoder().decode(body));
  if (!isObject(event) || event["type"] !== "url_verification") return undefined;
  const { challenge } = event;
  return typeof challenge === "string" && challenge.length <= CHALLENGE_CHARACTERS
    ? challenge
    : undefined;
}

/** A request whose signature is right. */
interface VerifiedRequest {
  delivered: HookRequest;
  verdict: Exclude<Verdict, { refusal: RefusalReason }>;
  verify: Verification;
  now: number;
}

const inputOf = (
  { hook }: HookRef,
  { delivered: { headers, body }, verdict, verify, now }: VerifiedRequest,
): WebhookInput => ({
  name: hook,
  id: shownId(verdict.id ?? crypto.randomUUID()),
  headers: givenHeaders(headers, verify),
  ...givenBody(body),
  receivedAt: new Date(now).toISOString(),
});

/**
 * The digest by which a repeat is known: of the sender's id, else of the body and the signed time. Where nothing is
 * signed it is of this request alone, since storing a request is tried again if its object dies.
 */
async function repeatOf(
  { body }: HookRequest,
  { verdict: { id, timestamp }, verify }: Pick<VerifiedRequest, "verdict" | "verify">,
): Promise<string> {
  if (id !== undefined) return hexDigest(`id ${id}`);
  if (verify.type === "none") return hexDigest(`request ${crypto.randomUUID()}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
  return hexDigest(`body ${timestamp ?? ""} ${digest}`);
}

const plain = (text: string): Response =>
  new Response(text, {
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  });

const answer = (status: number, error: string): Response =>
  new Response(JSON.stringify({ error }), { status, headers: jsonHeaders });

/** The answer to a refused delivery. */
export function refusedDelivery(error: unknown): Response {
  const fault = report(error);
  const { message, data, code } = fault;
  const headers = new Headers(jsonHeaders);
  if (code === "method_not_allowed") headers.set("allow", String(data));
  const retryAfter = retryAfterOf(fault);
  if (retryAfter !== undefined) headers.set("retry-after", retryAfter);
  // The sender is no client of this server, and has no token to get.
  if (code === "unauthorized") headers.set("www-authenticate", "Signature");
  return new Response(JSON.stringify({ error: message }), { status: httpStatus(fault), headers });
}

/**
 * Counts refused deliveries. Anybody can cause them, so an isolate stores the counts of an address at most once in
 * `limits.refusedDeliveriesMs`, and may lose its last ones.
 */
export class RefusedDeliveries {
  readonly #store: (place: HookPlace, counts: RefusalCounts) => void;
  readonly #counts = new Map<string, { at: number; counts: RefusalCounts }>();

  constructor(store: (place: HookPlace, counts: RefusalCounts) => void) {
    this.#store = store;
  }

  note(place: HookPlace, refusal: RefusalReason): void {
    const now = Date.now();
    // A later time is from before the clock was set back.
    const isFresh = ({ at }: { at: number }) => at <= now && now < at + limits.refusedDeliveriesMs;
    const key = Object.values(place).join("/");
    const one = this.#counts.get(key) ?? { at: -Infinity, counts: {} };
    one.counts[refusal] = (one.counts[refusal] ?? 0) + 1;
    if (!isFresh(one)) {
      this.#store(place, one.counts);
      Object.assign(one, { at: now, counts: {} });
      for (const [other, old] of this.#counts) if (!isFresh(old)) this.#counts.delete(other);
    }
    this.#counts.set(key, one);
  }
}
