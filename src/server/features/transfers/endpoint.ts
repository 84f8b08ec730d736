/** The URLs at which files are sent and fetched: each has a token, and needs no other credentials. */
import { Fault, httpStatus, report, retryAfterOf } from "../../kernel/core/errors.ts";
import { isObject, type Principal } from "../../kernel/core/model.ts";
import { percentDecoded } from "../../kernel/core/text.ts";
import { acceptsPages, contentTypeOf, jsonHeaders, lengthOf } from "../../kernel/http/body.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import {
  fileNameOf,
  isMediaType,
  mediaTypeOf,
  type ChosenFile,
  type OpenFile,
  type StoredFile,
} from "./stored-file.ts";
import type { StoredFiles } from "./stored-files.ts";
import type { FileRange } from "./transfers-object.ts";
import { uploadPage } from "./upload-page.ts";
import { fileUri } from "./wire.ts";

const NO_UPLOAD =
  "There is no upload at this URL, or its time is over. Call upload_file for another.";
const NO_FILE = "There is no file at this URL: it is misspelt, or the file was deleted.";

/**
 * `/files/in/TOKEN`: PUT sends the file or its next part, GET says how much has arrived, and shows browsers a page on which
 * a file is chosen.
 */
export async function receiveFile(
  raw: Request,
  token: string,
  { files, site, authenticator }: Pick<Kernel, "site" | "authenticator"> & { files: StoredFiles },
): Promise<Response> {
  const { method } = raw;
  const isSending = method === "PUT";
  if (!isSending && method !== "GET" && method !== "HEAD")
    throw notAllowed(method, "PUT, GET, HEAD");
  const found = await files.upload(token);
  if (found !== undefined && !(await hasAccess(found.owner, authenticator))) return noAccess();
  const upload = found?.file;
  if (method === "GET" && acceptsPages(raw.headers)) return uploadPage(upload, site);
  if (upload === undefined) return answer(404, { error: NO_UPLOAD });
  if (!isSending) return progressOf(upload, 200);
  const encoding = raw.headers.get("content-encoding");
  if (encoding !== null && encoding !== "identity")
    throw new Fault(
      "unsupported_media_type",
      "The body is compressed (Content-Encoding). Send it without compression.",
    );
  const chosen = upload.request && chosenIn(raw);
  const part = partOf(raw, chosen?.size ?? upload.size);
  const received = await files.receive(token, part, { body: raw.body, chosen });
  if (received === undefined) return answer(404, { error: NO_UPLOAD });
  return progressOf(received, received.isWhole ? 201 : 202);
}

const CONTENT_RANGE = /^bytes (?<first>\d{1,15})-(?<last>\d{1,15})\/(?<size>\d{1,15}|\*)$/;

/** The part of the file that a request sends. Throws `invalid_request`, `conflict`. */
function partOf(raw: Request, size: number): FileRange {
  const announced = lengthOf(raw);
  const range = raw.headers.get("content-range");
  if (range === null) {
    if (announced === undefined)
      throw new Fault(
        "invalid_request",
        "The length of the body is missing. Send the file as a whole with its Content-Length, or a part with its Content-Range.",
      );
    if (announced !== size) throw otherSize(announced, size);
    return { start: 0, length: announced };
  }
  const { first, last, size: whole } = CONTENT_RANGE.exec(range)?.groups ?? {};
  const length = Number(last) - Number(first) + 1;
  if (first === undefined || length <= 0)
    throw new Fault(
      "invalid_request",
      "The Content-Range is not one of bytes. Write it as in: Content-Range: bytes 0-1023/4096",
    );
  if (announced !== undefined && announced !== length)
    throw new Fault(
      "invalid_request",
      `The body has ${announced} bytes, and its Content-Range ${length}. Send what the Content-Range says.`,
    );
  if (whole !== "*" && Number(whole) !== size) throw otherSize(Number(whole), size);
  return { start: Number(first), length };
}

/** The file of a part, as a person has chosen it: its size is in the Content-Range, its name in `x-file-name`, percent-encoded. */
function chosenIn(raw: Request): ChosenFile {
  const { size } = CONTENT_RANGE.exec(raw.headers.get("content-range") ?? "")?.groups ?? {};
  const whole = Number(size ?? lengthOf(raw) ?? NaN);
  if (Number.isNaN(whole))
    throw new Fault(
      "invalid_request",
      "The size of the file is missing. Send it as a whole with its Content-Length, or in parts whose Content-Range has the size.",
    );
  const type = contentTypeOf(raw.headers);
  const name = percentDecoded(raw.headers.get("x-file-name") ?? "");
  return {
    name: name ? fileNameOf(name) : "file",
    mimeType: type === undefined || !isMediaType(type) ? mediaTypeOf() : type,
    size: whole,
  };
}

const otherSize = (given: number, size: number): Fault =>
  new Fault(
    "conflict",
    `The file has ${given} bytes, but upload_file was told ${size}. Call upload_file again with the real size.`,
  );

function progressOf({ id, name, mimeType, size, received }: OpenFile, status: number): Response {
  const body = { uri: fileUri(id), name, mimeType, size, received };
  return answer(status, body);
}

/** `/files/out/TOKEN`: the file, or with a `Range` a part of it. */
export async function sendFile(
  raw: Request,
  token: string,
  { files, authenticator }: { files: StoredFiles } & Pick<Kernel, "authenticator">,
): Promise<Response> {
  if (raw.method !== "GET" && raw.method !== "HEAD") throw notAllowed(raw.method, "GET, HEAD");
  const found = await files.download(token);
  if (found === undefined) return answer(404, { error: NO_FILE });
  const { file, owner } = found;
  if (!(await hasAccess(owner, authenticator))) return noAccess();
  const { size } = file;
  const range = rangeOf(raw, file);
  const headers = headersOf(file);
  if (range === undefined) {
    headers.set("content-range", `bytes */${size}`);
    return new Response(null, { status: 416, headers });
  }
  const { start, length } = range;
  const isWhole = length === size;
  headers.set("content-length", String(length));
  if (!isWhole) headers.set("content-range", `bytes ${start}-${start + length - 1}/${size}`);
  const status = isWhole ? 200 : 206;
  if (raw.method === "HEAD" || length === 0) return new Response(null, { status, headers });
  return new Response(await files.stream(owner, file.id, range), { status, headers });
}

type Authenticator = Kernel["authenticator"];

/** True if the owner of a file may still use this server. */
async function hasAccess(owner: Principal, authenticator: Authenticator): Promise<boolean> {
  try {
    await authenticator.current(owner);
    return true;
  } catch (error) {
    const { code } = Fault.from(error);
    if (code === "unauthorized" || code === "insufficient_scope") return false;
    throw error;
  }
}

const noAccess = (): Response =>
  answer(410, { error: "The owner of this file has no access to this server any more." });

/** The requested range; undefined if it is beyond the file's end. A request for several ranges gets the whole file. */
function rangeOf({ headers }: Request, { id, size }: StoredFile): FileRange | undefined {
  const whole = { start: 0, length: size };
  const wanted = headers.get("if-range");
  if (wanted !== null && wanted !== etagOf(id)) return whole;
  const { first, last } =
    /^bytes=(?<first>\d*)-(?<last>\d*)$/.exec(headers.get("range") ?? "")?.groups ?? {};
  if (first === undefined || last === undefined || first + last === "") return whole;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  return start < end ? { start, length: end - start } : undefined;
}

const etagOf = (id: string): string => `"${id}"`;

/** The file is foreign content: no browser shows it, guesses its type or runs anything of it. */
const headersOf = ({ id, name, mimeType }: StoredFile): Headers =>
  new Headers({
    "content-type": mimeType,
    "content-disposition": `attachment; filename="${name.replace(/[^\w. -]/g, "_")}"; filename*=UTF-8''${encoded(name)}`,
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "cache-control": "private, no-store",
    "accept-ranges": "bytes",
    etag: etagOf(id),
  });

/** As RFC 8187 has it: encodeURIComponent leaves some characters that it does not. */
const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);

const notAllowed = (method: string, allowed: string): Fault =>
  new Fault("method_not_allowed", `Method ${method} is not allowed. Use ${allowed}.`, {
    data: allowed,
  });

const answer = (status: number, body: object): Response =>
  new Response(JSON.stringify(body), { status, headers: jsonHeaders });

/** The answer to a refused request; `received` is how many bytes have arrived, if that is known. */
export function refusedTransfer(error: unknown): Response {
  const fault = report(error);
  const { message, data, code } = fault;
  const headers = new Headers(jsonHeaders);
  if (code === "method_not_allowed") headers.set("allow", String(data));
  const retryAfter = retryAfterOf(fault);
  if (retryAfter !== undefined) headers.set("retry-after", retryAfter);
  const received = isObject(data) ? data["received"] : undefined;
  // An error of the caller has the status 200 in JSON-RPC alone.
  const status = code === "invalid_params" ? 400 : httpStatus(fault);
  const body = { error: message, ...(typeof received === "number" && { received }) };
  return new Response(JSON.stringify(body), { status, headers });
}
