/** Bytes in content: base64 as every client reads it, and the media type. */
import { bad, isString, mediaType } from "./members.ts";

/** Bytes in padded, canonical base64 without white space. */
interface Bytes {
  data: string;
  /** The type that its data URL names. */
  mimeType?: string;
}

/** Reads base64 or base64url, padded or not, with white space or without, also in a data URL. */
export function bytes(value: unknown, name: string): Bytes {
  if (isString(value)) {
    if (isCanonical(value)) return { data: value };
    const read = fromDataUrl(value) ?? fromBase64(value);
    if (read !== undefined) return read;
  }
  throw bad(`${name} is not base64. Write the bytes in base64, or as a data URL`);
}

/** Validates with `atob`, which is the fastest way (0.1 ms for 1 MB). */
function isCanonical(text: string): boolean {
  const decoded = decode(text);
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  // White space would make it longer than its bytes.
  if (decoded === undefined || decoded.length !== (text.length / 4) * 3 - padding) return false;
  const last = text.at(-1 - padding) ?? "";
  return padding === 0 || (padding === 2 ? "AQgw" : "AEIMQUYcgkosw048").includes(last);
}

function decode(text: string): string | undefined {
  try {
    return atob(text);
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Bytes | undefined {
  const plain = text.replace(/\s+/g, "").replace(/={1,3}$/, "");
  const isForUrls = /[-_]/.test(plain) && !/[+/]/.test(plain);
  const decoded = decode(isForUrls ? plain.replaceAll("-", "+").replaceAll("_", "/") : plain);
  return decoded === undefined ? undefined : { data: btoa(decoded) };
}

/** https://www.rfc-editor.org/rfc/rfc2397; the scheme may be missing where the text says that it is base64. */
function fromDataUrl(text: string): Bytes | undefined {
  const comma = text.indexOf(",");
  if (comma < 0) return undefined;
  // The head of a data URL is short.
  const [head, ...parameters] = text
    .slice(0, Math.min(comma, 1000))
    .trim()
    .split(/\s*;\s*/);
  const [, scheme, mimeType = ""] = /^(data:)?\s*(.*)$/is.exec(head!)!;
  const isEncoded = (parameters.at(-1) ?? head)!.toLowerCase() === "base64";
  if (scheme === undefined && !isEncoded) return undefined;
  try {
    const body = decodeURIComponent(text.slice(comma + 1));
    const read = isEncoded ? fromBase64(body) : { data: new TextEncoder().encode(body).toBase64() };
    return read && { ...read, ...(mimeType.includes("/") && { mimeType: mediaType(mimeType) }) };
  } catch {
    return undefined; // It has escapes that are not UTF-8.
  }
}
