/** Import of a servlet's state in one scope. */
import { Fault } from "../../kernel/core/errors.ts";
import { FileSystemError } from "../../kernel/files/errors.ts";
import type { Files } from "../../kernel/files/files.ts";
import { parseMounts } from "../../kernel/files/mounts.ts";
import { removeTree } from "../../kernel/files/tree.ts";
import { limits } from "../../kernel/core/limits.ts";
import { framesIn, type Frame, type FrameHead } from "./state-file.ts";
import { memoryBytes, stringBytes } from "../../kernel/core/text.ts";
import { usedBlocks } from "../../kernel/wasm/image.ts";
import type { Instance } from "../../kernel/wasm/link.ts";
import { BLOCK } from "../../kernel/wasm/marks.ts";
import { buildIdOf, type StatefulServlet, type ScopeState } from "./scope-state.ts";
import { isZero } from "./pieces.ts";
import { applyRest, type Rest } from "./rest.ts";

interface Importing {
  servlet: StatefulServlet;
  /** True to ignore the memory, which may then belong to another build. */
  filesOnly: boolean;
  /** A new instance of the servlet, to check globals and variables with. */
  newInstance(): Promise<Instance>;
  /** Throws if this many bytes may not be stored. */
  reserve(bytes: number, addsFiles: boolean): Promise<void>;
}

/** Replaces the state by a file's content in one transaction. */
export async function importInto(
  state: ScopeState,
  chunks: AsyncIterable<Uint8Array>,
  { servlet, filesOnly, newInstance, reserve }: Importing,
): Promise<void> {
  const files = emptied(state, memoryBytes(servlet.manifest.files_limit ?? ""));
  const memory = state.rows.newMemory();
  try {
    const nodes = new Map<number, number>();
    const place: Place = { root: 0, last: 0, times: new Map() };
    let rest: Rest | undefined;
    let used = new Uint8Array();
    let hasBuild = false;
    let isFirst = true;
    let isOpened = false;
    const mounts = parseMounts(servlet.manifest.allowed_paths ?? []).map(({ path }) => path);
    for await (const { head, content } of framesIn(chunks)) {
      if (isFirst !== (head.is === "state")) throw misplaced();
      isFirst = false;
      switch (head.is) {
        case "state":
          demandFit(head, servlet, filesOnly);
          hasBuild = head.hash !== undefined;
          break;
        case "memory": {
          if (!hasBuild || rest !== undefined) throw misplaced();
          const { is: _, ...whole } = head;
          if (filesOnly) break;
          const instance = await newInstance();
          used = usedBlocks(instance);
          demandApplicable(instance, whole);
          rest = whole;
          break;
        }
        case "block":
          if (filesOnly) break;
          if (!fits(rest, head.nth, content)) throw misplaced();
          if (used[head.nth] !== 1 && isZero(content, 0)) break;
          await memory.put(head.nth, content);
          if (memory.bytes > limits.stateBytes) throw tooLarge();
          break;
        case "open":
          if (filesOnly) break;
          if (rest === undefined || isOpened) throw misplaced();
          isOpened = true;
          openAll(files, head.descriptors, { nodes, mounts });
          break;
        case "end":
          break;
        default:
          putFrame(files, { head, content }, nodes, place);
      }
    }
    if (isFirst) throw misplaced();
    for (const [folder, modified] of place.times) files.setTimes(folder, { modified });
    dropUnopened(files);
    const restBytes = rest === undefined ? 0 : stringBytes(JSON.stringify(rest));
    const bytes = memory.bytes + restBytes + files.bytes;
    await reserve(bytes, true);
    state.dropKept();
    await state.store(
      async () => (filesOnly ? [] : memory.replacement(buildIdOf(servlet), rest)),
      () => files.commit({ keepsOpen: rest !== undefined }),
    );
  } catch (error) {
    files.drop();
    throw faultOf(error);
  } finally {
    memory.drop();
  }
}

/** The store without files (not committed yet), limited to `most` bytes. */
function emptied(state: ScopeState, most: number | undefined): Files {
  try {
    const files = state.files.begin([], { now: BigInt(Date.now()) * 1_000_000n, most });
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

/** Throws `conflict` for a file of another servlet or with memory of another build. */
function demandFit(
  { servlet: name, hash }: FrameHead & { is: "state" },
  servlet: StatefulServlet,
  filesOnly: boolean,
): void {
  if (name !== servlet.name) {
    throw new Fault(
      "conflict",
      `The file has the state of the servlet ${name}, not of ${servlet.name}. Nothing was changed.`,
    );
  }
  if (filesOnly || hash === undefined || hash === buildIdOf(servlet)) return;
  throw new Fault(
    "conflict",
    `The file has memory of another build of ${name}, or of one with other folders, which cannot be used. Nothing was changed. Import its files alone with --files.`,
  );
}

/** True if this is a block of a memory with these pages. */
const fits = (rest: Rest | undefined, nth: number, { length }: Uint8Array): boolean =>
  rest !== undefined &&
  length === BLOCK &&
  (nth + 1) * BLOCK <= Math.min(rest.pages * 65536, limits.memoryBytes);

/** Throws if an instance cannot have these globals, variables and pages. */
function demandApplicable(instance: Instance, rest: Rest): void {
  try {
    let bytes = 0;
    for (const [name, value] of applyRest(instance, rest))
      bytes += stringBytes(name) + value.length;
    if (bytes > limits.varBytes) throw misplaced();
  } catch {
    throw misplaced();
  }
}

/** Reopens files and folders under their descriptor numbers. */
function openAll(
  files: Files,
  descriptors: (FrameHead & { is: "open" })["descriptors"],
  { nodes, mounts }: { nodes: ReadonlyMap<number, number>; mounts: readonly string[] },
): void {
  let last = 2; // Standard error.
  for (const [fd, descriptor] of descriptors.toSorted(([a], [b]) => a - b)) {
    const node = nodes.get(descriptor.node);
    if (fd <= last || !mounts.includes(descriptor.mount)) throw misplaced();
    if (node === undefined || files.node(node).kind !== descriptor.kind) throw misplaced();
    const opened = files.open({ ...descriptor, node });
    if (opened !== fd) files.descriptors.renumber(opened, fd);
    last = fd;
  }
}

/** The place of the next frames. */
interface Place {
  root: number;
  /** The file whose parts follow. */
  last: number;
  /** Times of folders, restored at the end because adding to a folder changes them. */
  times: Map<number, bigint>;
}

/** Applies a frame to the files. */
function putFrame(
  files: Files,
  { head, content }: Frame,
  nodes: Map<number, number>,
  place: Place,
): void {
  const { inodes } = files;
  switch (head.is) {
    case "store": {
      const { host, digest } = head;
      const { stores } = inodes.totals;
      if (stores.some((store) => store.host === host)) throw misplaced();
      // A guest has the root of each store open.
      if (stores.length >= limits.openFiles) throw misplaced();
      demandShort(host, digest);
      const root = inodes.create("folder", 0);
      inodes.change(root, { parent: root });
      stores.push({ host, root, ...(digest !== undefined && { digest }) });
      nodes.set(head.node, root);
      place.root = root;
      return;
    }
    case "entry": {
      if (place.root === 0 || (head.kind === "link") !== (head.target !== undefined)) {
        throw misplaced();
      }
      demandShort(head.target);
      const at = files.walk(place.root, head.path, false);
      const known = nodes.get(head.node);
      if (known !== undefined) return files.link(known, at);
      const node = files.create(at, head.kind, head.target);
      nodes.set(head.node, node);
      place.last = node;
      if (head.kind === "file") files.resize(node, head.length);
      if (head.kind === "folder") place.times.set(node, head.modified);
      else files.setTimes(node, { modified: head.modified });
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
      if (place.last === 0) throw misplaced();
      const { modified, kind } = files.node(place.last);
      if (kind !== "file") throw misplaced();
      if (files.write(place.last, head.position, content) < content.length) {
        throw new FileSystemError("nospc");
      }
      files.setTimes(place.last, { modified });
      return;
    }
    default:
      throw misplaced();
  }
}

/** Throws if a text exceeds the maximum length of a path. */
function demandShort(...texts: (string | undefined)[]): void {
  const isLong = (text = "") => new TextEncoder().encode(text).length > limits.filePathBytes;
  if (texts.some(isLong)) throw misplaced();
}

/** Deletes unlinked files that are not open. */
function dropUnopened(files: Files): void {
  const { inodes, descriptors } = files;
  for (const node of inodes.totals.nameless) if (descriptors.count(node) === 0) inodes.delete(node);
  inodes.totals.nameless = inodes.totals.nameless.filter((node) => descriptors.count(node) > 0);
}

const misplaced = () =>
  new Fault("invalid_request", "The parts of the file do not fit together. Nothing was changed.");

const tooLarge = () =>
  new Fault("too_large", "The file has more than may be kept in one scope. Nothing was changed.");

function faultOf(error: unknown): unknown {
  if (!(error instanceof FileSystemError)) return error;
  if (error.code === "nospc") return tooLarge();
  if (error.code !== "io") return misplaced();
  return new Fault(
    "conflict",
    "What is stored can no longer be read. Delete it first: npm run servlets -- state delete",
  );
}
