/** The most iterations of PBKDF2 that workerd allows. */
const ITERATIONS = 100_000;

/**
 * A hash of the owner's passphrase: `pbkdf2:<iterations>:<salt>:<hash>`, the last two in base64. `$` is no separator
 * because wrangler expands it in variables.
 */
export async function hashPassphrase(passphrase: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const hash = await derive(passphrase, salt, ITERATIONS);
  return `pbkdf2:${ITERATIONS}:${toBase64(salt)}:${toBase64(hash)}`;
}

/** True if `hashed` was made from this passphrase. Takes the same time for every wrong passphrase. */
export async function isPassphrase(passphrase: string, hashed: string): Promise<boolean> {
  const [, iterations, salt, expected] = hashed.split(/[$:]/);
  if (salt === undefined || expected === undefined) return false;
  const hash = await derive(passphrase, fromBase64(salt), Number(iterations));
  const wanted = fromBase64(expected);
  let difference = hash.length ^ wanted.length;
  for (const [at, byte] of hash.entries()) difference |= byte ^ (wanted[at] ?? 0);
  return difference === 0;
}

/**
 * PBKDF2 of the normalized passphrase, as keyboards differ in how they compose letters.
 * https://www.rfc-editor.org/rfc/rfc8018#section-5.2
 */
async function derive(
  passphrase: string,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number,
): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(passphrase.normalize("NFKC").trim());
  const key = await crypto.subtle.importKey("raw", bytes, "PBKDF2", false, ["deriveBits"]);
  const way = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  return new Uint8Array(await crypto.subtle.deriveBits(way, key, 256));
}

const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
