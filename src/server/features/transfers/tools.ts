/** The server's tools for files: one by which a client sends a file, and one that reads a stored one in parts. */
import { shellWord } from "../../kernel/core/text.ts";
import { errorResult, type OwnTool } from "../../kernel/servlets/own.ts";
import { limits } from "./limits.ts";
import type { UrlOf } from "./links.ts";
import { readPart, type FilePart } from "./read-part.ts";
import { fileNameOf, mediaTypeOf } from "./stored-file.ts";
import type { StoredFiles } from "./stored-files.ts";
import { fileUri, type FileTransfer, type FileValue } from "./wire.ts";

export const uploadFile = (files: StoredFiles, urlOf: UrlOf): OwnTool => ({
  tool: {
    title: "Send a file",
    description:
      "Gets a URL to which the bytes of a file are sent once, for an argument of a tool that is a file. Send them with PUT, as by curl -T in a shell, then pass the file's URI to the tool.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 1000, description: "The file's name." },
        size: {
          type: "integer",
          minimum: 0,
          maximum: limits.transferBytes,
          description: "Its size in bytes, as wc -c says it.",
        },
        mimeType: { type: "string", maxLength: 200, description: "Its media type." },
      },
      required: ["name", "size"],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  async run({ name: given, size, mimeType: type }, call) {
    const name = fileNameOf(String(given));
    const mimeType = mediaTypeOf(typeof type === "string" ? type : undefined);
    const bytes = Number(size);
    if (urlOf("", call) === undefined)
      return errorResult(
        "The server does not know its own address, so there is no URL: its operator sets it as PUBLIC_URL.",
      );
    const { id, token } = await files.begin(call.principal, { name, mimeType, size: bytes });
    const file: FileValue = { uri: fileUri(id), name, mimeType, size: bytes };
    const transfer: FileTransfer = {
      transport: "https",
      method: "PUT",
      url: urlOf(token, call)!,
      expiresAt: new Date(Date.now() + limits.uploadIdleMs).toISOString(),
    };
    const text = `Send the file until ${transfer.expiresAt}:\n${commandFor(file, transfer)}\nThen pass ${file.uri} to the tool. If a connection is lost, GET the same URL: it says how many bytes have arrived; send the rest with a Content-Range, as curl -C NUMBER -T does.`;
    return { content: [{ type: "text", text }], structuredContent: { file, transfer } };
  },
});

/** The shell command that sends a file: in parts if one request may not have it all. */
function commandFor({ name, size }: FileValue, { url }: FileTransfer): string {
  // A name that begins with a dash is no option, and curl's -g takes brackets as they are.
  const file = shellWord(name.startsWith("-") ? `./${name}` : name);
  const most = limits.uploadPartBytes;
  if (size <= most) return `curl -gfsS -T ${file} ${url}`;
  return `for ((i=0; i<${size}; i+=${most})); do n=$((i+${most}<${size} ? ${most} : ${size}-i)); tail -c +$((i+1)) ${file} | head -c $n | curl -fsS -T - -H "Content-Range: bytes $i-$((i+n-1))/${size}" ${url} || break; done`;
}

export const readStoredFile = (files: StoredFiles): OwnTool => ({
  tool: {
    title: "Read a stored file",
    description:
      "Reads a part of a stored file: of one that a tool has made, or that was sent. The result says how to read on.",
    inputSchema: {
      type: "object",
      properties: {
        file: {
          type: "string",
          maxLength: 2000,
          description: "Its URI, which begins with stored-file://.",
        },
        offset: { type: "integer", minimum: 0, description: "The first byte; 0 by default." },
        length: {
          type: "integer",
          minimum: 1,
          maximum: limits.transferReadBytes,
          description: `How many bytes at most; ${limits.shownPartBytes} by default.`,
        },
      },
      required: ["file"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async run({ file, offset, length }, { principal }) {
    const part = await readPart(files, principal, String(file), {
      ...(offset !== undefined && { start: Number(offset) }),
      ...(length !== undefined && { length: Number(length) }),
    });
    const { uri, text, bytes, mimeType } = part;
    const shown =
      text === undefined
        ? { type: "resource" as const, resource: { uri, mimeType, blob: bytes!.toBase64() } }
        : { type: "text" as const, text };
    return { content: [shown, { type: "text", text: placeOf(part) }] };
  },
});

/** Where a part is in its file, and how to read on. */
function placeOf({ start, length, size, next }: FilePart): string {
  const here = `These are bytes ${start} to ${start + length} of ${size}.`;
  return next === undefined ? `${here} The file ends here.` : `${here} Read on with ${next}`;
}
