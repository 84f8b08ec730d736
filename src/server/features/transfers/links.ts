/** Links to files in results of tools. */
import type { CallContext } from "../../kernel/core/call-context.ts";
import type { McpContentBlock } from "../../kernel/core/model.ts";
import type { StoredFile } from "./stored-file.ts";
import type { StoredFiles } from "./stored-files.ts";
import { fileUri, HANDLE_META } from "./wire.ts";

/** The URL from which a file is fetched; undefined if the server does not know its own address. */
export type UrlOf = (token: string, call: Pick<CallContext, "link">) => string | undefined;

/** A link to a file of a call's caller. Without a URL the client reads it by its URI. */
export async function fileLink(
  file: StoredFile,
  call: Pick<CallContext, "link" | "principal">,
  { files, urlOf }: { files: Pick<StoredFiles, "linkToken">; urlOf: UrlOf },
): Promise<McpContentBlock> {
  const url = urlOf(await files.linkToken(call.principal, file.id), call);
  const { id, name, mimeType, size, expires } = file;
  const uri = fileUri(id);
  const until = new Date(expires).toISOString();
  return {
    type: "resource_link",
    uri: url ?? uri,
    name,
    mimeType,
    size,
    description: `Stored until ${until}. Tools take it, and read_stored_file reads it in parts, as ${uri}`,
    _meta: { [HANDLE_META]: uri },
  };
}
