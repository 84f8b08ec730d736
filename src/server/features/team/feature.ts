import { OPERATOR_SCOPE } from "../../kernel/core/model.ts";
import type { Feature, Kernel } from "../../kernel/kernel.ts";
import { unknownScope, variablesOf } from "../../kernel/settings/env.ts";
import { peopleFeature } from "../people/feature.ts";
import { signInFeature } from "../sign-in/feature.ts";
import { TEAM_BINDINGS } from "./about.ts";
import { Entra } from "./entra.ts";
import { GitHub } from "./github.ts";
import { memberApps } from "./member-apps.ts";
import { Membership } from "./membership.ts";
import { membersPage } from "./members-page.ts";
import { Google, OpenId } from "./openid.ts";
import type { ProviderKind } from "./rules.ts";
import { type SignInSettings, teamSettings } from "./settings.ts";
import { Team } from "./team.ts";
import type { Upstream, UpstreamParts } from "./upstream.ts";

/** People of a team sign in at GitHub, Google, Entra ID or any OpenID provider. */
export const teamFeature: Feature = {
  name: "team",
  needs: [peopleFeature, signInFeature],
  settings: teamSettings,
  start(kernel) {
    const { settings, persons, people, providers, env } = kernel;
    const { SIGN_IN, ACCOUNTS = {} } = settings;
    if (SIGN_IN === undefined) return {};
    const duplicate = Object.keys(ACCOUNTS).find((name) => SIGN_IN[name]?.account);
    if (duplicate !== undefined)
      throw invalid(
        `SIGN_IN.${duplicate}.account is true, and ACCOUNTS has ${duplicate}, too: remove one`,
      );
    checkRoles(kernel, SIGN_IN);
    const { OAUTH_KV: store } = env;
    const missing = TEAM_BINDINGS.filter((name) => env[name] === undefined);
    // To go on without the sign-in would leave the server open.
    if (missing.length > 0)
      throw new Error(
        `SIGN_IN needs the bindings ${missing.join(", ")} in wrangler.toml: npm run bundle prints the lines.`,
      );
    if (!store || !persons || !people)
      throw new Error("SIGN_IN needs the pages of this server: remove LINKS, which is off.");
    const variables = variablesOf(env);
    const upstreams = new Map<string, Upstream>();
    for (const [name, provider] of Object.entries(SIGN_IN)) {
      const parts = { variables, store };
      const upstream = new UPSTREAMS[provider.type](name, provider, parts);
      if (upstream.problem !== undefined) console.error(upstream.problem);
      upstreams.set(name, upstream);
      if (provider.account) providers?.set(name, upstream.provider);
    }
    checkIssuers(kernel, upstreams.values());
    const team = new Team(upstreams, { persons, store });
    return {
      parts: {
        members: team,
        memberRecord: (parts) => new Membership(parts, upstreams),
        memberApps: (server) => memberApps(server, { members: team, people }),
      },
      signIn: {
        memberScopes: (name) =>
          team.knows(name) ? team.access(name).then(({ scopes }) => scopes ?? null) : undefined,
      },
      forget: (caller) => team.forget(caller),
      pages: [membersPage(kernel, { team, upstreams })],
    };
  },
};

/** Throws for a role with an unknown scope or profile: nobody would notice that it grants less than it says. */
function checkRoles(
  { settings: { SCOPES = {} }, introductions }: Kernel,
  all: Readonly<Record<string, SignInSettings>>,
): void {
  for (const [name, { roles = {} }] of Object.entries(all))
    for (const [role, { scopes, profiles }] of Object.entries(roles)) {
      const at = `SIGN_IN.${name}.roles.${role}`;
      const unknown = unknownScope(scopes, SCOPES);
      if (scopes.includes(OPERATOR_SCOPE))
        throw invalid(`${at} has the scope operator: name operators in SIGN_IN.${name}.operators`);
      if (unknown !== undefined)
        throw invalid(`${at} has the scope ${unknown}, which SCOPES does not define: add it there`);
      const missing = profiles.find((one) => !introductions.has(one));
      if (missing !== undefined)
        throw invalid(
          `${at} has the profile ${missing}, which profiles.json does not have: add it there`,
        );
    }
}

/** Throws if another setting lets in people of a provider, whatever the rules and operators say. */
function checkIssuers(
  { settings: { OAUTH_ISSUERS = [], ENTERPRISE_ISSUERS = [] } }: Kernel,
  upstreams: Iterable<Upstream>,
): void {
  const others = { OAUTH_ISSUERS, ENTERPRISE_ISSUERS };
  for (const { name, issuers } of upstreams)
    for (const [setting, all] of Object.entries(others)) {
      const same = all.find(({ issuer }) => issuers.includes(issuer))?.issuer;
      if (same !== undefined)
        throw invalid(
          `${setting} has ${same}, at which SIGN_IN.${name} signs people in: its tokens would let in whom SIGN_IN.${name}.allow does not. Leave one out, or use an authorization server of its own there`,
        );
    }
}

const invalid = (what: string): Error =>
  new Error(`The Worker's configuration is not valid. ${what}.`);

const UPSTREAMS: Readonly<
  Record<
    ProviderKind,
    new (name: string, settings: SignInSettings, parts: UpstreamParts) => Upstream
  >
> = { github: GitHub, google: Google, entra: Entra, oidc: OpenId };
