/** Host functions with which servlets make files for their callers, and read those that callers pass. */
import * as z from "zod/mini";
import { Fault } from "../../kernel/core/errors.ts";
import { once } from "../../kernel/core/once.ts";
import { payloadOf } from "../../kernel/servlets/payload.ts";
import type { FeatureFunction } from "../../kernel/servlets/deployment.ts";
import { limits } from "./limits.ts";
import type { StoredFiles } from "./stored-files.ts";
import { fileLink, type UrlOf } from "./links.ts";
import { fileUri, isStoredFile, storedFileIn } from "./wire.ts";

const writeSchema = once(() =>
  z.strictObject({
    /** The id that the first write has returned; absent in the first. */
    id: z.optional(z.string().check(z.maxLength(100))),
    name: z.string().check(z.maxLength(1000)),
    mimeType: z.optional(z.string()),
    start: z.int().check(z.minimum(0)),
    /** In base64. */
    bytes: z.string(),
    isLast: z.boolean(),
  }),
);
const openSchema = once(() => z.strictObject({ uri: z.string().check(z.maxLength(2000)) }));
const askSchema = once(() =>
  z.strictObject({
    message: z.string().check(z.maxLength(2000)),
    accept: z.optional(z.array(z.string().check(z.maxLength(100))).check(z.maxLength(50))),
    mostBytes: z.optional(z.number()),
  }),
);
const readSchema = once(() =>
  z.strictObject({
    uri: z.string().check(z.maxLength(2000)),
    start: z.int().check(z.minimum(0)),
    length: z.int().check(z.minimum(0)),
  }),
);

export function transferFunctions(
  files: StoredFiles,
  { urlOf, uploadUrlOf }: { urlOf: UrlOf; uploadUrlOf: UrlOf },
): Record<string, FeatureFunction> {
  return {
    /** Writes a part of a file; the last one returns the link to it, each other one the file's id. */
    async "transfers.write"(payload, of) {
      demandFiles(of);
      const {
        id: known,
        name,
        mimeType,
        start,
        bytes: text,
        isLast,
      } = payloadOf(writeSchema(), payload);
      const { principal } = of.call;
      const bytes = bytesIn(text);
      const id =
        known ?? (await files.make(principal, { name, mimeType, servlet: of.servlet.name }));
      if (bytes.length > 0) await files.append(principal, { id, start }, bytes);
      if (!isLast) return { id };
      return fileLink(await files.finish(principal, id), of.call, { files, urlOf });
    },
    /** A link to a file. */
    async "transfers.link"(payload, of) {
      demandFiles(of);
      const id = idIn(payloadOf(openSchema(), payload));
      return fileLink(await files.open(of.call.principal, id), of.call, { files, urlOf });
    },
    /** Has a person asked for a file: its URI, and the URL of the page on which it is chosen. */
    async "transfers.ask"(payload, of) {
      demandFiles(of);
      const { id, token } = await files.request(of.call.principal, payloadOf(askSchema(), payload));
      const url = uploadUrlOf(token, of.call);
      if (url !== undefined) return { uri: fileUri(id), url };
      throw new Fault(
        "invalid_params",
        "the server does not know its own address: its operator sets it as PUBLIC_URL.",
      );
    },
    /** True if a file that was asked for is there. */
    async "transfers.arrived"(payload, of) {
      demandFiles(of);
      return files.isWhole(of.call.principal, idIn(payloadOf(openSchema(), payload)));
    },
    /** The name, media type and size of a file. */
    async "transfers.open"(payload, of) {
      demandFiles(of);
      const { id, name, mimeType, size } = await files.open(
        of.call.principal,
        idIn(payloadOf(openSchema(), payload)),
      );
      return { id, name, mimeType, size };
    },
    /** Bytes of a file, in base64. */
    async "transfers.read"(payload, of) {
      demandFiles(of);
      const given = payloadOf(readSchema(), payload);
      const length = Math.min(given.length, limits.transferReadBytes);
      const part = { start: given.start, length };
      return (await files.read(of.call.principal, idIn(given), part)).toBase64();
    },
  };
}

type Of = Parameters<FeatureFunction>[1];

/** Throws `invalid_params` unless the manifest says that the servlet makes or takes files. */
function demandFiles({ servlet: { name, manifest } }: Of): void {
  if (manifest.files === undefined)
    throw new Fault(
      "invalid_params",
      `The manifest of ${name} does not say that it makes or takes files. Add "files": {} to its servlet.json.`,
    );
}

/** The id in the URI of a stored file. Throws `invalid_params`. */
function idIn({ uri }: { uri: string }): string {
  const found = storedFileIn(uri);
  if (found !== undefined) return found.id;
  throw new Fault(
    "invalid_params",
    isStoredFile(uri)
      ? "This URI of a stored file is not whole. Copy it again."
      : "This is not the URI of a stored file, which begins with stored-file://. The tool upload_file makes one.",
  );
}

function bytesIn(text: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(text);
  } catch {
    throw new Fault("invalid_params", "The bytes of the file are not in base64.");
  }
  if (bytes.length <= limits.transferReadBytes) return bytes;
  throw new Fault(
    "invalid_params",
    `A part of a file has ${bytes.length} bytes (limit ${limits.transferReadBytes}). Write it in smaller ones.`,
  );
}
