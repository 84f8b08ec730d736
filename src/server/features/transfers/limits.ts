/** Limits of files that servlets make and take. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  public: {
    /** Bytes of one file. */
    transferBytes: 1024 * 1024 * 1024,
    /** Bytes of all files of one caller. Without a bucket they are in one Durable Object, which stores 10 GB. */
    callerTransferBytes: 2 * 1024 * 1024 * 1024,
    /** Files of one caller. */
    callerTransfers: 200,
    /** How long a file is stored, and its URL is valid; and how long a person may take to choose one. At most `taskMs`, for which the keys are kept that seal it. */
    transferMs: 24 * 3_600_000,
  },
  internal: {
    /** One part of an upload: Cloudflare accepts requests of 100 MB. */
    uploadPartBytes: 90 * 1024 * 1024,
    /** The next part of an upload begins within this time, and the last one has arrived by `uploadMs`. */
    uploadIdleMs: 15 * 60_000,
    uploadMs: 2 * 3_600_000,
    /** How long a sender of a part may send nothing. */
    uploadStallMs: 60_000,
    /** Delay before bytes are deleted again that the bucket did not delete. */
    emptyAgainMs: 10 * 60_000,
    /** Parts of one caller that arrive at once: without a bucket each holds some 3 MB in the caller's object. */
    uploadsAtOnce: 20,
    /** Pieces of one file: each is a row, and with a bucket an object there. */
    transferPieces: 2000,
    /** Bytes that a servlet, or a client by a resource or a tool, reads at once. */
    transferReadBytes: 1024 * 1024,
    /** Bytes of a part of a file for a model: some 15,000 tokens. */
    shownPartBytes: 64 * 1024,
    /** The newest files on the page Files: for each, its details are opened and its URL is made. */
    shownFiles: 200,
    /** Characters of a file's name. */
    transferNameCharacters: 200,
  },
});
