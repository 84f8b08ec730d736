import ipaddr from "ipaddr.js";

/**
 * True if a host, as `URL` writes it, is not on the public internet, judging by its address or its name alone: it
 * is not resolved.
 */
export function isPrivate(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  if (ipaddr.isValid(address)) return !isPublic(ipaddr.process(address));
  return !host.includes(".") || LOCAL_NAMES.test(host);
}

const LOCAL_NAMES =
  /\.(localhost|localdomain|local|internal|intranet|private|lan|home|home\.arpa|corp|onion)$/;

/** True for global unicast: of IPv6 that is 2000::/3, less the special ranges that the library knows. https://www.iana.org/assignments/ipv6-unicast-address-assignments */
const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address.range() === "unicast" && (!("parts" in address) || address.parts[0]! >> 13 === 1);
