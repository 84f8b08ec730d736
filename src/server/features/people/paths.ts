/** The paths of the pages. */
import { endpointPath } from "../../kernel/auth/metadata.ts";

/** The path of each page, in the order of the navigation; the account is beside the way out. */
export const PAGES = {
  Home: "/",
  Live: "/console/live",
  Calls: "/console/calls",
  Usage: "/console/usage",
  Operate: "/console/operate",
  Account: "/account",
} as const;

/** The path of the page on which people sign in. */
export const SIGN_IN_PATH = "/sign-in";

/**
 * The path that leads to the provider of this number, from which people come back to the path `back`. `isOther` has the
 * provider ask which account to use.
 */
export function providerPath(nth: number, back: string, isOther = false): string {
  const search = new URLSearchParams({ provider: String(nth), back });
  if (isOther) search.set(OTHER, "1");
  return `/account/sign-in?${search.toString()}`;
}

/** The query parameter that has a provider ask which account to use. */
export const OTHER = "other";

/** The path to which the header's button posts. */
export const SIGN_OUT_PATH = "/sign-out";

/** The path of the script by which a view answers a question. */
export const ANSWER_SCRIPT_PATH = "/console/answer.js";

/** The path at which the pages' script calls MCP, of the whole server or a profile, authenticated by the sign-in cookie. */
export const consoleMcpPath = (profile: string | undefined): string =>
  `/console${endpointPath(profile)}`;
