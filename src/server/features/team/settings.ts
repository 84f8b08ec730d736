/** Settings of a team's sign-in. */
import * as z from "zod/mini";
import { once } from "../../kernel/core/once.ts";
import { jsonSetting, type FeatureSettings } from "../../kernel/settings/env.ts";
import {
  ACCOUNT_NAME,
  ACCOUNT_NAME_RULE,
  clientShape,
  secureUrl,
} from "../../kernel/settings/oauth-settings.ts";
import { type Complain, KINDS, normalRules, rulesShape, type ProviderKind } from "./rules.ts";

declare module "../../kernel/settings/env.ts" {
  interface Settings extends Own {}
}

type Own = z.infer<z.ZodMiniObject<typeof shape>>;

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const tenant = () =>
  z
    .string()
    .check(
      z.regex(
        GUID,
        'must be the "Directory (tenant) ID", such as 72f988bf-86f1-41af-91ab-2d7cd011db47',
      ),
    );

const signInSchema = once(() =>
  z.strictObject({
    /**
     * `github`, `google`, `entra`, or `oidc` for any other OpenID provider. By default the entry's name if it is one of
     * these, else `oidc`.
     */
    type: z.optional(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`)),
    /** The provider's name on pages, such as `Acme`. */
    title: z.optional(z.string().check(z.minLength(1))),
    ...clientShape(),
    /**
     * The issuer (`iss`), a URL below which its metadata is found. Required for `oidc`; Google's by default for
     * `google`.
     */
    issuer: z.optional(secureUrl()),
    /** The id of the tenant of Entra ID, or an array of several. Required for `entra`. */
    tenant: z.optional(z.union([tenant(), z.array(tenant()).check(z.minLength(1))])),
    /**
     * The origin of a GitHub Enterprise Server (`https://github.example.com`), or of a national cloud of Entra ID
     * (`https://login.microsoftonline.us`).
     */
    server: z.optional(secureUrl()),
    /**
     * The base URL of Microsoft Graph, which is asked if a person has too many groups for a token; the cloud's by
     * default.
     */
    graph: z.optional(secureUrl()),
    /** Scopes to request besides those that signing in needs. */
    scopes: z._default(z.array(z.string().check(z.regex(/^\S+$/))), []),
    /** Additional parameters of the authorization request. */
    params: z._default(z.record(z.string(), z.string()), {}),
    ...rulesShape(),
    /**
     * `true` lets servlets use the token of the sign-in as an [account](accounts.md) of this name. False by default.
     */
    account: z._default(z.boolean(), false),
  }),
);

type Given = z.infer<ReturnType<typeof signInSchema>>;

/** The settings of a provider at which people of a team sign in. */
export type SignInSettings = Given & { type: ProviderKind };

/** The kind of a provider without a `type` follows from its name. */
const kindOf = (name: string, { type }: Given): ProviderKind =>
  type ?? KINDS.find((kind) => kind === name) ?? "oidc";

/** The settings that only some kinds of providers have: the kinds that may have them, and the kind that must. */
const KIND_SETTINGS: Readonly<
  Partial<Record<keyof Given, { may: readonly ProviderKind[]; must?: ProviderKind }>>
> = {
  issuer: { may: ["oidc", "google"], must: "oidc" },
  tenant: { may: ["entra"], must: "entra" },
  server: { may: ["github", "entra"] },
  graph: { may: ["entra"] },
};

/** The settings with their kind and normal rules. Calls `complain` for what does not fit the kind. */
function checked(name: string, given: Given, complain: Complain): SignInSettings {
  const type = kindOf(name, given);
  for (const [key, { may, must }] of Object.entries(KIND_SETTINGS)) {
    const isSet = Reflect.get(given, key) !== undefined;
    if (!isSet && type === must)
      complain([key], `is missing: a provider of the type ${type} needs it`);
    if (isSet && !may.includes(type))
      complain([key], `is not for the type ${type}, but for ${may.join(" and ")}`);
  }
  return { ...normalRules(type, given, complain), type };
}

const shape = {
  /** Providers at which the people of a team [sign in](sign-in.md): JSON, by name, see below. */
  SIGN_IN: z.optional(
    jsonSetting(() =>
      z.pipe(
        z.record(z.string(), signInSchema()).check(
          z.refine((all) => Object.keys(all).every((name) => ACCOUNT_NAME.test(name)), {
            error: `names of providers ${ACCOUNT_NAME_RULE}`,
          }),
          z.refine((all) => Object.keys(all).length > 0, "must name a provider"),
        ),
        z.transform((all: Record<string, Given>, { issues }): Record<string, SignInSettings> =>
          Object.fromEntries(
            Object.entries(all).map(([name, given]) => [
              name,
              checked(name, given, (path, message) =>
                issues.push({ code: "custom", path: [name, ...path], message, input: given }),
              ),
            ]),
          ),
        ),
      ),
    ),
  ),
};

export const teamSettings: FeatureSettings = { shape };
