/** The rules that decide whom a team lets in, and what each person may do. */
import * as z from "zod/mini";
import { isObject, type Json } from "../../kernel/core/model.ts";

/** The kinds of providers; `oidc` is any OpenID provider. */
export const KINDS = ["github", "google", "entra", "oidc"] as const;
export type ProviderKind = (typeof KINDS)[number];

/** The conditions that are lists of names. */
const LISTS = ["users", "organizations", "teams", "domains", "groups", "tenants"] as const;
type List = (typeof LISTS)[number];

/** The conditions about which each kind of provider tells facts, besides `claims`. */
const CONDITIONS: Readonly<Record<ProviderKind, readonly List[]>> = {
  github: ["users", "organizations", "teams"],
  google: ["users", "domains"],
  entra: ["users", "groups", "tenants"],
  oidc: ["users", "organizations", "domains", "groups"],
};

/** Advice for a condition about which a kind of provider tells nothing. */
const INSTEAD: Partial<Record<`${ProviderKind}.${List}`, string>> = {
  "github.domains": "GitHub is no authority for email addresses: use organizations or teams",
  "github.groups": "use teams, as ORGANIZATION/TEAM",
  "google.groups": "Google's tokens name no groups: use domains or users",
  "google.organizations": "use domains: the Workspace's domain",
  "entra.domains": "an address does not prove a tenant: use tenants",
  "entra.teams": "use groups, by their object ids",
};

/** Claims of Entra ID that people or other tenants can change: they do not prove who somebody is. */
const MUTABLE_CLAIMS = new Set(["email", "upn", "preferred_username", "unique_name"]);

const names = () =>
  z.optional(z.array(z.union([z.string().check(z.minLength(1)), z.int()], "must be names or ids")));

/** The conditions of a rule, each a list. A rule fits a person if any entry of any list applies. */
const conditions = () => ({
  /**
   * People: logins or numeric ids at GitHub, email addresses or `sub` at Google, object ids at Entra ID, `sub` at other
   * providers.
   */
  users: names(),
  /** Members of organizations of GitHub; the claim `org_id` at other providers (Auth0, WorkOS). */
  organizations: names(),
  /** Members of teams of GitHub, as `organization/team` in the team's URL. */
  teams: names(),
  /** Domains of Google Workspaces; domains of verified email addresses at other providers. */
  domains: names(),
  /** Object ids of groups at Entra ID; values of the claim `groups` at other providers. */
  groups: names(),
  /** Ids of tenants of Entra ID: their own users, without guests. */
  tenants: names(),
  /**
   * Claims: `{"claim", "has"}`. `claim` is the path of a claim of the ID token, such as `realm_access.roles`, or an
   * array if a name has dots: `["https://acme.example/roles"]`. `has` is its value, or an entry of it.
   */
  claims: z.optional(
    z.array(
      z.strictObject({
        claim: z.union([z.string(), z.array(z.string()).check(z.minLength(1))]),
        has: z.union([z.string(), z.number(), z.boolean()]),
      }),
    ),
  ),
});

const ruleSchema = () => z.strictObject(conditions());
export type Rule = z.infer<ReturnType<typeof ruleSchema>>;

/** The settings that hold rules. */
export const rulesShape = () => ({
  /** Who is let in: a rule, see below; `"*"` for everybody with an account at the provider. Nobody by default. */
  allow: z._default(z.union([z.literal("*"), ruleSchema()]), {}),
  /**
   * Roles, by name: each a rule, or `"everybody": true`, and the `scopes` and `profiles` that it grants. A person has
   * what all fitting roles grant together; somebody without one is not let in. By default everything but operating.
   */
  roles: z.optional(
    z.record(
      z.string(),
      z.strictObject({
        ...conditions(),
        /** True for a role that fits everybody who is let in. */
        everybody: z.optional(z.literal(true)),
        scopes: z._default(z.array(z.string().check(z.regex(/^\S+$/))), []),
        profiles: z._default(z.array(z.string().check(z.regex(/^\S+$/))), []),
      }),
    ),
  ),
  /** Who may [operate](access.md#operators) the server, of those let in: a rule. Nobody by default. */
  operators: z._default(ruleSchema(), {}),
});

export type Rules = z.infer<z.ZodMiniObject<ReturnType<typeof rulesShape>>>;

/** What a provider says about a person: the names that apply for each condition, in the form of `normalName`. */
export interface Facts extends Partial<Record<List, readonly string[]>> {
  claims?: Json;
}

/** The conditions whose names are case-sensitive. */
const CASE_SENSITIVE: Readonly<Record<ProviderKind, readonly List[]>> = {
  github: [],
  google: [],
  entra: [],
  oidc: ["users", "organizations", "groups"],
};

/** A name in the form in which it is compared. A number is an id. */
function normalName(kind: ProviderKind, list: List, name: string | number): string {
  if (typeof name === "number") return `${ID}${name}`;
  return CASE_SENSITIVE[kind].includes(list) ? name : name.toLowerCase();
}

/** The prefix of an id among names: no login has a colon. */
export const ID = "id:";

/** All rules of a provider. */
const allRules = ({ allow, roles = {}, operators }: Rules): Rule[] => [
  ...(allow === "*" ? [] : [allow]),
  ...Object.values(roles),
  operators,
];

/** The names of one condition in all rules. */
export const ruleNames = (rules: Rules, list: List): string[] => [
  ...new Set(allRules(rules).flatMap((rule) => rule[list]?.map(String) ?? [])),
];

/** True if a rule has a condition about which these facts say nothing, so that a second source should be asked. */
export const lacksFacts = (rules: Rules, kind: ProviderKind, facts: Facts): boolean =>
  allRules(rules).some(
    (rule) =>
      rule.claims?.some(({ claim }) => claimAt(facts.claims, claim) === undefined) === true ||
      CONDITIONS[kind].some((list) => rule[list] !== undefined && facts[list] === undefined),
  );

/** Reports what is wrong with a setting: the path to it, and the message that follows that. */
export type Complain = (path: readonly string[], message: string) => unknown;

/** The rules with names as they are compared. Calls `complain` for conditions that can never apply. */
export function normalRules<T extends Rules>(kind: ProviderKind, rules: T, complain: Complain): T {
  const normal = <R extends Rule>(rule: R, ...path: string[]): R => {
    checkRule(kind, rule, (at, message) => complain([...path, ...at], message));
    return normalRule(kind, rule);
  };
  const { allow, roles, operators } = rules;
  return {
    ...rules,
    allow: allow === "*" ? allow : normal(allow, "allow"),
    operators: normal(operators, "operators"),
    ...(roles && {
      roles: Object.fromEntries(
        Object.entries(roles).map(([name, role]) => [name, normal(role, "roles", name)]),
      ),
    }),
  };
}

function checkRule(kind: ProviderKind, rule: Rule, complain: Complain): void {
  for (const list of LISTS.filter((one) => rule[one] !== undefined && !knows(kind, one))) {
    const known = [...CONDITIONS[kind], ...(kind === "github" ? [] : ["claims"])].join(", ");
    complain([list], `says nothing at ${kind}: ${INSTEAD[`${kind}.${list}`] ?? `use ${known}`}`);
  }
  if (kind === "github" && rule.claims !== undefined)
    complain(["claims"], "says nothing at github, which has no ID tokens: use teams");
  for (const { claim } of rule.claims ?? [])
    if (kind === "entra" && MUTABLE_CLAIMS.has([claim].flat().join(".")))
      complain(
        ["claims"],
        `names ${String(claim)}, which others can change: use users, groups or roles`,
      );
  for (const list of LISTS)
    if (
      rule[list]?.some((name) => typeof name === "number") &&
      !(kind === "github" && list === "users")
    )
      complain([list], "has a number, which only users of GitHub may be: put it into quotes");
  for (const team of rule.teams ?? [])
    if (!/^[^/\s]+\/[^/\s]+$/.test(String(team)))
      complain(["teams"], "must be ORGANIZATION/TEAM, as in the team's URL");
  if (LISTS.some((list) => list !== "users" && list !== "teams" && rule[list]?.includes("*")))
    complain([], 'has a "*" among its names: to let everybody in, write "allow": "*"');
}

const knows = (kind: ProviderKind, list: List): boolean => CONDITIONS[kind].includes(list);

function normalRule<R extends Rule>(kind: ProviderKind, rule: R): R {
  const lists = LISTS.flatMap((list) => {
    const normal = rule[list]?.map((name) => normalName(kind, list, name));
    return normal ? [[list, normal] as const] : [];
  });
  return { ...rule, ...Object.fromEntries(lists) };
}

/** True if any condition of the rule applies. */
function fits(rule: Rule, facts: Facts): boolean {
  return (
    LISTS.some((list) =>
      rule[list]?.some((name) => facts[list]?.includes(String(name)) === true),
    ) || rule.claims?.some(({ claim, has }) => isOrHas(claimAt(facts.claims, claim), has)) === true
  );
}

/** The claim at this path; undefined if it is missing. Ignores inherited properties. */
function claimAt(claims: unknown, path: string | readonly string[]): unknown {
  let found = claims;
  for (const key of typeof path === "string" ? path.split(".") : path) {
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

const isOrHas = (value: unknown, wanted: unknown): boolean =>
  value === wanted || (Array.isArray(value) && value.includes(wanted));

/** What the rules grant a person. */
export interface Rights {
  /** The names of the roles that fit. */
  roles: string[];
  /** The granted scopes; absent if unlimited, except for `operator`. */
  scopes?: string[];
  isOperator: boolean;
}

/** What the rules grant a person with these facts; undefined if they do not let the person in. */
export function rightsOf(rules: Rules, facts: Facts): Rights | undefined {
  const { allow, roles, operators } = rules;
  if (allow !== "*" && !fits(allow, facts)) return undefined;
  const isOperator = fits(operators, facts);
  if (roles === undefined) return { roles: [], isOperator };
  const fitting = Object.entries(roles).filter(
    ([, role]) => role.everybody === true || fits(role, facts),
  );
  if (fitting.length === 0 && !isOperator) return undefined;
  const scopes = fitting.flatMap(([, role]) => [
    ...role.scopes,
    ...role.profiles.map((name) => `profile:${name}`),
  ]);
  return { roles: fitting.map(([name]) => name), scopes: [...new Set(scopes)], isOperator };
}
