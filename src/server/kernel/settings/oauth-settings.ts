/** The settings of other authorization servers. */
import * as z from "zod/mini";
import { once } from "../core/once.ts";

const SECURE = /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?([/?#]|$))/;
/** True for https, and for http to a loopback host. */
export const isSecureUrl = (url: string): boolean => SECURE.test(url);

/** A URL that passes {@link isSecureUrl}. */
export const secureUrl = once(() =>
  z.url("is not a URL").check(z.regex(SECURE, "must be https, or http to a loopback host")),
);

const DEFAULT_ALGORITHMS = ["RS256", "ES256", "EdDSA", "PS256"] as const;
const ALGORITHMS = [
  ...DEFAULT_ALGORITHMS,
  "RS384",
  "RS512",
  "PS384",
  "PS512",
  "ES384",
  "ES512",
  "Ed25519",
] as const;

const VARIABLE = /^[A-Za-z_]\w{0,127}$/;

/** This server as a client of another server. */
export const clientShape = () => ({
  /**
   * The id of this server there. Its redirect URI is `https://host/account/callback`, in `SIGN_IN` with `/` and the provider's
   * name behind. Required.
   */
  client_id: z.string().check(z.minLength(1)),
  /** The name of the Worker secret with the client secret; none for a public client. */
  client_secret: z.optional(
    z.string().check(z.regex(VARIABLE, "must be the name of a Worker secret")),
  ),
  /** How the client secret is sent: in an `Authorization` header (`basic`, by default) or in the body (`post`). */
  auth: z._default(z.enum(["basic", "post"]), "basic"),
});

export const ACCOUNT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/i;
export const ACCOUNT_NAME_RULE = "may have letters, digits, _, . and - only";

/** An authorization server whose JWT access tokens are accepted. */
export const issuerSchema = once(() =>
  z.strictObject(
    {
      /** The exact `iss` of its tokens: https, or http to a loopback host. Required. */
      issuer: secureUrl(),
      /**
       * Required `aud` of the tokens; this server's MCP endpoint, `https://host/mcp` (also `/mcp/` and the bare
       * origin), by default.
       */
      audience: z.optional(z.string().check(z.minLength(1))),
      /** URL of its key set; the `jwks_uri` of its metadata (RFC 8414, then OpenID Connect) by default. */
      jwks_uri: z.optional(secureUrl()),
      /** Algorithms that its tokens may be signed with; RS256, ES256, EdDSA and PS256 by default. */
      algorithms: z._default(
        z
          .array(z.enum(ALGORITHMS, `must be one of ${ALGORITHMS.join(", ")}`))
          .check(z.minLength(1)),
        [...DEFAULT_ALGORITHMS],
      ),
      /** Scopes that every token must have; none by default. */
      required_scopes: z._default(
        z.array(
          z.string().check(z.regex(/^[!#-[\]-~]+$/, "is not a scope (RFC 6749, section 3.3)")),
        ),
        [],
      ),
      /**
       * This server as a client of the issuer, `{"client_id", "client_secret"?, "auth"?}` as in ACCOUNTS: then its
       * users sign in there to open pages of this server. It must give a person the same `sub` as in access tokens.
       */
      client: z.optional(z.strictObject(clientShape())),
    },
    {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? `has unknown keys: ${issue.keys.join(", ")}`
          : undefined,
    },
  ),
);

export type Issuer = z.infer<ReturnType<typeof issuerSchema>>;

/** A provider at which callers have accounts that servlets may use. */
export const providerSchema = once(() =>
  z
    .strictObject({
      /**
       * Its `iss`, where its metadata is found (OpenID Connect, or RFC 8414). This, or the two endpoints, is required;
       * both where it has no metadata and its answers have an `iss`.
       */
      issuer: z.optional(secureUrl()),
      authorization_endpoint: z.optional(secureUrl()),
      token_endpoint: z.optional(secureUrl()),
      /** Where a token is revoked when its person disconnects the account. */
      revocation_endpoint: z.optional(secureUrl()),
      ...clientShape(),
      /** Scopes that are always requested, besides those of the servlets. */
      scopes: z._default(
        z.array(z.string().check(z.regex(/^\S+$/, "must be without white space, and not empty"))),
        [],
      ),
      /** More parameters of the authorization request, such as `{"access_type": "offline"}`. */
      params: z._default(z.record(z.string(), z.string()), {}),
    })
    .check(
      z.refine(
        ({ issuer, authorization_endpoint, token_endpoint }) =>
          issuer !== undefined ||
          (authorization_endpoint !== undefined && token_endpoint !== undefined),
        "needs issuer, or authorization_endpoint and token_endpoint",
      ),
    ),
);

export type ProviderSettings = z.infer<ReturnType<typeof providerSchema>>;
