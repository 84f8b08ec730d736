import { createAuthenticator } from "./auth/authenticator.ts";
import { sharedSecret } from "./auth/otc.ts";
import { RateLimiter } from "./auth/rate-limiter.ts";
import { Serving } from "./serving.ts";
import { recordsOf } from "./otc/call-records.ts";
import type { Hub } from "./mcp/hub.ts";
import { operatedStates } from "./operator/operated-states.ts";
import { sessionsOf } from "./mcp/legacy/sessions.ts";
import { vaultOf } from "./calls/state-vault.ts";
import { tasksOf } from "./calls/tasks.ts";
import { sealerOf } from "./storage/vault.ts";
import { namespaceOf, readSettings, type Settings } from "./settings/env.ts";
import { siteOf } from "./http/document.ts";
import { configureLimits } from "./core/limits.ts";
import type { Server } from "./mcp/wire/exchange.ts";
import { People } from "./pages/people.ts";
import { OPERATOR_SCOPE } from "./core/model.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { isScope } from "./servlets/scopes.ts";

/** The parts of the server that its routes use. Throws for a configuration that is not valid. */
export function wire(bundle: Bundle, env: object) {
  const settings = readSettings(env);
  configureLimits(settings.LIMITS ?? {});
  const serving = new Serving(bundle, settings, env);
  const names = bundle.servlets.map(({ name }) => name);
  const authenticator = createAuthenticator(
    settings,
    env,
    (scope) => scope === OPERATOR_SCOPE || isScope(scope, settings.SCOPES, names),
  );
  const sealer = sealerOf(settings, env);
  const tasks = tasksOf(env);
  const hasPages = settings.LINKS === "on" && tasks !== undefined && sealer !== undefined;
  const { OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences } = settings;
  return {
    settings,
    serving,
    site: siteOf(settings),
    server: introduction(settings),
    authenticator,
    /** Who may answer on pages; undefined where there are none. */
    people: hasPages ? new People(settings, env, { authenticator, sealer }) : undefined,
    states: operatedStates(env, () => serving.stateOwners(), serving.profiles),
    /** Verifies JWTs of Open Tool Calling. */
    shared: secret === undefined ? undefined : sharedSecret(secret, audiences),
    rateLimiter: new RateLimiter(env),
    hubs: namespaceOf<Hub>(env, "HUBS"),
    vault: vaultOf(env, sealer),
    tasks,
    sessions: sessionsOf(env),
    records: recordsOf(env),
  };
}

function introduction(settings: Settings): Server {
  const optional = {
    title: settings.SERVER_TITLE,
    description: settings.SERVER_DESCRIPTION,
    websiteUrl: settings.SERVER_WEBSITE,
    icons: settings.SERVER_ICONS,
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  const {
    SERVER_NAME: name,
    SERVER_VERSION: version,
    SERVER_INSTRUCTIONS: instructions,
  } = settings;
  return {
    info: { name, version, ...Object.fromEntries(given) },
    ...(instructions !== undefined && { instructions }),
  };
}
