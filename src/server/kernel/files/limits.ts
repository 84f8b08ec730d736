/** Limits of the files of servlets. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Memory for what one call has read and changed of its files; beyond it, changes are staged in the database. */
    fileOverlayBytes: 4 * 1024 * 1024,
    /** Entries of one folder. */
    folderEntries: 100_000,
    /** Folders that one servlet is given: each path of a servlet of the kit is compared with all of them. */
    mounts: 100,
    /** Symbolic links that are followed for one path: as many as Linux follows. */
    symlinks: 40,
  },
});
