/** Names of hosts without the dot of DNS's root, which leaves them the same host. */

/** The host without dots at its end: `mcp.example.com.` is `mcp.example.com`. */
export const withoutDot = (host: string): string =>
  host.endsWith(".") ? host.replace(/\.+$/, "") : host;

/** A URL whose host has no dot at its end. */
export function withoutDotIn(url: URL): URL {
  const host = withoutDot(url.hostname);
  if (host === url.hostname) return url;
  const bare = new URL(url);
  bare.hostname = host;
  return bare;
}
