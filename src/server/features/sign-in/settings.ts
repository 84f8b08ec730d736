/** Settings of the server's own sign-in. */
import * as z from "zod/mini";
import { once } from "../../kernel/core/once.ts";
import { isUnique, jsonSetting, type FeatureSettings } from "../../kernel/settings/env.ts";
import { secureUrl } from "../../kernel/settings/oauth-settings.ts";

declare module "../../kernel/settings/env.ts" {
  interface Settings extends Own {}
}

type Own = z.infer<z.ZodMiniObject<typeof shape>>;
/** An enterprise's identity provider, whose assertions about its users are exchanged for tokens of this server. */
const enterpriseSchema = once(() =>
  z.strictObject({
    /** The exact `iss` of its assertions. Required. */
    issuer: secureUrl(),
    /** URL of its key set: https. Required. */
    jwks_uri: z.url("is not a URL").check(z.regex(/^https:/, "must be https")),
    /** Algorithms that its assertions may be signed with: RS256 (by default) and ES256. */
    algorithms: z._default(z.array(z.enum(["RS256", "ES256"])).check(z.minLength(1)), ["RS256"]),
    /** True if clients without a secret may use its assertions, such as those with a metadata document. */
    public_clients: z._default(z.boolean(), false),
  }),
);

export type Enterprise = z.infer<ReturnType<typeof enterpriseSchema>>;

const shape = {
  /** Identity providers of enterprises, whose users need not be [approved one by one](access.md#enterprises): a JSON array, see below. */
  ENTERPRISE_ISSUERS: z.optional(
    jsonSetting(() =>
      z
        .array(enterpriseSchema())
        .check(z.minLength(1), z.refine(isUnique, "names an issuer twice; give each one entry")),
    ),
  ),
};

export const signInSettings: FeatureSettings = {
  shape,
  openAudience: ({ ENTERPRISE_ISSUERS: [enterprise] = [] }) =>
    enterprise && `ENTERPRISE_ISSUERS has ${enterprise.issuer}`,
};
