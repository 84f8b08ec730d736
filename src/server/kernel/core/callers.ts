import { limits } from "./limits.ts";
import { ANONYMOUS, type Principal } from "./model.ts";

/**
 * The key under which quotas and namespaces count a caller. Anonymous callers are distinguished by their network;
 * undefined if that is unknown, and then nothing is counted.
 */
export function callerKey({ name, address }: Principal): string | undefined {
  if (name !== ANONYMOUS.name) return name;
  return address === undefined ? undefined : `address ${address}`;
}

/** True for the key of anonymous callers, of any network. */
export const isAnonymous = (caller = ""): boolean => caller === "" || caller.startsWith("address ");

/** The caller key of the /48 of an anonymous caller's IPv6 network. */
export const networkSiteOf = (caller: string): string | undefined =>
  /^address (?:[0-9a-f]+:){3}/.exec(caller)?.[0].concat(":/48");

/** The key that counts a caller's use of what callers share: the /48 of an anonymous IPv6 caller, else the caller; "" if unknown. */
export const usageKey = (caller = ""): string => networkSiteOf(caller) ?? caller;

/** A key under which a caller's usage is counted, and its share in units of one caller's limit. */
export interface QuotaKey {
  key: string;
  shares: number;
}

export function countedBy(caller: string): QuotaKey[] {
  const site = networkSiteOf(caller);
  const own = { key: caller, shares: 1 };
  return site === undefined ? [own] : [own, { key: site, shares: limits.siteShares }];
}
