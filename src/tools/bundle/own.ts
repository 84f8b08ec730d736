/** Locates this software's own files: TypeScript in the repository, JavaScript in the installed package. */
import { extname, resolve } from "node:path";

/** The file extension of its modules. */
export const OWN_EXTENSION = extname(import.meta.filename);

export const isInstalled = OWN_EXTENSION === ".js";

/** The folder of the repository or the package. */
export const OWN_FOLDER = resolve(import.meta.dirname, "../../..");

/** The folder of the guides, as messages name it. */
export const DOCS = isInstalled ? "node_modules/edge-servlets/docs" : "docs";
