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
 * Stores the texts of a large result as a file, or its structured content if that is longer: a text beside it is a summary,
 * which stays. Structured content is left out too, unless the tool has an output schema: clients check the result by that.
 */
export const fitResult =
  (files: StoredFiles, urlOf: UrlOf): NonNullable<Deployment["fitResult"]> =>
  (result, { tool, call }) => {
    const most = tool.servlet.manifest.files?.resultsOver ?? Infinity;
    const { content, structuredContent, ...rest } = result;
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const structured = structuredContent === undefined ? "" : JSON.stringify(structuredContent);
    const whole = text.length >= structured.length ? text : structured;
    // A servlet or a script that has called the tool gets all of it.
    const isNested = call.share !== undefined;
    if (isNested || result.isError === true || whole.length <= most) return result;
    const isSummarized = whole !== text && text !== "";
    const shown = firstPart(isSummarized ? text : whole, most);
    const isJson = jsonIn(whole) !== undefined;
    const spec = {
      name: `${tool.own}.${isJson ? "json" : "txt"}`,
      mimeType: isJson ? "application/json" : "text/plain; charset=utf-8",
      servlet: tool.servlet.name,
    };
    const store = async (): Promise<CallToolResult> => {
      const { principal } = call;
      const bytes = new TextEncoder().encode(whole);
      const id = await files.make(principal, spec);
      for (let start = 0; start < bytes.length; start += limits.transferReadBytes)
        await files.append(
          principal,
          { id, start },
          bytes.subarray(start, start + limits.transferReadBytes),
        );
      const file = await files.finish(principal, id);
      const next = fileUri(id, new TextEncoder().encode(shown).length);
      const note = isSummarized
        ? `The structured content of the result has ${whole.length} characters. It is stored as a file: read it with read_stored_file, file ${fileUri(id)}`
        : `The result has ${whole.length} characters, of which these are the first ${shown.length}. It is stored as a file: read on with read_stored_file, file ${next}`;
      return {
        ...rest,
        ...(tool.output !== undefined && structuredContent !== undefined && { structuredContent }),
        content: [
          { type: "text", text: shown },
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
      const why = `The result has ${whole.length} characters (limit ${most}), and could not be stored as a file: ${message}`;
      return {
        ...rest,
        isError: true,
        content: [
          { type: "text", text: shown },
          { type: "text", text: why },
        ],
      };
    });
  };

/** The beginning of a text: whole lines if there are any, otherwise whole characters. */
function firstPart(text: string, most: number): string {
  const part = text
    .slice(0, most)
    .toWellFormed()
    .replace(/\uFFFD$/, "");
  const line = part.lastIndexOf("\n") + 1;
  return line > most / 2 ? part.slice(0, line) : part;
}
