/** Results that are larger than the manifest of their servlet allows: each becomes a file, with its first part. */
import { Fault, report } from "../../kernel/core/errors.ts";
import type { CallToolResult } from "../../kernel/core/model.ts";
import { jsonIn } from "../../kernel/core/text.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import { limits } from "./limits.ts";
import { fileLink, type UrlOf } from "./links.ts";
import type { StoredFiles } from "./stored-files.ts";
import { fileUri } from "./wire.ts";

/**
 * Stores the texts of a large result as a file. Its structured content is left out too, unless the tool has an output
 * schema: clients check the result by that.
 */
export const fitResult =
  (files: StoredFiles, urlOf: UrlOf): NonNullable<Deployment["fitResult"]> =>
  (result, { tool, call }) => {
    const most = tool.servlet.manifest.files?.resultsOver ?? Infinity;
    const text = textOf(result);
    // A servlet or a script that has called the tool gets all of it.
    const isNested = call.share !== undefined;
    if (isNested || result.isError === true || text.length <= most) return result;
    const isJson = jsonIn(text) !== undefined;
    const spec = {
      name: `${tool.own}.${isJson ? "json" : "txt"}`,
      mimeType: isJson ? "application/json" : "text/plain; charset=utf-8",
      servlet: tool.servlet.name,
    };
    const store = async (): Promise<CallToolResult> => {
      const { principal } = call;
      const bytes = new TextEncoder().encode(text);
      const id = await files.make(principal, spec);
      for (let start = 0; start < bytes.length; start += limits.transferReadBytes)
        await files.append(
          principal,
          { id, start },
          bytes.subarray(start, start + limits.transferReadBytes),
        );
      const file = await files.finish(principal, id);
      const first = firstPart(text, most);
      const next = fileUri(id, new TextEncoder().encode(first).length);
      const note = `The result has ${text.length} characters, of which these are the first ${first.length}. It is stored as a file: read on with read_stored_file, file ${next}`;
      const { structuredContent, content, ...rest } = result;
      return {
        ...rest,
        ...(tool.output !== undefined && structuredContent !== undefined && { structuredContent }),
        content: [
          { type: "text", text: first },
          { type: "text", text: note },
          ...content.filter(({ type }) => type !== "text"),
          await fileLink(file, call, { files, urlOf }),
        ],
      };
    };
    return store().catch((error: unknown) => {
      // The caller has no room for it, or is unknown: a model can ask for less.
      const { code, message } = Fault.from(error);
      if (code !== "invalid_params" && code !== "too_many") report(error);
      const { structuredContent: _, ...rest } = result;
      const why = `The result has ${text.length} characters (limit ${most}), and could not be stored as a file: ${message}`;
      return {
        ...rest,
        isError: true,
        content: [
          { type: "text", text: firstPart(text, most) },
          { type: "text", text: why },
        ],
      };
    });
  };

/** The texts of a result, or its structured content where it has no text. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const text = texts.join("\n");
  const structured = structuredContent === undefined ? "" : JSON.stringify(structuredContent);
  return text.length >= structured.length ? text : structured;
}

/** The beginning of a text: whole lines if there are any, otherwise whole characters. */
function firstPart(text: string, most: number): string {
  const part = text
    .slice(0, most)
    .toWellFormed()
    .replace(/\uFFFD$/, "");
  const line = part.lastIndexOf("\n") + 1;
  return line > most / 2 ? part.slice(0, line) : part;
}
