import { FileSystemError } from "./errors.ts";
import { Files } from "./files.ts";
import { Inodes } from "./inodes.ts";
import { limits } from "../core/limits.ts";
import type { Mount } from "./mounts.ts";
import { Overlay } from "./overlay.ts";
import { RIGHTS_ALL } from "./rights.ts";
import type { Sealing } from "./sealing.ts";
import type { Sql } from "./sql.ts";
import { putFile, removeTree } from "./tree.ts";

/** The initial files of a store. */
export interface InitialFiles {
  /** Differs if the files differ. */
  digest: string;
  files(): Iterable<{ path: string; bytes: Uint8Array }>;
}

interface BeginOptions {
  /** Nanoseconds since 1970. */
  now: bigint;
  /**
   * By host of a mount. They are written when the store is first used, and again if they differ and no mount may write.
   */
  initial?: Readonly<Record<string, InitialFiles>>;
  /** True if the guest's memory continues from the last call, which was committed with `keepsOpen`. */
  continues?: boolean;
  /** Bytes that all files may take, if less than `limits.fileBytes`. */
  most?: number | undefined;
  /** Total bytes up to which files may grow. Initial files may add `INITIAL_BYTES` to the current total. */
  room?: number;
}

/** Initial files up to this size are stored even if the quota is used up, so that the servlet can be called. */
const INITIAL_BYTES = 512 * 1024;

/**
 * The files of one scope, in a database of which nothing else uses tables named `file_…`. One call uses
 * them at a time.
 *
 * @example
 * const store = new FileStore(ctx.storage.sql, sealingWith(key));
 * const files = store.begin(parseMounts(["data:/data"]), { now });
 * // … the call runs with `setup.files` …
 * ctx.storage.transactionSync(() => files.commit({ keepsOpen: false }));
 */
export class FileStore {
  readonly #sql: Sql;
  readonly #sealing: Sealing;
  #current: Files | undefined;

  /** Creates missing tables. */
  constructor(sql: Sql, sealing: Sealing) {
    this.#sql = sql;
    this.#sealing = sealing;
    Overlay.prepare(sql);
  }

  /** The files for a call. An earlier call that was neither committed nor dropped is dropped. */
  begin(
    mounts: readonly Mount[],
    { now, initial, continues = false, most = Infinity, room = Infinity }: BeginOptions,
  ): Files {
    this.#current?.drop();
    Overlay.deleteStaged(this.#sql);
    const overlay = new Overlay(this.#sql, this.#sealing);
    const inodes = new Inodes(overlay, now);
    const limit = (bytes: number) => {
      inodes.most = Math.min(most, limits.fileBytes, Math.max(room, bytes));
    };
    limit(inodes.totals.bytes + INITIAL_BYTES);
    const files = new Files(overlay, inodes, mounts, continues);
    this.#current = files;
    const isNew = !continues || inodes.totals.open === undefined;
    const writable = new Set(mounts.flatMap(({ host, isReadOnly }) => (isReadOnly ? [] : [host])));
    for (const { host, path } of mounts) {
      const own = initial !== undefined && Object.hasOwn(initial, host) ? initial[host] : undefined;
      const root = rootOf(files, host, own, !writable.has(host));
      if (isNew) openMount(files, path, root);
    }
    limit(inodes.totals.bytes);
    return files;
  }

  /** Bytes of all files, as counted against `limits.fileBytes`. */
  get bytes(): number {
    return new Inodes(new Overlay(this.#sql, this.#sealing), 0n).totals.bytes;
  }

  /** True if anything is stored. */
  hasAny(): boolean {
    return Overlay.hasAny(this.#sql);
  }

  /** Deletes all files, even if they cannot be opened. Run it in a transaction. */
  deleteAll(): void {
    this.#current?.drop();
    Overlay.deleteAll(this.#sql);
  }
}

/** The root of a store. Created if missing; created again if read-only and its initial files have changed. */
function rootOf(
  files: Files,
  host: string,
  initial: InitialFiles | undefined,
  followsInitial: boolean,
): number {
  const { inodes } = files;
  const { stores } = inodes.totals;
  const known = stores.find((store) => store.host === host);
  const digest = initial?.digest;
  if (known !== undefined && (!followsInitial || known.digest === digest)) return known.root;
  const root = known?.root ?? inodes.whole(() => inodes.createRoot());
  if (known !== undefined) removeTree(files, root);
  try {
    for (const { path, bytes } of initial?.files() ?? []) putFile(files, root, path, bytes);
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    const why = error.code === "nospc" ? "there is no room for them" : error.message;
    throw new FileSystemError(error.code, `The files of \`${host}\` cannot be stored: ${why}.`);
  }
  const store = { host, root, ...(digest !== undefined && { digest }) };
  inodes.totals.stores = [...stores.filter((other) => other !== known), store];
  inodes.saveTotals();
  return root;
}

function openMount(files: Files, path: string, node: number): void {
  files.open({
    node,
    kind: "folder",
    mount: path,
    isPreopened: true,
    offset: 0,
    flags: 0,
    rights: RIGHTS_ALL,
    inheriting: RIGHTS_ALL,
  });
}
