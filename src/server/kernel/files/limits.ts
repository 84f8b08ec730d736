/** Limits of the files of servlets. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Memory for the files that one call reads and changes; beyond it, changes are staged in the database. */
    fileOverlayBytes: 4 * 1024 * 1024,
    /** Entries of one folder. */
    folderEntries: 100_000,
    /** Mounts of one servlet: each path of a servlet of the kit is compared with all of them. */
    mounts: 100,
    /** Symbolic links that are followed for one path: the limit of Linux. */
    symlinks: 40,
  },
});
