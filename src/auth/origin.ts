import ipaddr from "ipaddr.js";
import type { Settings } from "../env.ts";
import { Fault } from "../errors.ts";

/** The server's own origin, and the origins and hosts that are allowed besides it and loopback ones. */
type OriginPolicy = Pick<Settings, "ALLOWED_ORIGINS" | "ALLOWED_HOSTS" | "PUBLIC_URL">;

/** URLs that are safe without an Origin header: avoids parsing in the common case. */
const SAFE = /^(https:|http:\/\/(localhost|127\.0\.0\.1)[:/])/;

export const isLoopback = (hostname: string) =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);

/**
 * The request at the server's own origin, by which everything names this server: at PUBLIC_URL if that is set, else
 * as it came. Throws `misdirected` for a host that is not this server's, where its hosts are known.
 */
export function atOwnOrigin(
  request: Request,
  { PUBLIC_URL: own, ALLOWED_HOSTS: allowed }: OriginPolicy,
  isHosted: boolean,
): Request {
  if (own === undefined && !isHosted) return request;
  if (own !== undefined && request.url.startsWith(`${own}/`)) return request;
  const url = new URL(request.url);
  const { hostname } = url;
  const isOwn = own !== undefined && hostname === new URL(own).hostname;
  if (
    url.pathname !== "/health" &&
    !isOwn &&
    !isLoopback(hostname) &&
    !allowed.includes(hostname)
  ) {
    throw new Fault(
      "misdirected",
      "This server does not serve the host of this request. Use its public URL, or set PUBLIC_URL or ALLOWED_HOSTS to this host.",
    );
  }
  if (own === undefined) return request;
  const { method, headers, body, signal, cf } = request;
  const init = { method, headers, body, signal, ...(cf && { cf }) };
  return new Request(own + request.url.slice(url.origin.length), init);
}

/**
 * Refuses requests that a web page could make a browser send: from a foreign origin, or to a name that was rebound
 * to this machine. A Worker cannot see the address that it is bound to, so plain http is for loopback names only.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security--endpoint
 *
 * Throws `forbidden`.
 */
export function checkOrigin(address: string, origin: string | null, policy: OriginPolicy): void {
  if (origin === null && SAFE.test(address)) return;
  const url = new URL(address);
  if (
    url.protocol === "http:" &&
    !isLoopback(url.hostname) &&
    url.origin !== policy.PUBLIC_URL &&
    !policy.ALLOWED_HOSTS.includes(url.hostname)
  ) {
    throw new Fault(
      "forbidden",
      "Plain http is served to loopback host names only. Use https, or add this host to ALLOWED_HOSTS.",
    );
  }
  if (origin !== null && !isAllowedOrigin(url, origin, policy)) {
    throw new Fault("forbidden", "This origin is not allowed. Add it to ALLOWED_ORIGINS.");
  }
}

function isAllowedOrigin(
  url: URL,
  origin: string,
  { ALLOWED_ORIGINS: allowed, PUBLIC_URL }: OriginPolicy,
): boolean {
  if (!URL.canParse(origin)) return false;
  const parsed = new URL(origin);
  // An origin has no path, and only a well-formed one is equal to its parsed form.
  if (parsed.origin !== origin.toLowerCase()) return false;
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return false;
  // An http page may have been tampered with; a proxy in front of the server may terminate https.
  const isAsSafe = parsed.protocol === url.protocol || parsed.protocol === "https:";
  if ((parsed.host === url.host && isAsSafe) || isLoopback(parsed.hostname)) return true;
  if (parsed.origin === PUBLIC_URL) return true;
  if (allowed.includes(parsed.origin)) return true;
  return parsed.protocol === "https:" && allowed.includes("*");
}

/**
 * True for a request from this machine: to a loopback name, from a loopback address. Only Cloudflare and its
 * development server know the address; elsewhere the client itself may have written the header.
 */
export function isLocal({ url, headers, cf }: Request): boolean {
  const address = headers.get("cf-connecting-ip");
  if (address === null || cf === undefined) return false;
  const host = address.includes(":") ? `[${address}]` : address;
  return isLoopback(host) && isLoopback(new URL(url).hostname);
}

/** Throws `forbidden` for a request of a web page that is not this server's own, whatever origins are allowed. */
export function demandOwnOrigin({ url, headers }: Request): void {
  const origin = headers.get("origin");
  if (origin !== null && origin !== new URL(url).origin)
    throw new Fault(
      "forbidden",
      "Web pages of other sites may not call this. Open it in a tab of its own; programs use /mcp, and operators npm run servlets.",
    );
}

/** The network of an address: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address); // An IPv4-mapped IPv6 address becomes the IPv4 address.
  if (!("parts" in parsed)) return parsed.toString();
  const groups = parsed.parts.slice(0, 4);
  return groups.map((group) => group.toString(16)).join(":");
}
