import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { FileStore } from "../../../src/server/kernel/files/file-store.ts";
import type { Sealing } from "../../../src/server/kernel/files/sealing.ts";
import { Database, sealing } from "../files/database.ts";
import { CREATE, EXCLUSIVE, guestWith, TRUNCATE, type WasiCaller } from "../files/wasi-guest.ts";
import type { Chance } from "./chance.ts";

/**
 * File calls in their worst states: a guest first leaves much behind that its call remembers (names that are gone or were
 * never there, holes, blocks, links to links, open files, deep folders), and then calls again and again what may have to
 * walk over it. Whatever it does, the guest pays for each statement, row, sealed byte and character of a path, and the host
 * computes no more than a few times what the guest pays.
 */

/** How many times its fuel, of a nanosecond each, a phase may take; `npm run bench -- fuel` has the true prices. */
const UNFAIR = 4;
/**
 * Time that a phase may take beyond that: the host's JavaScript is compiled, and memory is slow while other processes fill the
 * caches. 20,000 calls that each walk over all that is remembered take seconds.
 */
const FREE_NS = 250e6;
/** Where others have the machine too, the least of so many counts. */
const TRIES = 3;
/** How long so many steps take on the machine that the prices are from, about, in ns. */
const PACE = { steps: 2e7, ns: 1e8 };
const BLOCK = 16_384n;
/** Bytes that each character of a path costs, as in `src/server/kernel/files/walk.ts`. */
const PATH_BYTES = 4;

type Act = (wasi: WasiCaller, nth: number) => unknown;

const DOTS = ["./", "./", "d/../", ".///////"];

/** A path that leads to where it begins, of up to 4000 characters. */
function longPath(chance: Chance): string {
  const dots = chance.pick(DOTS);
  const most = Math.floor(4000 / dots.length);
  return dots.repeat(chance.pick([0, 10, most, most]));
}

/** Leaves something behind, so many times. */
function preparation(chance: Chance): { name: string; count: number; act: Act } {
  const few = chance.of(0.5) ? limits.symlinks : 1 + chance.below(limits.symlinks);
  const count = chance.pick([30, 300, 3000, 8000]);
  const path = longPath(chance);
  const file = (wasi: WasiCaller) => wasi.open("sparse", { oflags: CREATE }).value ?? 4;
  const links: Act = (wasi, nth) => {
    if (nth === 0) for (const name of ["f0", "d"]) wasi.onPath("path_create_directory", name);
    wasi.symlink(`${path}${nth === 0 ? "f0" : `l${nth - 1}`}`, `l${nth}`);
  };
  const all: [name: string, count: number, act: Act][] = [
    ["makes folders", count, (wasi, nth) => wasi.onPath("path_create_directory", `f${nth}`)],
    ["removes folders", count, (wasi, nth) => wasi.onPath("path_remove_directory", `f${nth}`)],
    [
      "makes and removes",
      count,
      (wasi, nth) => {
        wasi.onPath("path_create_directory", `g${nth}`);
        wasi.onPath("path_remove_directory", `g${nth}`);
      },
    ],
    ["looks for names that are not there", count, (wasi, nth) => wasi.stat(`${path}no${nth}`)],
    [
      "reads holes",
      count,
      (wasi, nth) => {
        if (nth === 0) wasi.call("fd_filestat_set_size", file(wasi), 2n ** 33n);
        wasi.read(4, 2, BigInt(nth) * BLOCK);
      },
    ],
    [
      "writes blocks with holes between",
      count / 10,
      (wasi, nth) => {
        if (nth === 0) file(wasi);
        wasi.write(4, "x", 2n * BigInt(nth) * BLOCK);
      },
    ],
    ["makes links to links", few, links],
    ["makes links to links", few, links],
    ["makes hard links", count / 10, (wasi, nth) => wasi.link("sparse", `h${nth}`)],
    [
      "renames to and fro",
      count,
      (wasi, nth) => wasi.rename(nth % 2 === 0 ? "f1" : "r", nth % 2 === 0 ? "r" : "f1"),
    ],
    ["opens the same file", few, (wasi) => wasi.open("sparse", { oflags: CREATE })],
    [
      "goes deep",
      few * 2,
      (wasi, nth) => wasi.onPath("path_create_directory", "d/".repeat(nth + 1)),
    ],
    ["gives names that are too long", few, (wasi) => wasi.stat("./".repeat(8000))],
  ];
  const [name, times, act] = chance.pick(all);
  return { name, count: times, act };
}

/** What is called again and again: one, or two in turn. */
function worst(chance: Chance): { name: string; act: Act } {
  const link = `l${chance.below(limits.symlinks)}`;
  const at = BigInt(chance.pick([0, 5, 100, 3000])) * BLOCK;
  const name =
    chance.pick(["", "", longPath(chance)]) + chance.pick(["f0", "none", "sparse", link, link]);
  const all: [name: string, act: Act][] = [
    ["lists", (wasi) => wasi.page(3, 0n, 100)],
    ["lists all", (wasi) => wasi.page(3, 0n)],
    ["lists from a place", (wasi, nth) => wasi.page(3, BigInt(nth), 200)],
    ["cuts and extends", (wasi, nth) => wasi.call("fd_filestat_set_size", 4, at + BigInt(nth % 2))],
    ["cuts much", (wasi, nth) => wasi.call("fd_filestat_set_size", 4, nth % 2 ? at : 2n ** 33n)],
    ["allocates", (wasi) => wasi.call("fd_allocate", 4, 0n, 2n ** 33n)],
    ["reads a hole", (wasi) => wasi.read(4, 2, at)],
    ["writes a hole", (wasi) => wasi.write(4, "x", at)],
    ["looks at a path", (wasi) => wasi.stat(name)],
    ["opens a path", (wasi) => wasi.call("fd_close", wasi.open(name).value ?? 99)],
    [
      "empties a path",
      (wasi) => wasi.call("fd_close", wasi.open(name, { oflags: TRUNCATE | CREATE }).value ?? 99),
    ],
    ["makes what is there", (wasi) => wasi.open(name, { oflags: CREATE | EXCLUSIVE })],
    ["links a path", (wasi, nth) => wasi.link(name, `x${nth}`)],
    ["reads a link", (wasi) => wasi.readlink(name)],
    ["sets times", (wasi) => wasi.setTimes(name, 1n, 1n, 5)],
    ["renames a path", (wasi, nth) => wasi.rename(nth % 2 ? "rr" : name, nth % 2 ? name : "rr")],
    ["renumbers", (wasi) => wasi.call("fd_renumber", 4, 4)],
    ["removes a path", (wasi) => wasi.onPath("path_unlink_file", name)],
    ["asks about a file", (wasi) => wasi.statOf(4)],
  ];
  const [first, other] = [chance.pick(all), chance.pick(all)];
  if (chance.of(0.6)) return { name: `${first[0]} (${name.slice(-20)})`, act: first[1] };
  return {
    name: `${first[0]}, ${other[0]} (${name.slice(-20)})`,
    act: (wasi, nth) => (nth % 2 === 0 ? first : other)[1](wasi, nth >> 1),
  };
}

/** Counts what file calls make the host do, apart from what the files count themselves. */
class Counted {
  /** Fuel that the work so far costs. */
  fuel = 0;
  readonly database = new Database();
  readonly store: FileStore;

  constructor() {
    const exec = (query: string, ...bindings: (string | number | Uint8Array | null)[]) => {
      const rows = this.database.exec(query, ...bindings).toArray();
      this.fuel += limits.fileStepFuel + rows.length * limits.lookUpFuel;
      return { toArray: () => rows };
    };
    const seals = (bytes: number) => (this.fuel += limits.fileStepFuel + bytes * limits.byteFuel);
    const counting: Sealing = {
      seal: (bytes, about) => (seals(bytes.length), sealing.seal(bytes, about)),
      open: (sealed, about) => (seals(sealed.length), sealing.open(sealed, about)),
      tag: (text, about) => (seals(text.length), sealing.tag(text, about)),
    };
    this.store = new FileStore({ exec } as typeof this.database, counting);
  }

  /** Does something, and counts the characters of paths that are split on the way. */
  during(work: () => unknown): void {
    const { split } = String.prototype;
    const count = (text: string) => void (this.fuel += text.length * PATH_BYTES * limits.byteFuel);
    Object.assign(String.prototype, {
      split(this: string, ...args: unknown[]) {
        if (args[0] === "/") count(this);
        return Reflect.apply(split, this, args) as string[];
      },
    });
    try {
      work();
    } finally {
      Object.assign(String.prototype, { split });
    }
  }
}

interface Phase {
  name: string;
  /** Of CPU; where that is too much, about what the machine that the prices are from would take. */
  ns: number;
  fuel: number;
}

/** How many times longer than the machine that the prices are from this one takes now: others may have its caches. */
function slowness(): number {
  const cpu = process.threadCpuUsage();
  let state = 0;
  for (let step = 0; step < PACE.steps; step++) state = (state * 31 + step) | 0;
  const { user, system } = process.threadCpuUsage(cpu);
  // The state is of no interest, but a loop without a use would be left out.
  return Math.max(state === 0.5 ? 0 : 1, ((user + system) * 1000) / PACE.ns);
}

/** The phase that takes the most beyond its price. */
function worstPhase(chance: Chance): Phase {
  const counted = new Counted();
  const { database, store } = counted;
  const begin = () => {
    const files = store.begin(parseMounts(["/data"]), { now: 0n });
    return { files, ...guestWith(files) };
  };
  let { files, guest, wasi } = begin();
  const phases: Phase[] = [];
  const measured = (name: string, act: Act, { most, fuel }: { most: number; fuel: number }) => {
    const meter = guest.fuelMeter!;
    const before = meter.used;
    const cpu = process.threadCpuUsage();
    let nth = 0;
    const spent = () => {
      const { user, system } = process.threadCpuUsage(cpu);
      return (user + system) * 1000;
    };
    // What is unfair by far need not go on.
    while (nth < most && meter.used - before < fuel && (nth % 16 > 0 || spent() < 2e9)) {
      const [paid, due] = [meter.used, counted.fuel];
      const at = nth++;
      counted.during(() => act(wasi, at));
      const [pays, costs] = [meter.used - paid, counted.fuel - due];
      if (pays < costs)
        throw new Error(`${name} for the time ${nth} costs ${costs} of fuel, and pays ${pays}`);
    }
    phases.push({ name: `${name} ${nth} times`, ns: spent(), fuel: meter.used - before });
  };
  // What each call pays shows in small states too, of which many more are played in the same time.
  const isSmall = chance.of(0.8);
  for (let left = 1 + chance.below(isSmall ? 6 : 3); left > 0; left--) {
    const { name, count, act } = preparation(chance);
    measured(name, act, { most: isSmall ? Math.min(count, 50) : count, fuel: 3e8 });
    if (!chance.of(0.4)) continue;
    database.transaction(() => files.commit({ keepsOpen: true }));
    ({ files, guest, wasi } = begin());
  }
  for (let left = isSmall ? 8 : 1; left > 0; left--) {
    const { name, act } = worst(chance);
    measured(name, act, { most: isSmall ? 10 : 20_000, fuel: 1.5e8 });
  }
  const beyond = ({ ns, fuel }: Phase) => ns - UNFAIR * fuel - FREE_NS;
  const found = phases.toSorted((one, other) => beyond(other) - beyond(one))[0]!;
  // Most are within their price on any machine.
  const ns = beyond(found) < 0 ? found.ns : found.ns / slowness();
  return { ...found, ns, name: phases.map(({ name }) => name).join("; ") + `: ${found.name}` };
}

/** Throws where a phase takes much more than it pays. */
export function callFiles(chanceOf: () => Chance): void {
  let least: Phase | undefined;
  for (let left = TRIES; left > 0; left--) {
    const phase = worstPhase(chanceOf());
    if (least === undefined || phase.ns < least.ns) least = phase;
    if (least.ns < UNFAIR * least.fuel + FREE_NS) return;
  }
  const { name, ns, fuel } = least!;
  throw new Error(
    `${name} takes ${Math.round(ns / 1e6)} ms, and pays for ${Math.round(fuel / 1e6)} ms`,
  );
}
