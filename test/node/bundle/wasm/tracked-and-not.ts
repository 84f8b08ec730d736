/** Runs random programs with tracking and without, and compares them. */
import { metered } from "../../../../src/tools/bundle/wasm/fuel.ts";
import { tracked } from "../../../../src/tools/bundle/wasm/tracking.ts";
import { viewsOf, imageOf, restoreImage } from "../../../../src/server/kernel/wasm/image.ts";
import { MARKED, SPILL } from "../../../../src/server/kernel/wasm/marks.ts";
import { Chance } from "../../fuzz/chance.ts";
import { MAXIMUM_PAGES, randomModule } from "./random-module.ts";
import { FUNCTIONS, PAGES } from "./random-values.ts";

const FUEL = 20_000n;

/** Counts over the runs of all programs, which show that they test something. */
interface Seen {
  returned: number;
  trapped: number;
  threw: number;
  wrote: number;
  grew: number;
}

/** One run of a program: its outcome and what else can be seen of it. */
interface Run {
  outcome: string;
  pages: number;
  global: number;
  fuel: bigint;
}

/** Compares the programs of so many modules, from this seed on. */
export function compareMany(first: number, modules: number): Seen {
  const seen: Seen = { returned: 0, trapped: 0, threw: 0, wrote: 0, grew: 0 };
  for (let seed = first; seed < first + modules; seed++) compare(seed, seen);
  return seen;
}

/** Throws, with the seed in its message, where a program of this seed's module shows a difference. */
function compare(seed: number, seen: Seen): void {
  const chance = new Chance(seed);
  const plain = metered(randomModule(chance));
  const modules = {
    plain: new WebAssembly.Module(new Uint8Array(plain)),
    marked: new WebAssembly.Module(new Uint8Array(tracked(plain, MAXIMUM_PAGES, true))),
    sized: new WebAssembly.Module(new Uint8Array(tracked(plain, MAXIMUM_PAGES, false))),
  };
  const made = (module: WebAssembly.Module) => new WebAssembly.Instance(module).exports;
  const used = { marked: made(modules.marked), sized: made(modules.sized) };
  const pristine = memoriesOf(used.marked).map((bytes) => Buffer.from(bytes));
  const image = imageOf(used.marked);
  for (let at = 0; at < FUNCTIONS; at++) {
    const args = [chance.below(PAGES * 65536), chance.below(2 ** 32)];
    const check = (isSame: boolean, what: string) => {
      if (!isSame) throw new Error(`seed ${seed}, function ${at}: ${what}`);
    };
    const reference = made(modules.plain);
    const wanted = runOf(reference, at, args);
    count(wanted, seen);
    const after = memoriesOf(reference);
    if (!equal(after, pristine)) seen.wrote++;
    const isBeyond = /out of bounds/.test(wanted.outcome);
    const isDeep = (run: Run) => /call stack/.test(run.outcome);
    for (const kind of seed % 4 === 0 ? (["marked", "sized"] as const) : (["marked"] as const)) {
      const fresh = made(modules[kind]);
      for (const exports of [fresh, used[kind]]) {
        const run = runOf(exports, at, args);
        // Beyond its own size, a memory that has grown before does not trap. Stacks are not equally large.
        if (!isDeep(run) && !isDeep(wanted) && (exports === fresh || !isBeyond)) {
          const [one, other] = [run, wanted].map((each) => Object.values(each).join(", "));
          check(one === other, `${kind} gives ${one} for ${other}`);
          check(equal(memoriesOf(exports), after), `${kind} leaves another memory`);
        }
        if (kind === "marked")
          check(isMarked(exports, pristine), "a byte that was written has no mark");
        restoreImage(viewsOf(exports), image);
        check(equal(memoriesOf(exports), pristine), `${kind} is not put back`);
        check(hasNoMarks(exports), "marks are left when it is put back");
        check(pagesOf(exports) === PAGES, `${kind} has another size when it is put back`);
      }
    }
  }
}

function runOf(exports: WebAssembly.Exports, at: number, args: number[]): Run {
  const fuel = exports["edge_fuel"] as WebAssembly.Global;
  fuel.value = FUEL;
  let outcome: string;
  try {
    outcome = `returned ${(exports[`f${at}`] as (...args: number[]) => number)(...args)}`;
  } catch (error) {
    outcome = error instanceof WebAssembly.Exception ? "threw" : String(error);
  }
  return {
    outcome,
    pages: pagesOf(exports),
    global: (exports["edge_global_0"] as WebAssembly.Global).value,
    fuel: fuel.value,
  };
}

function count({ outcome, pages }: Run, seen: Seen): void {
  if (outcome.startsWith("returned")) seen.returned++;
  else if (outcome === "threw") seen.threw++;
  else seen.trapped++;
  if (pages > PAGES) seen.grew++;
}

const MEMORIES = ["memory", "edge_memory"];
const ZEROS = Buffer.alloc(MAXIMUM_PAGES * 65536);

/** Both memories as they are, not copied. */
const memoriesOf = (exports: WebAssembly.Exports): Buffer[] =>
  MEMORIES.map((name) => Buffer.from((exports[name] as WebAssembly.Memory).buffer));

const pagesOf = ({ edge_pages: pages, memory }: WebAssembly.Exports): number =>
  pages instanceof WebAssembly.Global
    ? pages.value
    : (memory as WebAssembly.Memory).buffer.byteLength / 65536;

/** True if these memories are equal; what one has beyond the end of the other is zero. */
const equal = (some: Buffer[], others: Buffer[]) =>
  some.every((one, index) => {
    const [short, long] = [one, others[index]!].toSorted((a, b) => a.length - b.length) as [
      Buffer,
      Buffer,
    ];
    const rest = long.length - short.length;
    return (
      long.compare(short, 0, short.length, 0, short.length) === 0 &&
      long.compare(ZEROS, 0, rest, short.length) === 0
    );
  });

/** True if each byte that differs lies in a marked KiB, or within `SPILL` bytes after one. */
function isMarked(exports: WebAssembly.Exports, pristine: Buffer[]): boolean {
  const { marks } = viewsOf(exports);
  return memoriesOf(exports).every((now, index) => {
    const own = [marks!.memory, marks!.kernel][index]!;
    const before = Buffer.alloc(now.length);
    pristine[index]!.copy(before);
    for (let at = 0; at < now.length; at += MARKED) {
      if (own[at / MARKED] === 1) continue;
      const from = own[at / MARKED - 1] === 1 ? at + SPILL : at;
      if (now.compare(before, from, at + MARKED, from, at + MARKED) !== 0) return false;
    }
    return true;
  });
}

function hasNoMarks(exports: WebAssembly.Exports): boolean {
  const { marks } = viewsOf(exports);
  return marks === undefined || !(marks.memory.includes(1) || marks.kernel.includes(1));
}
