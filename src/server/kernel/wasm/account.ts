import { ACCOUNT_MODE } from "../core/asks.ts";
import type { Json } from "../core/model.ts";
import { GuestError, type Guest } from "./guest.ts";
import { askByPage } from "./ask-by-page.ts";

/** The account that a guest names in `Authorization: account NAME`, which the host replaces by a token. */
export const accountIn = (authorization: unknown): string | undefined =>
  typeof authorization === "string"
    ? /^(?:Bearer +)?account +([\w.-]{1,64})$/i.exec(authorization.trim())?.[1]
    : undefined;

/** The account that a guest's request names, as `http_request` reads it. */
export function accountOf({ headers, header }: Json): string | undefined {
  const given: unknown = headers ?? header;
  if (typeof given !== "object" || given === null) return undefined;
  const [, value] =
    Object.entries(given).findLast(([name]) => name.toLowerCase() === "authorization") ?? [];
  return accountIn(value);
}

/** Scopes of one challenge, and characters of each: a person reads them. */
const MOST_SCOPES = 20;
const SCOPE = /^[!#-[\]-~]{1,100}$/;

/**
 * The scopes that a refused request lacks, as the response says; empty if it does not say so.
 * https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export function neededScopes({ status, headersJson }: Answered): string[] {
  if (status !== 403) return [];
  const { "www-authenticate": challenge = "" } = JSON.parse(headersJson) as Record<string, string>;
  if (!/\berror="?insufficient_scope\b/i.test(challenge)) return [];
  const [, listed = ""] = /\bscope="([^"]*)"/i.exec(challenge) ?? [];
  return scopesIn(listed.split(" "));
}

interface Answered {
  status: number;
  /** Its headers by lower-case name, as JSON. */
  headersJson: string;
}

/** The scopes in a value; empty if it is not a short list of such. */
export const scopesIn = (value: unknown): string[] =>
  Array.isArray(value) &&
  value.length <= MOST_SCOPES &&
  value.every((one) => typeof one === "string" && SCOPE.test(one))
    ? (value as string[])
    : [];

/**
 * Asks the caller to connect this account, unless it is connected or was in this call. With `refused`, the account was
 * rejected, or lacks these scopes: returns true if the caller has reconnected it, so that the request can be sent again.
 *
 * Throws a `GuestError` if it cannot be connected, or the caller declines.
 */
export async function connectAccount(
  guest: Guest,
  name: string,
  refused?: { scopes: readonly string[] },
): Promise<boolean> {
  if (guest.accounts.has(name) && refused === undefined) return false;
  const { scopes = [] } = refused ?? {};
  const isMore = scopes.length > 0;
  const { answer, isAsked } = await askByPage(guest, {
    what: `account ${name}`,
    lookUp: { mode: ACCOUNT_MODE, name, ...(isMore && { scopes }) },
    message: isMore
      ? `The account ${name} needs more rights: ${scopes.join(" ")}. Allow them on this page of the server.`
      : `The account ${name} is needed. Connect it on this page of the server.`,
  });
  if ("failed" in answer)
    throw new GuestError(`The account ${name} cannot be connected: ${answer.message}`);
  const { action } = answer.result;
  if (action !== "accept")
    throw new GuestError(
      `The account ${name} is not connected: the user ${action === "decline" ? "declined" : "did not do so in time"}.`,
    );
  guest.accounts.add(name);
  return isAsked;
}
