/** Files in the catalog: arguments that are files, and the parts of stored files as resources. */
import type { Contributor } from "../../kernel/servlets/catalog.ts";
import { READ_STORED_FILE } from "../../kernel/servlets/scopes.ts";
import { noResource, Fault } from "../../kernel/core/errors.ts";
import { readAsResource } from "./read-part.ts";
import type { StoredFiles } from "./stored-files.ts";
import { FILE_TEMPLATE, isStoredFile, withFileArguments } from "./wire.ts";

const TEMPLATE = {
  uriTemplate: FILE_TEMPLATE,
  name: "stored-file",
  title: "A stored file",
  description:
    "A part of a file that a tool has made, or that was sent: offset and length are in bytes. Its _meta says where the next part begins.",
};

export const filesContributor = (files: StoredFiles): Contributor => ({
  tool(entry) {
    const tool = withFileArguments(entry.tool);
    return tool === undefined ? entry : { ...entry, tool, takesFiles: true };
  },
  listsFor: (lists) =>
    lists.tools.some(({ name }) => name === READ_STORED_FILE)
      ? { ...lists, resourceTemplates: [...lists.resourceTemplates, TEMPLATE] }
      : lists,
  callersResource: (uri) =>
    isStoredFile(uri)
      ? async (_stored, caller) => {
          try {
            return await readAsResource(files, caller, uri);
          } catch (error) {
            const { code, message } = Fault.from(error);
            throw code === "invalid_params"
              ? new Fault("not_found", message, { data: noResource(uri).data })
              : error;
          }
        }
      : undefined,
});
