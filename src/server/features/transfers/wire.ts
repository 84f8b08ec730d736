/**
 * Names and shapes that SEP-2356 and SEP-2631 define, both drafts, and those that this server adds. Servlets mark a file
 * argument in a form of their own, so that the next revision of the drafts is a change of this file.
 */
import { FILE_KEYWORD, HOW_TO_GET_FILE, UPLOADS_PATH } from "../../kernel/core/files.ts";
import { isObject, type Json, type Tool } from "../../kernel/core/model.ts";

/** The keyword by which the kits mark an argument that is a file: `{ accept?: string[], mostBytes?: number, ask?: string }`. */
const OWN_KEYWORD = "x-edge-file";

/** The scheme of the URIs of stored files. */
const SCHEME = "stored-file:";

/** The URI template of parts of stored files. */
export const FILE_TEMPLATE = "stored-file://{id}{?offset,length}";

/** Where a file's bytes are sent, and where they are fetched. */
export const UPLOAD_PATH = `${UPLOADS_PATH}:token`;
export const DOWNLOAD_PATH = "/files/out/:token";

/** The `_meta` of a part of a file: `{ offset, length, size, next? }`, in bytes; `next` is the URI of the next part. */
export const RANGE_META = "edge-servlets/range";
/** The `_meta` of a link to a file: the URI under which tools take it, and which `resources/read` reads in parts. */
export const HANDLE_META = "edge-servlets/file";

/** A file as SEP-2631 describes it. */
export interface FileValue {
  uri: string;
  name: string;
  mimeType: string;
  size: number;
}

/** How a client sends a file's bytes, as SEP-2631 describes it. */
export interface FileTransfer {
  transport: "https";
  method: "PUT";
  url: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** The id in the URI of a stored file and the part that its query asks for; undefined for any other URI. */
export function storedFileIn(uri: string): { id: string; query: URLSearchParams } | undefined {
  const { id, query = "" } =
    /^stored-file:\/\/(?<id>[\w-]{22})(?:\?(?<query>.*))?$/s.exec(uri)?.groups ?? {};
  return id === undefined ? undefined : { id, query: new URLSearchParams(query) };
}

/** True for a URI that only stored files may have. */
export const isStoredFile = (uri: string): boolean => uri.toLowerCase().startsWith(SCHEME);

/** The URI of a stored file, or of the part from an offset on. */
export const fileUri = (id: string, offset?: number): string =>
  `${SCHEME}//${id}${offset === undefined ? "" : `?offset=${offset}`}`;

const ASKED = "If you have none, leave it out: the user is asked for it.";

/** A tool as it is listed, if an argument is a file; undefined if none is. */
export function withFileArguments(tool: Tool): Tool | undefined {
  const inputSchema = listedSchema(tool.inputSchema) as Tool["inputSchema"];
  return inputSchema === tool.inputSchema ? undefined : { ...tool, inputSchema };
}

/** How deep in a schema files are looked for. */
const DEPTH = 32;

/** The depth of the arguments themselves. The kits ask for no files within them. */
const ARGUMENT_DEPTH = 2;

/** The schema with the keyword of the drafts; the same one if nothing in it is a file. */
function listedSchema(schema: unknown, depth = 0): unknown {
  if (depth > DEPTH) return schema;
  if (Array.isArray(schema)) {
    const all = schema.map((one) => listedSchema(one, depth + 1));
    return all.every((one, at) => one === schema[at]) ? schema : all;
  }
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(
    ([key, value]) => [key, listedSchema(value, depth + 1)] as const,
  );
  const changed: Json = entries.every(([key, value]) => value === schema[key])
    ? schema
    : Object.fromEntries(entries);
  const { [OWN_KEYWORD]: mark, ...rest } = changed;
  if (!isObject(mark) || rest["type"] !== "string") return changed;
  const { accept, mostBytes, ask } = mark;
  const { description } = rest;
  const own = typeof description === "string" ? [description] : [];
  const asked = ask === undefined || depth > ARGUMENT_DEPTH ? [] : [ASKED];
  return {
    ...rest,
    format: "uri",
    description: [...own, HOW_TO_GET_FILE, ...asked].join(" "),
    [FILE_KEYWORD]: {
      ...(accept !== undefined && { accept }),
      ...(mostBytes !== undefined && { maxSize: mostBytes }),
    },
  };
}
