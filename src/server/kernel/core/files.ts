/** Arguments of tools that are files, as clients see them, and how one is sent: what a form for such a tool needs. */

/** The keyword of a schema for a file, `{ accept?: string[], maxSize?: number }`: SEP-2356, a draft. */
export const FILE_KEYWORD = "x-mcp-file";

/** Added to the description of such an argument, for models. */
export const HOW_TO_GET_FILE =
  "A file, by its URI. Get one by upload_file, or pass the URI of a file that a tool has made.";

/** The tool by which a client sends a file: its result has the file's URI, and the URL to which its bytes go. */
export const UPLOAD_FILE = "upload_file";

/** The URL of an upload has this path and a token. */
export const UPLOADS_PATH = "/files/in/";

/** The path of the script by which pages send the bytes of a file. */
export const SEND_SCRIPT_PATH = "/files/send.js";
