/** Chooses a servlet's credentials among the security schemes of a description. */
import type { Json } from "../../server/kernel/core/model.ts";
import type { Description, SecurityRequirement, SecurityScheme } from "./description.ts";
import type { Operation } from "./operations.ts";
import { snake } from "./words.ts";

export interface ApiCredentials {
  /** The names of the chosen schemes, sorted; empty if there are none. */
  schemes: readonly string[];
  /** The caller's account; `settings` is for the server's `ACCOUNTS`. */
  account?: { name: string; scopes: string[]; settings: Json };
  keys: { secret: string; as: string | object }[];
  /** Schemes of the description that were not chosen. */
  others: string[];
}

/** The credentials that most of these operations accept. The caller's account is preferred to keys. */
export function chosenCredentials(
  operations: readonly Operation[],
  description: Description,
  servlet: string,
): ApiCredentials {
  const schemeOf = (name: string) => {
    const found = description.document.components?.["securitySchemes"]?.[name];
    return found === undefined
      ? undefined
      : description.resolved<SecurityScheme>(found as SecurityScheme);
  };
  const ways = new Map<string, { names: string[]; fits: number; rank: number }>();
  for (const operation of operations) {
    for (const requirement of requirementsOf(operation, description)) {
      const names = namesOf(requirement);
      const ranks = names.map((name) => rankOf(schemeOf(name)));
      if (names.length === 0) continue;
      const begin = () => ({ names, fits: 0, rank: Math.min(...ranks) });
      ways.getOrInsertComputed(names.join(), begin).fits++;
    }
  }
  const usable = [...ways.values()].filter(({ rank }) => rank > 0);
  const [chosen] = usable.toSorted((a, b) => b.fits - a.fits || b.rank - a.rank);
  const names = chosen?.names ?? [];
  const others = [...ways.values()]
    .filter((way) => way !== chosen)
    .map((way) => way.names.join(" with "));
  const keys = names.flatMap((name) => {
    const scheme = schemeOf(name)!;
    const as = accountBy(scheme) === undefined ? placeOf(scheme) : undefined;
    return as === undefined ? [] : [{ name, as }];
  });
  const account = names.map((name) => accountBy(schemeOf(name)!)).find((one) => one !== undefined);
  const scopes = operations.flatMap((operation) =>
    requirementsOf(operation, description)
      .filter((requirement) => namesOf(requirement).join() === names.join())
      .flatMap((requirement) => Object.values(requirement).flat()),
  );
  return {
    schemes: names,
    ...(account && { account: { name: servlet, scopes: [...new Set(scopes)], settings: account } }),
    keys: keys.map(({ name, as }) => ({
      secret: keys.length === 1 ? servlet : `${servlet}-${snake(name).replaceAll("_", "-")}`,
      as,
    })),
    others,
  };
}

/** Whether an operation takes these credentials, needs none, or cannot be called with them. */
export function accessOf(
  operation: Operation,
  { schemes }: ApiCredentials,
  description: Description,
): "as-chosen" | "anonymous" | "impossible" {
  const requirements = requirementsOf(operation, description).map(namesOf);
  if (requirements.some((names) => names.join() === schemes.join())) return "as-chosen";
  return requirements.length === 0 || requirements.some((names) => names.length === 0)
    ? "anonymous"
    : "impossible";
}

const requirementsOf = ({ object }: Operation, { document }: Description): SecurityRequirement[] =>
  object.security ?? document.security ?? [];

const namesOf = (requirement: SecurityRequirement): string[] => Object.keys(requirement).toSorted();

/** How well a scheme suits a server with several callers; 0 if it cannot be used. */
function rankOf(scheme: SecurityScheme | undefined): number {
  if (scheme === undefined) return 0;
  if (accountBy(scheme) !== undefined) return 4;
  const place = placeOf(scheme);
  if (place === undefined) return 0;
  if (place === "bearer" && scheme.type === "http") return 3;
  return typeof place === "object" && "header" in place ? 2 : 1;
}

/** The settings of this scheme's provider for the server's `ACCOUNTS`; undefined if the scheme has no account. */
function accountBy({ type, flows, openIdConnectUrl }: SecurityScheme): Json | undefined {
  if (type === "openIdConnect" && openIdConnectUrl !== undefined) {
    return { issuer: openIdConnectUrl.replace(/\/\.well-known\/.*$/, "") };
  }
  const flow = type === "oauth2" ? flows?.authorizationCode : undefined;
  return flow && { authorization_endpoint: flow.authorizationUrl, token_endpoint: flow.tokenUrl };
}

/** Where a request has the key of this scheme; undefined if there is no key, or it is in a cookie. */
function placeOf({
  type,
  scheme,
  name = "",
  in: place,
}: SecurityScheme): string | object | undefined {
  if (type === "apiKey") return place === "cookie" ? undefined : { [place!]: name };
  // The token of another flow, such as `implicit`, is a key that the caller provides.
  if (type === "oauth2") return "bearer";
  const way = type === "http" ? scheme?.toLowerCase() : undefined;
  return way === "bearer" || way === "basic" ? way : undefined;
}
