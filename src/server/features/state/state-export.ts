/** Export and summary of a servlet's state in one scope. */
import { FileSystemError } from "../../kernel/files/errors.ts";
import type { Files } from "../../kernel/files/files.ts";
import { treeOf } from "../../kernel/files/tree.ts";
import {
  FRAME_BYTES,
  STATE_FILE_VERSION,
  stateFile,
  type Frame,
  type FrameHead,
} from "./state-file.ts";
import type { ScopeState } from "./scope-state.ts";

/** Maximum files listed in the summary of a state. */
const LISTED_FILES = 1000;

/** Sizes and times of the state in one scope. */
export interface StateSummary {
  /** Bytes of stored memory; 0 before the first call. */
  memoryBytes: number;
  /** When the memory was last changed, in Unix ms. */
  changed?: number;
  /** True if the memory belongs to the served build; memory of another build is never used. */
  isOfThisBuild: boolean;
  fileBytes: number;
  /** The first `LISTED_FILES` files; times in Unix ms. */
  files: { path: string; kind: string; size: number; modified: number }[];
  hasMoreFiles: boolean;
  /** True if files cannot be decrypted: their key is gone, or they were altered. */
  isDamaged: boolean;
}

const now = () => BigInt(Date.now()) * 1_000_000n;
const NONE = new Uint8Array();

/** The files, for reading only. */
const look = (state: ScopeState): Files => state.files.begin([], { now: now(), continues: true });

/** The summary of a state; `build` is that of the servlet (see `buildIdOf`) that would use it. */
export function summaryOf(state: ScopeState, build: string | undefined): StateSummary {
  const { rows } = state;
  const changed = rows.changedAt;
  const summary: StateSummary = {
    memoryBytes: rows.bytes,
    isOfThisBuild: build !== undefined && rows.hash === build,
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
      if (summary.files.length === LISTED_FILES) {
        summary.hasMoreFiles = true;
        break;
      }
      summary.files.push({ path, kind, size, modified: Number(modified / 1_000_000n) });
    }
    files.drop();
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    summary.isDamaged = true;
  }
  return summary;
}

function* itemsOf(files: Files) {
  for (const { host, root } of files.inodes.totals.stores) {
    for (const item of treeOf(files, root)) yield { ...item, path: `${host}/${item.path}` };
  }
}

/** The state as a file. Nothing may change the state while the file is read. */
export async function* exportOf(
  state: ScopeState,
  servlet: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const files = look(state);
  try {
    yield* stateFile(framesOf(state, files, servlet));
  } finally {
    files.drop();
  }
}

async function* framesOf(
  { rows }: ScopeState,
  files: Files,
  servlet: string,
): AsyncGenerator<Frame> {
  const { hash } = rows;
  const rest = await rows.rest();
  const frame = (head: FrameHead, content: Uint8Array = NONE): Frame => ({ head, content });
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
    for await (const page of rows.pages())
      for (const [nth, bytes] of page) yield frame({ is: "block", nth }, bytes);
  }
  const { stores, nameless, open = [] } = files.inodes.totals;
  const seen = new Set<number>();
  for (const { host, root, digest } of stores) {
    yield frame({ is: "store", host, node: root, ...(digest !== undefined && { digest }) });
    for (const { node, path, kind, size: length, modified, target } of treeOf(files, root)) {
      yield frame({
        is: "entry",
        node,
        path,
        kind,
        length,
        modified,
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
