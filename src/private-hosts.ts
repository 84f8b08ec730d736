/**
 * Tells whether a host, as `URL` writes it, is not on the public internet as far as its spelling tells: by its
 * address, or by its name.
 */
export function isPrivate(host: string): boolean {
  if (host.startsWith("[")) return isPrivateV6(host.slice(1, -1));
  const v4 = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  if (v4 !== null) return isPrivateV4(v4.slice(1).map(Number));
  return !host.includes(".") || LOCAL_NAMES.test(host);
}

const LOCAL_NAMES =
  /\.(localhost|localdomain|local|internal|intranet|private|lan|home|home\.arpa|corp|onion)$/;

/**
 * All but global unicast, of which the addresses that lead elsewhere (Teredo, 6to4) and those for
 * documents are none: https://www.iana.org/assignments/iana-ipv6-special-registry
 */
function isPrivateV6(address: string): boolean {
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (mapped !== null) {
    const [high, low] = mapped.slice(1).map((group) => parseInt(group, 16)) as [number, number];
    return isPrivateV4([high >> 8, high & 255, low >> 8, low & 255]);
  }
  return (
    !/^[23][0-9a-f]{3}:/.test(address) ||
    /^2001:(:|[0-9a-f]{1,2}:|1[0-9a-f]{2}:|db8:)/.test(address) ||
    /^(2002|3fff):/.test(address)
  );
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry */
function isPrivateV4(address: number[]): boolean {
  const [a = 0, b = 0, c = 0] = address;
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113)
  );
}
