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

/**
 * Asks the caller to connect this account, unless it is connected or was in this call. With `again`, the provider has
 * rejected its token: returns true if the caller has reconnected it, so that the request can be sent again.
 *
 * Throws a `GuestError` if it cannot be connected, or the caller declines.
 */
export async function connectAccount(guest: Guest, name: string, again = false): Promise<boolean> {
  if (guest.accounts.has(name) && !again) return false;
  const { answer, isAsked } = await askByPage(guest, {
    what: `account ${name}`,
    lookUp: { mode: ACCOUNT_MODE, name },
    message: `The account ${name} is needed. Connect it on this page of the server.`,
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
