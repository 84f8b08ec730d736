import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { FileStore } from "../../../src/server/kernel/files/file-store.ts";
import type { Files } from "../../../src/server/kernel/files/files.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import type { Sealing } from "../../../src/server/kernel/files/sealing.ts";
import { fileBytesOf, rootOfStore, treeOf } from "../../../src/server/kernel/files/tree.ts";
import { fileCall } from "../../../src/server/kernel/wasm/file-calls.ts";
import type { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { Database, random, sealing } from "./database.ts";
import { CREATE, EXCLUSIVE, guestWith, TRUNCATE, type WasiCaller } from "./wasi-guest.ts";

/**
 * Every file call happens or does not. Random programs run with a failure at one step of a call (no room, a statement
 * that throws, a row that cannot be opened), and beside them on files that nothing fails on: the model. An operation that
 * fails has left the files as they were; one that succeeds has done what the model does. Where the storage throws, or cannot
 * be read when a part is written, the guest's call is over, and what the next one finds is what was before it.
 */

export class StorageFailed extends Error {}

/** A database and a key that fail at a step that a test chooses. */
export class FailingStore {
  readonly database = new Database();
  store: FileStore;
  /** Statements, or rows to be opened, before the one that fails. */
  statementsLeft = Infinity;
  opensLeft = Infinity;
  now = 1;
  files: Files;

  constructor() {
    this.store = this.#opened();
    this.files = this.#begin(undefined);
  }

  #opened(): FileStore {
    const failing: Sealing = {
      ...sealing,
      open: (sealed, about) => {
        if (this.opensLeft-- === 0) throw new Error("damaged");
        return sealing.open(sealed, about);
      },
    };
    const sql = {
      exec: (query: string, ...bindings: (string | number | Uint8Array | null)[]) => {
        if (this.statementsLeft-- === 0) throw new StorageFailed();
        return this.database.exec(query, ...bindings);
      },
    };
    return new FileStore(sql, failing);
  }

  #begin(most: number | undefined): Files {
    return this.store.begin(parseMounts(["data:/data"]), { now: 0n, continues: true, most });
  }

  commit(): void {
    this.database.transaction(() => this.files.commit({ keepsOpen: true }));
  }

  /** The next call of the same guest, which may store so many bytes in all. */
  goOn(most?: number): void {
    this.commit();
    this.files = this.#begin(most);
  }

  /** The next call of the guest, where this one has failed, or the process has died in it. */
  goBack(isDead = false): void {
    if (isDead) this.store = this.#opened();
    else this.files.drop();
    this.files = this.#begin(undefined);
  }

  /** One operation of a new guest with these files; what it throws where it throws. */
  run(step: Step, done?: number): number | string | Error {
    const world = { ...liveWorld, now: () => this.now };
    const { guest, wasi } = guestWith(this.files, { world });
    try {
      return step.run(wasi, guest, done);
    } catch (error) {
      return error as Error;
    }
  }

  recover(): void {
    this.statementsLeft = Infinity;
    this.opensLeft = Infinity;
  }
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Everything that a guest can see of its files. */
export function seen(files: Files) {
  const of = (node: number) => {
    const { kind, size, links, blocks, modified, accessed, changed } = files.node(node);
    const bytes = kind === "file" ? fileBytesOf(files, node) : Buffer.alloc(0);
    return { node, kind, size, links, blocks, modified, accessed, changed, bytes: digest(bytes) };
  };
  const root = rootOfStore(files, "data")!;
  const tree = [...treeOf(files, root)]
    .map(({ path, node, target }) => ({ path, target, ...of(node) }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const open = files.descriptors
    .entries()
    .map(([fd, descriptor]) => ({ fd, ...descriptor, file: of(descriptor.node) }))
    .toSorted((one, other) => one.fd - other.fd);
  const { bytes, nextNode, nameless } = files.inodes.totals;
  return {
    root: of(root),
    tree,
    open,
    bytes,
    nextNode,
    nameless: [...nameless].toSorted((one, other) => one - other),
  };
}

interface Step {
  name: string;
  /** Returns WASI's number or the kit's code; of a write, how many bytes were written where that is less than were given. */
  run(wasi: WasiCaller, guest: Guest, done?: number): number | string;
  /** True for a write, of which a part may be done: `run` takes how much. */
  isPartial?: boolean;
}

const PATHS = ["a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "e/d", "l"];
const SIZES = [0, 1, 300, 16_384, 40_000];
const OFLAGS = [0, CREATE, CREATE | EXCLUSIVE, CREATE | TRUNCATE, TRUNCATE];

/** One of all calls that change files or what is open. */
function stepOf(pick: (below: number) => number): Step {
  const path = PATHS[pick(PATHS.length)]!;
  const other = PATHS[pick(PATHS.length)]!;
  const size = SIZES[pick(SIZES.length)]!;
  const at = pick(3) === 0 ? pick(70_000) : pick(100);
  const fd = 4 + pick(4);
  const bytes = new Uint8Array(size).map((_, nth) => (nth * 7 + at) & 255 || 1);
  const oflags = OFLAGS[pick(OFLAGS.length)]!;
  const wasi = (name: string, run: (wasi: WasiCaller) => number): Step => ({ name, run });
  const write = (name: string, to?: bigint): Step => ({
    name: `${name} ${fd} ${size} at ${to}`,
    isPartial: true,
    run(guest, _guest, done = size) {
      const { errno, value } = guest.write(fd, bytes.subarray(0, done), to);
      return errno === 0 ? `written ${value}` : errno;
    },
  });
  const kit = (what: string, asked: object, data = new Uint8Array()): Step => ({
    name: `kit ${what} ${JSON.stringify(asked)} ${data.length}`,
    isPartial: what === "write",
    run(_wasi, guest) {
      let answer = new Uint8Array();
      Object.assign(guest, {
        json: () => ({ what, ...asked }),
        bytes: () => data,
        put: (given: Uint8Array<ArrayBuffer>) => void (answer = given),
      });
      fileCall(guest, 1n, 1n);
      return answer[0] === 0 ? 0 : new TextDecoder().decode(answer.subarray(1));
    },
  });
  const absolute = `/data/${path}`;
  const steps: Step[] = [
    wasi(`mkdir ${path}`, (one) => one.onPath("path_create_directory", path)),
    wasi(`rmdir ${path}`, (one) => one.onPath("path_remove_directory", path)),
    wasi(`unlink ${path}`, (one) => one.onPath("path_unlink_file", path)),
    wasi(`rename ${path} ${other}`, (one) => one.rename(path, other)),
    wasi(`rename ${path} ${other}`, (one) => one.rename(path, other)),
    wasi(`link ${path} ${other}`, (one) => one.link(path, other)),
    wasi(`symlink ${path} ${other}`, (one) => one.symlink(path, other)),
    wasi(`open ${path} ${oflags}`, (one) => one.open(path, { oflags }).errno),
    wasi(`open ${path} ${oflags}`, (one) => one.open(path, { oflags }).errno),
    wasi(`open ${path} ${CREATE}`, (one) => one.open(path, { oflags: CREATE }).errno),
    wasi(`close ${fd}`, (one) => one.call("fd_close", fd)),
    wasi(`renumber ${fd} 5`, (one) => one.call("fd_renumber", fd, 5)),
    write("write"),
    write("write"),
    write("pwrite", BigInt(at)),
    wasi(`resize ${fd} ${at}`, (one) => one.call("fd_filestat_set_size", fd, BigInt(at))),
    wasi(`allocate ${fd} ${at}`, (one) => one.call("fd_allocate", fd, BigInt(at), 100n)),
    wasi(`times of ${fd}`, (one) => one.call("fd_filestat_set_times", fd, 5n, 6n, 1 | 4)),
    wasi(`times ${path}`, (one) => one.setTimes(path, 7n, 8n, 1 | 4)),
    wasi(`seek ${fd}`, (one) => one.seek(fd, BigInt(at), 0).errno),
    wasi(`flags ${fd}`, (one) => one.call("fd_fdstat_set_flags", fd, at % 2)),
    kit("write", { path: absolute }, bytes),
    kit("write", { path: absolute, append: true }, bytes),
    kit("mkdir", { path: absolute }),
    kit("remove", { path: absolute, folder: pick(2) === 0 }),
    kit("rename", { path: absolute, to: `/data/${other}` }),
  ];
  return steps[pick(steps.length)]!;
}

/** Prepares a failure; returns its name. */
function failure(store: FailingStore, pick: (below: number) => number): string {
  const { bytes } = store.files.inodes.totals;
  const kind = pick(4);
  const step = pick(12);
  const room = [-5000, -300, 0, 100, 256, 512, 768, 17_000][pick(8)]!;
  store.goOn(kind === 1 ? bytes + room : undefined);
  if (kind === 0) return "nothing";
  if (kind === 1) return `room for ${room}`;
  if (kind === 2) store.statementsLeft = step;
  else store.opensLeft = step;
  return `${kind === 2 ? "statement" : "row"} ${step}`;
}

export interface Count {
  done: number;
  failed: number;
}

/** Runs one program; returns how files and model differ after which steps, undefined where they do not. */
export function play(seed: number, count: Count, isDeadly = false): object | undefined {
  const pick = random(seed);
  const store = new FailingStore();
  const model = new FailingStore();
  const told: string[] = [];
  let isForgotten = false;
  const differs = () => {
    const [own, others] = [seen(store.files), seen(model.files)];
    if (isForgotten) own.bytes = others.bytes;
    if (isDeepStrictEqual(own, others)) return undefined;
    return { seed, told: told.slice(-15), own, others };
  };
  for (let nth = 0; nth < 50; nth++) {
    const step = stepOf(pick);
    const why = failure(store, pick);
    model.goOn();
    store.now = model.now = nth + 2;
    const result = store.run(step);
    store.recover();
    told.push(`${step.name}, ${why}: ${String(result)}`);
    const written = typeof result === "string" && result.startsWith("written ");
    const isDone = result === 0 || written;
    // A file without a name that cannot be read is forgotten with its last descriptor, and its bytes stay counted.
    if (isDone && why.startsWith("row") && /^(close|renumber) /.test(step.name)) isForgotten = true;
    if (isDone) {
      const others = model.run(step, written ? Number(result.slice(8)) : undefined);
      if (others !== result) return { seed, told, result, others };
    } else if (result instanceof Error) {
      const isOver = result instanceof StorageFailed || result.message.startsWith("Only ");
      if (!isOver) throw result;
      const difference = step.isPartial === true ? undefined : differs();
      if (difference !== undefined) return difference;
      store.goBack(isDeadly);
    }
    count[isDone ? "done" : "failed"]++;
    const difference = differs();
    if (difference !== undefined) return difference;
  }
  // What later calls find is the same too.
  store.goOn();
  return differs();
}
