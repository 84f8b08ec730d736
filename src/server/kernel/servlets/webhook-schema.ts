/** How a manifest describes the webhooks of a servlet: their names, and how deliveries are verified. */
import * as z from "zod/mini";
import { once } from "../core/once.ts";

/** A part of what a sender signs. */
export type SignedPart = "body" | "timestamp" | "id";

const PART = /\{([^{}]*)\}/g;

/** The parts that a template such as `{timestamp}.{body}` names; also names that are no parts. */
export const partsIn = (signed: string): string[] =>
  [...signed.matchAll(PART)].map(([, name]) => name!);

/** The pieces of a template in their order: parts, and the texts between them. */
export function signedPieces(signed: string): ({ part: SignedPart } | { text: string })[] {
  return signed
    .split(/(\{[^{}]*\})/)
    .filter((piece) => piece !== "")
    .map((piece) =>
      piece.startsWith("{") && piece.endsWith("}")
        ? { part: piece.slice(1, -1) as SignedPart }
        : { text: piece },
    );
}

const matching = (pattern: RegExp, fault: string) => z.string().check(z.regex(pattern, fault));

const headerName = () =>
  matching(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header, such as X-Signature");

const secret = () =>
  matching(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    "must be the name of a Worker secret, such as GITHUB_WEBHOOK_SECRET: never the secret itself",
  ).check(
    z.describe(
      "The Worker secret with which the sender signs. The servlet cannot read it, unless allowed_secrets has it, too.",
    ),
  );

const tolerance = () =>
  z
    .optional(
      z
        .number()
        .check(
          z.int(),
          z.minimum(1, "must be at least 1"),
          z.maximum(86_400, "must be at most a day"),
        ),
    )
    .check(
      z.describe("How old a signed time may be, or how far ahead, in seconds. 300 by default."),
    );

const status = () =>
  z
    .optional(z.literal([200, 202], "must be 200 or 202"))
    .check(
      z.describe(
        "The status with which a stored delivery is answered: 200 for a sender that takes no other. 202 by default.",
      ),
    );

const NO_VERIFICATION =
  'says how deliveries are verified, for example {"type": "github", "secret": "GITHUB_WEBHOOK_SECRET"}. The types are github, stripe, slack, standard, hmac, and none, which takes deliveries from anybody';

/** What is wrong with `signed` and the headers of its parts. */
function signedProblem({
  signed,
  timestamp,
  id,
}: {
  signed: string;
  timestamp?: string | undefined;
  id?: string | undefined;
}): string | undefined {
  const parts = partsIn(signed);
  const unknown = parts.find((name) => !["body", "timestamp", "id"].includes(name));
  if (unknown !== undefined)
    return `signed has {${unknown}}; its parts are {body}, {timestamp} and {id}`;
  if (parts.filter((name) => name === "body").length !== 1)
    return "signed must have {body} once: a signature of anything else proves nothing of the body";
  if (new Set(parts).size < parts.length) return "signed has a part twice; write each once";
  for (const [name, header] of Object.entries({ timestamp, id }))
    if (parts.includes(name) && header === undefined)
      return `signed has {${name}}; say in ${name} which header has it`;
  if (timestamp !== undefined && !parts.includes("timestamp"))
    return "timestamp names a header that is not signed: anybody could change it. Put {timestamp} into signed, or leave it out";
  return undefined;
}

/** How a webhook verifies its deliveries, as data. */
const verificationSchema = once(() =>
  z.discriminatedUnion(
    "type",
    [
      z.strictObject({
        type: z.enum(["github", "stripe", "slack", "standard"]),
        secret: secret(),
        toleranceSeconds: tolerance(),
      }),
      z
        .strictObject({
          type: z.literal("hmac"),
          secret: secret(),
          header: headerName().check(z.describe("The header with the signature.")),
          algorithm: z
            .enum(["sha1", "sha256", "sha512"])
            .check(z.describe("The hash of the HMAC, whose key is the secret's text.")),
          encoding: z.enum(["hex", "base64"]).check(z.describe("How the signature is written.")),
          prefix: z
            .optional(z.string().check(z.maxLength(32)))
            .check(z.describe("Text before the signature in the header, such as `sha256=`.")),
          signed: z
            .string()
            .check(
              z.maxLength(200),
              z.describe(
                "What is signed: a text with {body} and, if they are signed, {timestamp} and {id}, such as `{timestamp}.{body}`.",
              ),
            ),
          timestamp: z
            .optional(headerName())
            .check(z.describe("The header with the time of sending, in seconds or ms since 1970.")),
          id: z
            .optional(headerName())
            .check(z.describe("The header with the delivery's id: a repeated id runs nothing.")),
          toleranceSeconds: tolerance(),
          status: status(),
        })
        .check(
          z.superRefine((one, { addIssue }) => {
            const problem = signedProblem(one);
            if (problem !== undefined) addIssue(problem);
          }),
        ),
      z.strictObject({
        type: z.literal("none"),
        id: z
          .optional(headerName())
          .check(z.describe("The header with the delivery's id: a repeated id runs nothing.")),
        status: status(),
      }),
    ],
    { error: NO_VERIFICATION },
  ),
);

/** The webhooks of a servlet, by name. */
export const webhooksSchema = once(() =>
  z.record(
    matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, "may have small letters, digits, _ and - only"),
    z.strictObject({
      description: z
        .optional(z.string().check(z.maxLength(500)))
        .check(z.describe("What it is for, for the people who set it up.")),
      verify: verificationSchema().check(
        z.describe(
          "How deliveries are verified: its `type` is `github`, `stripe`, `slack`, `standard`, `hmac` or `none`, and `secret` names a Worker secret.",
        ),
      ),
    }),
  ),
);

export type Verification = z.infer<ReturnType<typeof verificationSchema>>;

/** The Worker secret of a webhook; undefined if it verifies nothing. */
export const webhookSecretOf = (verify: Verification): string | undefined =>
  verify.type === "none" ? undefined : verify.secret;

/** How a webhook verifies its deliveries, in words. */
export function verificationInWords(verify: Verification): string {
  if (verify.type === "none") return "takes deliveries from anybody, without verification";
  const by =
    verify.type === "hmac" ? `the HMAC in ${verify.header}` : `${SENDERS[verify.type]} signature`;
  return `verified by ${by} with the Worker's ${verify.secret}`;
}

const SENDERS = {
  github: "GitHub's",
  stripe: "Stripe's",
  slack: "Slack's",
  standard: "the Standard Webhooks",
} as const;
