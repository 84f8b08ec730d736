/** Export, import and summary of what a servlet keeps in one scope. */
import { Fault } from "../errors.ts";
import { FileError } from "../files/errors.ts";
import type { Files } from "../files/files.ts";
import { removeTree, treeOf } from "../files/tree.ts";
import { limits } from "../limits.ts";
import type { BundledServlet } from "../servlets/bundle.ts";
import {
  FRAME_BYTES,
  framesIn,
  STATE_FILE_VERSION,
  stateFile,
  type Frame,
  type Head,
} from "../state-file.ts";
import type { ScopeState } from "./scope-state.ts";
import type { Rest } from "./state-rows.ts";

/** What is kept in one scope, without its contents. */
export interface StateSummary {
  /** Bytes that are stored of the memory; 0 before the first call. */
  memoryBytes: number;
  /** When the memory was last changed, in Unix ms. */
  changed?: number;
  /** Whether the memory is of the build that is served; that of another is never used. */
  isOfThisBuild: boolean;
  fileBytes: number;
  /** The first `limits.listedFiles` of them; times in Unix ms. */
  files: { path: string; kind: string; size: number; modified: number }[];
  hasMoreFiles: boolean;
  /** True if files cannot be opened: their key is gone, or they were altered. */
  isDamaged: boolean;
}

const now = () => BigInt(Date.now()) * 1_000_000n;
const NONE = new Uint8Array();

/** The files as they are, for who looks at them without changing them. */
const look = (state: ScopeState): Files => state.files.begin([], { now: now(), continues: true });

export function summaryOf(state: ScopeState, servlet: BundledServlet): StateSummary {
  const { rows } = state;
  const changed = rows.changedAt;
  const summary: StateSummary = {
    memoryBytes: rows.bytes,
    isOfThisBuild: rows.hash === servlet.hash,
    fileBytes: 0,
    files: [],
    hasMoreFiles: false,
    isDamaged: false,
    ...(changed !== undefined && { changed }),
  };
  try {
    const files = look(state);
    summary.fileBytes = files.bytes;
    for (const { path, kind, size, modified } of itemsOf(files)) {
      if (summary.files.length === limits.listedFiles) {
        summary.hasMoreFiles = true;
        break;
      }
      summary.files.push({ path, kind, size, modified: Number(modified / 1_000_000n) });
    }
    files.drop();
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    summary.isDamaged = true;
  }
  return summary;
}

function* itemsOf(files: Files) {
  for (const { host, root } of files.inodes.totals.stores) {
    for (const item of treeOf(files, root)) yield { ...item, path: `${host}/${item.path}` };
  }
}

/** The whole as a file, as it is when it is read: nothing may change it meanwhile. */
export function* exportOf(state: ScopeState, servlet: string): Generator<Uint8Array<ArrayBuffer>> {
  const files = look(state);
  try {
    yield* stateFile(framesOf(state, files, servlet));
  } finally {
    files.drop();
  }
}

function* framesOf({ rows }: ScopeState, files: Files, servlet: string): Generator<Frame> {
  const { hash } = rows;
  const rest = rows.rest();
  const frame = (head: Head, content: Uint8Array = NONE): Frame => ({ head, content });
  const time = new Date().toISOString();
  yield frame({
    is: "state",
    version: STATE_FILE_VERSION,
    servlet,
    time,
    ...(hash !== undefined && { hash }),
  });
  if (rest !== undefined) {
    yield frame({ is: "memory", ...rest });
    for (const [nth, bytes] of rows.blocks()) yield frame({ is: "block", nth }, bytes);
  }
  const { stores, nameless, open = [] } = files.inodes.totals;
  const seen = new Set<number>();
  for (const { host, root, digest } of stores) {
    yield frame({ is: "store", host, node: root, ...(digest !== undefined && { digest }) });
    for (const { node, path, kind, size: length, modified, target } of treeOf(files, root)) {
      yield frame({
        ...({ is: "entry", node, path, kind, length, modified } as const),
        ...(target !== undefined && { target }),
      });
      if (kind === "file" && !seen.has(node)) yield* dataOf(files, node);
      seen.add(node);
    }
  }
  for (const node of nameless) {
    const { size: length, modified } = files.node(node);
    yield frame({ is: "nameless", node, length, modified });
    yield* dataOf(files, node);
  }
  if (rest !== undefined) yield frame({ is: "open", descriptors: open });
}

/** The parts of a file that are not zero. */
function* dataOf(files: Files, node: number): Generator<Frame> {
  const { size } = files.node(node);
  for (let position = 0; position < size; position += FRAME_BYTES) {
    const content = new Uint8Array(Math.min(FRAME_BYTES, size - position));
    files.read(node, position, content);
    if (content.some((byte) => byte !== 0)) yield { head: { is: "data", position }, content };
  }
}

interface Importing {
  servlet: BundledServlet;
  /** Without the memory, which may then be of another build. */
  filesOnly: boolean;
  /** Throws where so many bytes may not be stored. */
  reserve(bytes: number): Promise<void>;
}

/** Replaces what is kept by what is in a file; in one transaction, or not at all. */
export async function importInto(
  state: ScopeState,
  chunks: AsyncIterable<Uint8Array>,
  { servlet, filesOnly, reserve }: Importing,
): Promise<void> {
  const files = emptied(state);
  const memory = state.rows.newMemory();
  try {
    const nodes = new Map<number, number>();
    const place = { root: 0, last: 0 };
    let rest: Rest | undefined;
    let isFirst = true;
    for await (const { head, content } of framesIn(chunks)) {
      if (isFirst !== (head.is === "state")) throw misplaced();
      isFirst = false;
      switch (head.is) {
        case "state":
          demandFit(head, servlet, filesOnly);
          break;
        case "memory": {
          const { is: _, ...whole } = head;
          if (!filesOnly) rest = whole;
          break;
        }
        case "block":
          if (!filesOnly) memory.put(head.nth, content);
          break;
        case "open":
          if (filesOnly) break;
          for (const [fd, descriptor] of head.descriptors.toSorted(([a], [b]) => a - b)) {
            const node = nodes.get(descriptor.node);
            if (node === undefined || fd < 3) throw misplaced();
            const opened = files.open({ ...descriptor, node });
            if (opened !== fd) files.descriptors.renumber(opened, fd);
          }
          break;
        case "end":
          break;
        default:
          putFrame(files, { head, content }, nodes, place);
      }
    }
    if (isFirst) throw misplaced();
    dropUnopened(files);
    const bytes = memory.bytes + files.bytes;
    if (memory.bytes > limits.stateBytes) throw tooLarge();
    await reserve(bytes);
    state.dropKept();
    state.transaction(() => {
      files.commit({ keepsOpen: rest !== undefined });
      if (!filesOnly) memory.replace(servlet.hash, rest);
    });
  } catch (error) {
    files.drop();
    throw faultOf(error);
  } finally {
    memory.drop();
  }
}

/** The files without any, which is not committed yet. */
function emptied(state: ScopeState): Files {
  try {
    const files = state.files.begin([], { now: now() });
    const { inodes } = files;
    for (const { root } of inodes.totals.stores) {
      removeTree(files, root);
      inodes.delete(root);
    }
    inodes.totals.stores = [];
    return files;
  } catch (error) {
    throw faultOf(error);
  }
}

/** Throws `conflict` for the file of another servlet, or with memory of another build. */
function demandFit(
  { servlet: name, hash }: Head & { is: "state" },
  servlet: BundledServlet,
  filesOnly: boolean,
): void {
  if (name !== servlet.name) {
    throw new Fault(
      "conflict",
      `The file has the state of the servlet ${name}, not of ${servlet.name}. Nothing was changed.`,
    );
  }
  if (filesOnly || hash === undefined || hash === servlet.hash) return;
  throw new Fault(
    "conflict",
    `The file has memory of another build of ${name} (${hash.slice(0, 12)}, here it is ${servlet.hash.slice(0, 12)}), which cannot be used. Nothing was changed. Import its files alone with --files.`,
  );
}

/** Makes what a frame has of files. */
function putFrame(
  files: Files,
  { head, content }: Frame,
  nodes: Map<number, number>,
  place: { root: number; last: number },
): void {
  const { inodes } = files;
  switch (head.is) {
    case "store": {
      const { host, digest } = head;
      if (inodes.totals.stores.some((store) => store.host === host)) throw misplaced();
      const root = inodes.create("folder", 0);
      inodes.change(root, { parent: root });
      inodes.totals.stores.push({ host, root, ...(digest !== undefined && { digest }) });
      nodes.set(head.node, root);
      place.root = root;
      return;
    }
    case "entry": {
      const at = files.walk(place.root, head.path, false);
      const known = nodes.get(head.node);
      if (known !== undefined) return files.link(known, at);
      const node = files.create(at, head.kind, head.target);
      nodes.set(head.node, node);
      place.last = node;
      if (head.kind === "file") files.resize(node, head.length);
      files.setTimes(node, { modified: head.modified });
      return;
    }
    case "nameless": {
      const node = inodes.create("file", 0);
      inodes.change(node, { links: 0 });
      inodes.totals.nameless.push(node);
      nodes.set(head.node, node);
      place.last = node;
      files.resize(node, head.length);
      files.setTimes(node, { modified: head.modified });
      return;
    }
    case "data": {
      const { modified } = files.node(place.last);
      if (files.node(place.last).kind !== "file") throw misplaced();
      if (files.write(place.last, head.position, content) < content.length) {
        throw new FileError("nospc");
      }
      files.setTimes(place.last, { modified });
    }
  }
}

/** Files without a name that nothing has open are deleted. */
function dropUnopened(files: Files): void {
  const { inodes, descriptors } = files;
  for (const node of inodes.totals.nameless) if (!descriptors.has(node)) inodes.delete(node);
  inodes.totals.nameless = inodes.totals.nameless.filter((node) => descriptors.has(node));
}

const misplaced = () =>
  new Fault(
    "invalid_request",
    "The frames of the file are not in their order. Nothing was changed.",
  );

const tooLarge = () =>
  new Fault("too_large", "The file has more than may be kept in one scope. Nothing was changed.");

function faultOf(error: unknown): unknown {
  if (!(error instanceof FileError)) return error;
  if (error.code === "nospc") return tooLarge();
  if (error.code !== "io") return misplaced();
  return new Fault(
    "conflict",
    "What is stored can no longer be read. Delete it first: npm run servlets -- state delete",
  );
}
