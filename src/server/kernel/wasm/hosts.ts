/** Which hosts a guest may reach, judging by their spelling. */
import { fits } from "../core/glob.ts";
import { oncePer } from "../core/once-per.ts";
import { withoutDot } from "../core/host-name.ts";
import { isPrivate } from "../http/private-hosts.ts";

/**
 * True if a guest may reach this URL. Patterns are globs on the host name (`*` for any run of characters, `?` for one),
 * with a port to allow only that port. A host that is private or local by its address or name must be named in full.
 */
export function isAllowed(url: URL, patterns: readonly string[]): boolean {
  const host = withoutDot(url.hostname.toLowerCase());
  const withPort = `${host}:${url.port || (url.protocol === "https:" ? 443 : 80)}`;
  // At most once: a manifest may have many patterns, and this takes longer than everything else.
  let isOutside: boolean | undefined;
  return patterns.some((raw) => {
    const pattern = raw.toLowerCase();
    if (pattern === host || pattern === withPort) return true;
    isOutside ??= !isPrivate(host);
    if (!isOutside) return false;
    return fits(pattern, host, "?") || fits(pattern, withPort, "?");
  });
}

/** Comparing a host with these patterns takes time proportional to this and to the host's length. */
export const charactersOf = oncePer((patterns: readonly string[]): number =>
  patterns.reduce((sum, { length }) => sum + length + 1, 0),
);
