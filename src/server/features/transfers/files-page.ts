/** The console's page Files: what a caller has sent, and what servlets have made for it. */
import { html } from "hono/html";
import { ANONYMOUS, type Principal } from "../../kernel/core/model.ts";
import { mebibytes } from "../../kernel/core/text.ts";
import { emptyState, notice, postButton, tableOf, timeTag } from "../../kernel/http/components.ts";
import { shown, type Markup } from "../../kernel/http/document.ts";
import type { Visitor } from "../console/frame.ts";
import type { ConsolePage } from "../console/pages.ts";
import type { ListedFile } from "./stored-file.ts";
import type { StoredFiles } from "./stored-files.ts";
import { DOWNLOAD_PATH, fileUri } from "./wire.ts";

const PATH = "/console/files";

export const filesPage = (stored: StoredFiles): ConsolePage => ({
  name: "Files",
  path: PATH,
  isForOperators: false,
  async show(_raw, visitor, formToken) {
    const owner = ownerIn(visitor);
    if (owner === undefined)
      return {
        body: html`<h1>Files</h1>
          ${UNKNOWN}`,
      };
    const { files, count } = await stored.list(owner);
    const rows = files.map(async (one) => {
      const { id, name, mimeType, servlet, expires, isWhole } = one;
      const token = isWhole ? await stored.linkToken(owner, id) : undefined;
      return [
        nameOf(one, token && DOWNLOAD_PATH.replace(":token", token)),
        shown(mimeType.split(";")[0]!),
        sizeOf(one),
        servlet === undefined ? "you" : shown(servlet),
        timeTag(expires),
        formToken === ""
          ? ""
          : postButton("Delete", { token: formToken, id }, { about: name, tone: "danger" }),
      ];
    });
    const table = tableOf({
      caption: "Your files",
      columns: ["File", "Type", { name: "Size", isNumber: true }, "From", "Deleted", "Action"],
      empty: NONE,
      rows: await Promise.all(rows),
    });
    return {
      body: html`<h1>Files</h1>
        ${table}
        ${count > files.length ? notice(`${count - files.length} more are not shown.`) : ""}`,
      extraStyle: "td button { white-space: nowrap; }",
    };
  },
  async post(form, _by, visitor) {
    const owner = ownerIn(visitor);
    if (owner !== undefined) await stored.delete(owner, form.get("id") ?? "");
    return PATH;
  },
});

/** Callers who share an address share their files: they are shown on the server's own machine only. */
const ownerIn = ({ caller, isOperator }: Visitor): Principal | undefined =>
  caller?.name === ANONYMOUS.name && !isOperator ? undefined : caller;

const UNKNOWN = emptyState(
  "No files are shown",
  "This server does not know who is calling. Pass the URI of a file to a tool, or open its URL.",
);
const NONE = emptyState(
  "You have no files",
  "Send one where a tool takes a file, or have a tool make one.",
);

/** The name of a file, which leads to its bytes once it is whole. */
const nameOf = ({ id, name, profile }: ListedFile, url: string | undefined): Markup =>
  html`<span
    >${url === undefined ? shown(name) : html`<a href="${url}">${shown(name)}</a>`}<br />
    <code class="dim">${fileUri(id)}</code>
    ${profile && html`<br /><span class="dim small">at ${shown(profile)}</span>`}</span
  >`;

const sizeOf = ({ size, received, isWhole }: ListedFile): string =>
  isWhole ? mebibytes(size) : `${mebibytes(received)} so far`;
