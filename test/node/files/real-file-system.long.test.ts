import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WASI } from "node:wasi";
import { afterEach, expect, test } from "vitest";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { newStore, random } from "./database.ts";
import {
  APPEND,
  CREATE,
  EXCLUSIVE,
  guestWith,
  type Answer,
  type Status,
  plugin,
  READ,
  TRUNCATE,
  WasiCaller,
  WRITE,
} from "./wasi-guest.ts";

/**
 * Random programs run here and on Node's own WASI, in a real folder: both answer alike. Not compared: `..`
 * and links to folders on the way, which Node resolves in the text of the path.
 */

const PATHS = [
  "a",
  "b",
  "c",
  "d",
  "a/a",
  "a/b",
  "b/a",
  "b/c",
  "a/b/c",
  "a/",
  "b/a/",
  "./c",
  "a/./b",
  "c/d",
  "l",
];
const OFLAGS = [0, CREATE, CREATE | EXCLUSIVE, CREATE | TRUNCATE, TRUNCATE];
const SIZES = [0, 1, 10, 300, 5000, 16_384, 40_000];
/** Of these a part is written, which begins at another place each time. */
const BYTES = Uint8Array.from({ length: 65_536 }, (_, at) => at * 7);

/** An answer as comparable text: for a missing right Node says `notcapable`, the reference host `badf`. */
const alike = (answer: unknown): string =>
  JSON.stringify(answer, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return createHash("sha256").update(value).digest("hex");
    return typeof value === "bigint" ? String(value) : value === 76 ? 8 : value;
  });

/** A status without what differs: sizes and links of folders, times, numbers. */
const shown = ({ errno, value }: Answer<Status>) => ({
  errno,
  kind: value?.kind,
  ...(value?.kind === "file" && { size: value.size, links: value.links }),
});

interface Step {
  name: string;
  run(wasi: WasiCaller, open: readonly number[]): unknown;
}

/** One operation; what is open is named by its place in a list, as numbers may differ. */
function step(pick: (below: number) => number): Step {
  const path = PATHS[pick(PATHS.length)]!;
  const other = PATHS[pick(PATHS.length)]!;
  const at = pick(8);
  const size = SIZES[pick(SIZES.length)]!;
  const position = SIZES[pick(SIZES.length)]! + pick(100);
  const bytes = BYTES.subarray(position % 256, (position % 256) + size);
  const fd = (open: readonly number[]) => open[at % Math.max(1, open.length)] ?? 99;
  const steps: (() => Step)[] = [
    () => ({ name: `mkdir ${path}`, run: (wasi) => wasi.onPath("path_create_directory", path) }),
    () => ({ name: `mkdir ${path}`, run: (wasi) => wasi.onPath("path_create_directory", path) }),
    () => ({ name: `rmdir ${path}`, run: (wasi) => wasi.onPath("path_remove_directory", path) }),
    () => ({ name: `unlink ${path}`, run: (wasi) => wasi.onPath("path_unlink_file", path) }),
    () => ({ name: `rename ${path} ${other}`, run: (wasi) => wasi.rename(path, other) }),
    () => ({ name: `rename ${path} ${other}`, run: (wasi) => wasi.rename(path, other) }),
    () => ({ name: `link ${path} ${other}`, run: (wasi) => wasi.link(path, other) }),
    () => ({ name: `readlink ${path}`, run: (wasi) => wasi.readlink(path) }),
    () => ({ name: `list ${path}`, run: (wasi) => wasi.list(path, 100) }),
    () => ({
      name: `stat ${path}`,
      run: (wasi) => shown(wasi.stat(path)),
    }),
    () => ({ name: `read ${at} ${size}`, run: (wasi, open) => wasi.read(fd(open), size) }),
    () => ({
      name: `pread ${at} ${size} ${position}`,
      run: (wasi, open) => wasi.read(fd(open), size, BigInt(position)),
    }),
    () => ({ name: `write ${at} ${size}`, run: (wasi, open) => wasi.write(fd(open), bytes) }),
    () => ({
      name: `pwrite ${at} ${size} ${position}`,
      run: (wasi, open) => wasi.write(fd(open), bytes, BigInt(position)),
    }),
    () => ({
      name: `resize ${at} ${position}`,
      run: (wasi, open) => wasi.call("fd_filestat_set_size", fd(open), BigInt(position)),
    }),
    () => {
      const by = BigInt(pick(500) - 200);
      const whence = pick(3);
      return {
        name: `seek ${at} ${by} ${whence}`,
        run: (wasi, open) => wasi.seek(fd(open), by, whence),
      };
    },
    () => ({ name: `tell ${at}`, run: (wasi, open) => wasi.tell(fd(open)) }),
    () => ({ name: `stat of ${at}`, run: (wasi, open) => shown(wasi.statOf(fd(open))) }),
  ];
  return steps[pick(steps.length)]!();
}

/** Runs one program here and in Node until the answers differ: the steps and answers of both. */
async function play(seed: number): Promise<{ ours: string[]; theirs: string[] }> {
  const ours: string[] = [];
  const theirs: string[] = [];
  /** False where the answers differ. */
  const note = (what: string, own: unknown, other: unknown): boolean => {
    ours.push(`${what}: ${alike(own)}`);
    theirs.push(`${what}: ${alike(other)}`);
    return ours.at(-1) === theirs.at(-1);
  };
  const folder = await mkdtemp(join(tmpdir(), "files-"));
  try {
    const node = new WASI({ version: "preview1", preopens: { "/data": folder } });
    const instance = await WebAssembly.instantiate(
      await WebAssembly.compile(plugin),
      node.getImportObject() as WebAssembly.Imports,
    );
    node.initialize(instance);
    const real = new WasiCaller(instance.exports);
    const { database, store } = newStore();
    const begin = () => store.begin(parseMounts(["/data"]), { now: 0n });
    let files = begin();
    let own = guestWith(files).wasi;
    const pick = random(seed);
    const open: [number, number][] = [];
    for (let count = 0; count < 300; count++) {
      const kind = pick(12);
      if (kind === 0 || (kind === 1 && open.length > 4)) {
        // Closes one.
        const [pair] = open.splice(pick(open.length + 1), 1);
        if (pair === undefined) continue;
        note("close", own.call("fd_close", pair[0]), real.call("fd_close", pair[1]));
      } else if (kind <= 3) {
        const path = PATHS[pick(PATHS.length)]!;
        const oflags = OFLAGS[pick(OFLAGS.length)]!;
        const rights = [READ, READ | WRITE, WRITE][pick(3)]!;
        // Node refuses to empty a file that it opens for reading.
        const given = {
          oflags: rights === READ ? oflags & ~TRUNCATE : oflags,
          rights,
          flags: pick(4) === 0 ? APPEND : 0,
        };
        const name = `open ${path} ${JSON.stringify({ ...given, rights: Number(rights) })}`;
        const pair = [own.open(path, given), real.open(path, given)] as const;
        if (!note(name, pair[0].errno, pair[1].errno)) break;
        if (pair[0].value !== undefined) open.push([pair[0].value, pair[1].value!]);
      } else if (kind === 4 && pick(4) === 0) {
        // All is closed, and the next call goes on with what was committed.
        for (const [one, other] of open.splice(0)) {
          note("close", own.call("fd_close", one), real.call("fd_close", other));
        }
        note("commit", 0, 0);
        const ended = files;
        database.transaction(() => ended.commit({ keepsOpen: false }));
        files = begin();
        own = guestWith(files).wasi;
      } else {
        const { name, run } = step(pick);
        const [owned, others] = [open.map(([fd]) => fd), open.map(([, fd]) => fd)];
        if (!note(name, run(own, owned), run(real, others))) break;
      }
    }
    return { ours, theirs };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const before = limits.fileOverlayBytes;
afterEach(() => {
  configureLimits({ fileOverlayBytes: before });
});

test.each([before, 60_000])(
  "random programs end as on a real file system, with %i bytes of memory",
  async (overlay) => {
    configureLimits({ fileOverlayBytes: overlay });
    for (let seed = 1; seed <= 40; seed++) {
      const { ours, theirs } = await play(seed);
      expect(ours, `seed ${seed}`).toEqual(theirs);
    }
  },
);
