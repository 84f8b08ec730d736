import ipaddr from "ipaddr.js";
import { withoutDot } from "../core/host-name.ts";

/**
 * True if a host, as `URL` writes it, is not on the public internet, judging by its address or name alone: names are
 * not resolved.
 */
export function isPrivate(given: string): boolean {
  const host = withoutDot(given);
  const address = addressIn(host);
  if (address !== undefined) return !isPublic(address);
  return !host.includes(".") || LOCAL_NAMES.test(host);
}

/** True for this machine, as `isPrivate`: a loopback address, or a name under `localhost`. */
export function isLoopback(given: string): boolean {
  const host = withoutDot(given);
  if (host === "localhost" || host === "127.0.0.1" || host.endsWith(".localhost")) return true;
  return addressIn(host)?.range() === "loopback";
}

/** True for an address to which requests cannot be read in transit. */
export const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || isLoopback(hostname);

/** The refusal of a request whose Host header `URL` cannot read. */
export const NO_HOST =
  "The Host header is not the name of a host, with or without a port. Send one Host header with the host of the URL.";

/**
 * The IP address in a host; undefined for a name. Names never reach the library, whose rejection is slow: it throws and
 * catches errors.
 */
function addressIn(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!/[:[]|^[\d.]+$|^0x/i.test(host)) return undefined;
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

const LOCAL_NAMES =
  /\.(localhost|localdomain|local|internal|intranet|private|lan|home|home\.arpa|corp|onion)$/;

/**
 * True for global unicast: for IPv6 that is 2000::/3, minus the special ranges that the library knows.
 * https://www.iana.org/assignments/ipv6-unicast-address-assignments
 */
const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address.range() === "unicast" && (!("parts" in address) || address.parts[0]! >> 13 === 1);
