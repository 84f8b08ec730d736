import { fetchNow } from "../../kernel/auth/fetch-json.ts";
import { resourceServer } from "./resource-server.ts";
import type { Feature } from "../../kernel/kernel.ts";

/** Access tokens of the authorization servers in OAUTH_ISSUERS. */
export const issuersFeature: Feature = {
  name: "issuers",
  start: ({ settings: { OAUTH_ISSUERS: trusted = [] } }) => ({
    signIn: { verify: resourceServer(trusted, fetchNow) },
  }),
};
