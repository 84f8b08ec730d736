import { createAuthenticator } from "./auth/authenticator.ts";
import { keyRecordsOf } from "./auth/key-records.ts";
import { sharedSecret } from "./auth/otc.ts";
import { RateLimiter } from "./auth/rate-limiter.ts";
import type { Env } from "./bindings.ts";
import { Serving } from "./serving.ts";
import { siteOf } from "./http/document.ts";
import { CallRecords } from "./otc/call-record.ts";
import { operatedStates } from "./operator/operated-states.ts";
import { Sessions } from "./mcp/legacy/sessions.ts";
import { Starts } from "./calls/starts.ts";
import { StateVault } from "./calls/state-vault.ts";
import { tasksOf } from "./calls/tasks.ts";
import { sealerOf, type Sealer } from "./storage/vault.ts";
import { readSettings, type Settings } from "./settings/env.ts";
import { configureLimits } from "./core/limits.ts";
import { listDigests, type ListDigests } from "./mcp/legacy/list-digests.ts";
import type { Introduction } from "./mcp/wire/exchange.ts";
import { OPERATOR_SCOPE } from "./core/model.ts";
import { People } from "./pages/people.ts";
import { storageQuota } from "./auth/quotas.ts";
import type { Bundle } from "./servlets/bundle.ts";
import { endpointsOf, profileOf, type Profile } from "./servlets/profiles.ts";
import { grantsProfile, isScope } from "./servlets/scopes.ts";
import { actsIn, usageOf } from "./observe/usage.ts";

/**
 * Everything that the requests and the Durable Objects of an isolate share. It is made once in each isolate, by its entry.
 * Parts whose binding is missing are undefined. Throws for a configuration that is not valid.
 */
export function createServer(bundle: Bundle, env: Env) {
  const { version } = bundle;
  const settings = readSettings({
    ...(version !== undefined && { SERVER_VERSION: version }),
    ...env,
  });
  configureLimits(settings.LIMITS ?? {});
  const sealer = sealerOf(settings, env);
  const tasks = tasksOf(env);
  const countStored = storageQuota(env);
  const serving = new Serving(bundle, settings, env, { sealer, tasks });
  const { profiles = {} } = bundle;
  const there = {
    servlets: bundle.servlets.map(({ name }) => name),
    profiles: endpointsOf(profiles),
  };
  const authenticator = createAuthenticator(settings, env, {
    isScope: (scope, profile) =>
      (scope === OPERATOR_SCOPE && profile === undefined) ||
      isScope(scope, settings.SCOPES, { ...there, ...(profile && { profiles: [profile] }) }),
    profiles: new Map(there.profiles.map((name) => [name, profiles[name]!.title ?? name])),
    grantsProfile: (scopes, profile) => grantsProfile(scopes, settings.SCOPES ?? {}, profile),
  });
  const hasPages = settings.LINKS === "on" && tasks !== undefined && sealer !== undefined;
  const { OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences } = settings;
  const digests = new Map<string, ListDigests>();
  /** Digests of the lists of the bundle, or of a profile, which sessions compare. */
  const digestsOf = (profile = "") =>
    digests.getOrInsertComputed(profile, () => listDigests(bundle, profileOf(profiles, profile)));
  return {
    env,
    bundle,
    settings,
    sealer,
    serving,
    authenticator,
    tasks,
    usage: usageOf(env),
    /** Notes what operators do. */
    acted: actsIn(env),
    keyRecords: keyRecordsOf(env),
    countStored,
    site: siteOf(settings),
    /** How the server introduces itself at `/mcp`, and at the endpoint of a profile. */
    introduction: introduction(settings),
    introductions: new Map(
      there.profiles.map((name) => [name, introduction(settings, profiles[name])]),
    ),
    /** Who may answer on pages; undefined where there are none. */
    people: hasPages ? new People(settings, env, { authenticator, sealer }) : undefined,
    states: operatedStates(env, () => serving.stateOwners(), serving.persons),
    /** Verifies JWTs of Open Tool Calling. */
    shared: secret === undefined ? undefined : sharedSecret(secret, audiences),
    rateLimiter: new RateLimiter(env, countStored),
    vault: sealer && env.STATES && new StateVault(sealer, env.STATES),
    sessions:
      sealer && env.SESSIONS && new Sessions(env.SESSIONS, { sealer, env, listDigests: digestsOf }),
    records: sealer && env.CALL_RECORDS && new CallRecords(env.CALL_RECORDS),
    /** Which tasks may begin. */
    starts: new Starts(),
    listDigests: digestsOf,
  };
}

export interface Server extends ReturnType<typeof createServer> {}

/** A server that can keep secrets: what its Durable Objects need. */
export type SealingServer = Server & { sealer: Sealer };

/** A profile's own texts, else the server's; but for the instructions, which may speak of what a profile lacks. */
function introduction(settings: Settings, profile?: Profile): Introduction {
  const optional = {
    title: profile?.title ?? settings.SERVER_TITLE,
    description: profile?.description ?? settings.SERVER_DESCRIPTION,
    websiteUrl: settings.SERVER_WEBSITE,
    icons: settings.SERVER_ICONS ?? (settings.SERVER_ICON && [{ src: settings.SERVER_ICON }]),
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  const { SERVER_NAME: name, SERVER_VERSION: version, SERVER_INSTRUCTIONS: whole } = settings;
  const instructions = profile === undefined ? whole : profile.instructions;
  return {
    info: { name, version, ...Object.fromEntries(given) },
    ...(instructions !== undefined && { instructions }),
  };
}
