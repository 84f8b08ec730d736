/** Normalises names of hosts: a dot at the end, for DNS's root, names the same host. */

/** The host without trailing dots: `mcp.example.com` for `mcp.example.com.`. */
export const withoutDot = (host: string): string =>
  host.endsWith(".") ? host.replace(/\.+$/, "") : host;

/** The URL with the host without trailing dots. */
export function withoutDotIn(url: URL): URL {
  const host = withoutDot(url.hostname);
  if (host === url.hostname) return url;
  const bare = new URL(url);
  bare.hostname = host;
  return bare;
}
