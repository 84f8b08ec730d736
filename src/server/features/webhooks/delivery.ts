/** Deliveries as they are stored, shown, and given to servlets. */
import { beginningOf } from "../../kernel/core/text.ts";
import type { Verification } from "../../kernel/servlets/webhook-schema.ts";
import { limits } from "./limits.ts";
import type { RefusalReason } from "./verify.ts";

/** A webhook of a servlet. */
export interface HookRef {
  servlet: string;
  /** Its name in the servlet. */
  hook: string;
}

/** Where a delivery arrives. */
export interface HookPlace extends HookRef {
  /** The token of a caller; absent at the webhook of the servlet itself. */
  token?: string | undefined;
}

/** A delivery as its servlet gets it. Its texts are the sender's, and those of whoever the sender quotes. */
export interface WebhookInput extends Record<string, unknown> {
  /** The name of the webhook. */
  name: string;
  /** The sender's id of the delivery, else one of this server. */
  id: string;
  /** By their names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** True if the body is not UTF-8 text, and therefore in base64. */
  isBase64: boolean;
  /** ISO 8601. */
  receivedAt: string;
}

/** The outcome of a verified delivery. */
export type Reception =
  | "kept"
  /** It was received before, and runs nothing. */
  | "repeated"
  /** The webhook of a caller is revoked, or its caller has lost access. */
  | "gone";

/** A delivery as a page shows it. */
export interface ShownDelivery extends HookRef {
  /** The id of its run. */
  task: string;
  /** When it was received, in Unix ms. */
  at: number;
  bytes: number;
  /** `kept` until its run has begun; `failed` if that was given up. */
  state: "kept" | "begun" | "failed";
  /** Why its run has not begun. */
  why?: string;
  /** True if somebody has sent it again. */
  isAgain: boolean;
}

/** How many deliveries were refused, by the reason. */
export type RefusalCounts = Partial<Record<RefusalReason, number>>;

/** Refused deliveries as a page shows them. */
export interface ShownRefusals extends HookRef {
  refusal: RefusalReason;
  count: number;
  /** The last one, in Unix ms. */
  at: number;
}

/** What a page shows of the webhooks of one object; the newest deliveries first. */
export interface ShownHooks {
  deliveries: ShownDelivery[];
  refusals: ShownRefusals[];
  /** The webhooks of a caller. */
  own: (HookRef & { made: number })[];
}

/** `_meta` of a run: the texts that it gets come from outside, and no model must obey them. */
export const UNTRUSTED_META = "edge-servlets/untrusted";

/** Names of headers that have secrets or signatures, or that proxies add. */
const WITHHELD =
  /authorization|cookie|signature|secret|token|api-?key|password|^(host|connection|content-length|transfer-encoding|accept-encoding|via|forwarded|x-real-ip|true-client-ip|cdn-loop|te|upgrade)$|^(x-forwarded-|x-amzn-|x-envoy-|cf-|sec-|fly-|x-vercel-)/;

/** The headers of a request that its servlet gets, within the limits: no secrets, signatures, or those that proxies add. */
export function givenHeaders(headers: Headers, verify: Verification): Record<string, string> {
  const signature = verify.type === "hmac" ? verify.header.toLowerCase() : undefined;
  const given: Record<string, string> = {};
  let left = limits.deliveryHeaderCharacters;
  let count = 0;
  for (const [name, value] of headers) {
    if (name === signature || WITHHELD.test(name)) continue;
    left -= name.length + value.length;
    if (left < 0 || ++count > limits.deliveryHeaders) break;
    given[name] = value;
  }
  return given;
}

/** The body as its servlet gets it. */
export function givenBody(bytes: Uint8Array): Pick<WebhookInput, "body" | "isBase64"> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { body: text, isBase64: false };
  } catch {
    return { body: bytes.toBase64(), isBase64: true };
  }
}

/** An id for a servlet, and for pages: senders choose any text. */
export const shownId = (id: string): string => beginningOf(id, limits.idCharacters);
