/** The documents of a servlet's views. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../server/kernel/core/limits.ts";
import { digestedFile, type DigestedFile } from "./digests.ts";
import { readablePath } from "./readable-files.ts";
import { Refusal, refusedAt } from "./refusal.ts";
import type { FoundServlet } from "./scan.ts";
import { isViewScript, pageOfDocument, pageOfScript, type PageView } from "./view-page.ts";

/** The document of one view, in the cache. */
export interface ViewDocument extends DigestedFile {
  name: string;
}

/** The documents of the views in a servlet's manifest. Throws a `Refusal`. */
export async function viewDocuments(
  { manifest: { views = {}, prefix }, place }: FoundServlet,
  cache: string,
): Promise<ViewDocument[]> {
  return Promise.all(
    Object.entries(views).map(async ([name, view]) => {
      const page = await pageOf({ ...view, prefix, servlet: place }).catch(
        refusedAt(`the view ${name}`),
      );
      const bytes = new TextEncoder().encode(page);
      if (bytes.length > limits.viewBytes)
        throw new Refusal(
          `the view ${name}: its page has ${bytes.length} bytes, and ${limits.viewBytes} is the limit: make its images or packages smaller`,
        );
      return { name, ...(await digestedFile(cache, "view", bytes)) };
    }),
  );
}

/** Paths of the view scripts in a servlet's manifest. */
export const viewScripts = ({ manifest: { views = {} }, place }: FoundServlet): string[] =>
  Object.values(views).flatMap(({ file }) => (isViewScript(file) ? join(place, file) : []));

async function pageOf(view: PageView): Promise<string> {
  const { file, servlet } = view;
  const path = await readablePath(servlet, join(servlet, file), { asData: true });
  if (path === undefined)
    throw new Refusal(`there is no file ${file}: write it, or leave the view out`);
  if (isViewScript(file)) return pageOfScript(path, view);
  const bytes = await readFile(path).catch(() => {
    throw new Refusal(`${file} is not a file: name one`);
  });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(`${file} is not UTF-8: save it so`);
  }
  if (!/^(?:\s|<!--(?:(?!-->)[^])*-->)*<(?:!doctype\s+html|html)\b/i.test(text))
    throw new Refusal(
      `${file} is not an HTML document: begin it with <!doctype html>, or name a script (.tsx, .ts)`,
    );
  return pageOfDocument(text, path, view);
}
