import {
  authorizationServer,
  protocolPaths,
  type AuthorizationServer,
} from "./authorization-server.ts";
import type { SignInContext } from "../../kernel/auth/authenticator.ts";
import { fetchNow } from "../../kernel/auth/fetch-json.ts";
import { Grant } from "./grant.ts";
import type { Feature, Kernel } from "../../kernel/kernel.ts";
import { siteOf } from "../../kernel/http/site.ts";
import { signInSettings } from "./settings.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** The server's own sign-in, with `OAUTH_KV`, `ATTEMPTS` and `OWNER_PASSPHRASE`. */
    GRANTS?: DurableObjectNamespace<Grant>;
    /** The server's own sign-in, with `GRANTS`, `ATTEMPTS` and `OWNER_PASSPHRASE`. */
    OAUTH_KV?: KVNamespace;
  }
}

/** The server's own sign-in: for the owner with a passphrase, and for the members of a team. */
export const signInFeature: Feature = {
  name: "sign-in",
  settings: signInSettings,
  start(kernel) {
    const { rateLimiter, introductions } = kernel;
    let authorization: AuthorizationServer | undefined;
    return {
      objects: { Grant },
      signIn: { own: (context) => (authorization = ownServer(kernel, context)) },
      routes(app) {
        if (authorization === undefined) return;
        const { authorize, protocol } = authorization;
        const methods = ["GET", "POST"];
        app.on(methods, "/authorize", ({ req: { raw } }) =>
          rateLimiter.enterUnknown(raw).until(authorize(raw)),
        );
        app.on(methods, protocolPaths([...introductions.keys()]), ({ req: { raw } }) =>
          rateLimiter.enterUnknown(raw).until(protocol(raw)),
        );
      },
    };
  },
};

function ownServer(
  { settings, env, memberApps }: Kernel,
  context: SignInContext,
): AuthorizationServer | undefined {
  const { OWNER_PASSPHRASE: passphrase, ENTERPRISE_ISSUERS: enterprises = [] } = settings;
  if (passphrase === undefined) {
    if (enterprises.length > 0)
      throw new Error("ENTERPRISE_ISSUERS needs the server's own sign-in: set OWNER_PASSPHRASE.");
    if (memberApps === undefined) return undefined;
  }
  const { OAUTH_KV: store, ATTEMPTS: attempts, GRANTS: grants } = env;
  if (store === undefined || attempts === undefined || grants === undefined) {
    // Continuing without it would leave the server open.
    const object = attempts === undefined ? "ATTEMPTS" : "GRANTS";
    const missing = store === undefined ? "KV namespace OAUTH_KV" : `Durable Object ${object}`;
    throw new Error(`OWNER_PASSPHRASE needs the binding of the ${missing} in wrangler.toml.`);
  }
  return authorizationServer({
    ...siteOf(settings),
    ...context,
    passphrase,
    memberApps,
    scopes: settings.SCOPES,
    enterprises,
    fetch: fetchNow,
    store,
    attempts,
    grants,
  });
}
