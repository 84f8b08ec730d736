/**
 * Elicitations that the server answers itself: with a stored secret or a connected account of the caller, or by a page.
 */
import { ACCOUNT_MODE, SECRET_MODE, type LookUp } from "../core/asks.ts";
import type { CallContext } from "../core/call-context.ts";
import { orAborted } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { ANONYMOUS, type Json } from "../core/model.ts";
import { beginningOf, textIn } from "../core/text.ts";
import { scopesIn } from "../wasm/account.ts";
import { grantOf, notNamed } from "./accounts.ts";
import { cannotAsk, lacksSecret } from "./ask-failures.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment } from "./deployment.ts";
import { variableOf } from "./variables.ts";

/** The requester. */
interface Asking {
  servlet: PreparedServlet;
  call: CallContext;
  deployment: Deployment;
}

/** Finds the result of an elicitation, or the reason why there is none. May wait for `ms`. */
type Finder = (params: Json, ms: number, asking: Asking) => Promise<Json | string>;

const UNKNOWN =
  "This server does not know who is calling, so it keeps nothing for its callers. Its owner gives it keys or a sign-in (docs/access.md).";

/**
 * The secret passes through no client: `{action, content: {secret}}`, or the `{url}` of the page on which the caller
 * enters it.
 */
const findSecret: Finder = async ({ name, message, after }, ms, asking) => {
  const { principal, link } = asking.call;
  const { secrets } = asking.deployment;
  if (secrets === undefined) return "This server keeps no secrets of its callers.";
  if (principal.name === ANONYMOUS.name) return UNKNOWN;
  const of = { servlet: asking.servlet.name, name: textIn(name) };
  const secret = await secrets.find(principal.name, of, { after: Number(after), ms });
  if (secret !== undefined) return { action: "accept", content: { secret } };
  if (link === undefined) return "Its caller cannot open pages of this server.";
  // It becomes part of a URL.
  const brief = beginningOf(textIn(message), limits.pageCharacters);
  const page = { ...of, principal: principal.name, message: brief };
  return { url: await secrets.page(link.origin, page) };
};

/**
 * Answers a request for an account of the caller: `{action}`, or the `{url}` of the page on which the caller connects
 * it.
 */
const findAccount: Finder = async (params, ms, { servlet, call, deployment }) => {
  const { name, since } = params;
  const { principal, link } = call;
  const { accounts } = deployment;
  const named = grantOf(servlet, textIn(name));
  if (named === undefined) return notNamed(textIn(name));
  // Those that a host of the account has asked for.
  const more = scopesIn(params["scopes"]);
  const grant = { ...named, scopes: [...new Set([...named.scopes, ...more])] };
  if (accounts === undefined || !accounts.knows(grant))
    return `This server knows no provider ${grant.account}: its owner adds it to ACCOUNTS.`;
  if (principal.name === ANONYMOUS.name) return UNKNOWN;
  const wait = { since: Number(since), ms };
  const state = await accounts.state(principal.name, grant, wait);
  if (state === "connected") return { action: "accept" };
  if (state === "declined" && ms > 0) return { action: "decline" };
  if (link === undefined) return "Its caller cannot open pages of this server.";
  const isMore = more.length > 0;
  return { url: await accounts.connectPage(link.origin, principal.name, grant, isMore) };
};

/**
 * The variable of the server's own secret for this service, if it is not set; the servlet would use it instead of the
 * caller's.
 */
const missingSecret = ({ servlet, deployment }: Asking, service: string): string | undefined =>
  (servlet.manifest.allowed_secrets ?? [])
    .filter((one) => one.service === service)
    .map(variableOf)
    .find((variable) => !deployment.variables[variable]);

/** By the mode of the elicitation. */
const FINDERS: Readonly<Record<string, Finder>> = {
  [SECRET_MODE]: findSecret,
  [ACCOUNT_MODE]: findAccount,
};

/** Answers the requests of a servlet's run that the server can answer itself. */
export const lookUpBy =
  (asking: Asking): LookUp =>
  async (params, signal) => {
    const ms = Math.min(Number(params["ms"]) || 0, limits.pageMs);
    const find = FINDERS[textIn(params["mode"])]!;
    const result = await orAborted(find(params, ms, asking), signal);
    if (typeof result !== "string") return { result };
    const ask = { method: "elicitation/create", params } as const;
    const variable =
      params["mode"] === SECRET_MODE && missingSecret(asking, textIn(params["name"]));
    return variable ? lacksSecret(ask, variable, result) : cannotAsk(ask, result);
  };
