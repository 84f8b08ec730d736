import { textWithin } from "../body.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";

/**
 * A token request without the `client_id` in its body where that repeats the one in its `Authorization`
 * header, which the library refuses. One that differs stays, and is refused. A client may send it:
 * https://www.rfc-editor.org/rfc/rfc6749#section-3.2.1
 *
 * Throws `too_large` for a body that no token request has.
 */
export async function withOneClientId(request: Request): Promise<Request> {
  const id = basicId(request.headers.get("authorization"));
  const type = request.headers.get("content-type") ?? "";
  const isForm = type.startsWith("application/x-www-form-urlencoded");
  if (id === undefined || !isForm || request.method !== "POST") return request;
  const text = await textWithin(request.body, limits.formBytes);
  if (text === undefined) {
    const most = `${limits.formBytes} bytes`;
    throw new Fault("too_large", `The token request has more than ${most}. Send only its fields.`);
  }
  const fields = new URLSearchParams(text);
  const named = fields.getAll("client_id");
  const isRepeated = named.length === 1 && named[0] === id;
  if (isRepeated) fields.delete("client_id");
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  const { url, method } = request;
  return new Request(url, { method, headers, body: isRepeated ? fields.toString() : text });
}

/** Who an `Authorization: Basic` header names; undefined where it is none. */
function basicId(authorization: string | null): string | undefined {
  const [, encoded] = /^basic +([\w+/=]+)$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const id = atob(encoded).split(":")[0]!;
    return decodeURIComponent(id.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
