/** Settings of Open Tool Calling. */
import * as z from "zod/mini";
import { words, type FeatureSettings } from "../../kernel/settings/env.ts";

declare module "../../kernel/settings/env.ts" {
  interface Settings extends Own {}
}

type Own = z.infer<z.ZodMiniObject<typeof shape>>;
const shape = {
  /** A secret of 32 characters or more: signs the JWTs (HS256) of callers of Open Tool Calling. */
  OTC_JWT_SECRET: z.optional(z.string().check(z.minLength(32, "must have at least 32 characters"))),
  /** Accepted audiences (`aud`) of such a JWT; the server's origin, or its MCP endpoint, by default. */
  OTC_JWT_AUDIENCE: words,
};

export const otcSettings: FeatureSettings = {
  shape,
  openAudience: ({ OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences }) =>
    secret !== undefined && audiences.length === 0
      ? "OTC_JWT_SECRET is set without OTC_JWT_AUDIENCE"
      : undefined,
};
