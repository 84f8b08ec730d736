/** Numbers of WASI preview 1, and the layout of its arguments in memory. */
import type { FileErrorCode } from "../files/errors.ts";
import type { Guest } from "./guest.ts";

/** Fuel for each I/O vector that a guest passes to WASI. */
const VECTOR_FUEL = 300;

export const errno = {
  success: 0,
  badf: 8,
  busy: 10,
  exist: 20,
  fbig: 22,
  ilseq: 25,
  inval: 28,
  io: 29,
  isdir: 31,
  loop: 32,
  mfile: 33,
  nametoolong: 37,
  noent: 44,
  nospc: 51,
  nosys: 52,
  notdir: 54,
  notempty: 55,
  notsup: 58,
  perm: 63,
  spipe: 70,
  xdev: 75,
  notcapable: 76,
} satisfies Record<FileErrorCode | "success" | "nosys" | "spipe", number>;

export const isStandardStream = (fd: number): boolean => fd >= 0 && fd <= 2;

/** The guest's time in nanoseconds since 1970. */
export const now = (guest: Guest): bigint => BigInt(Math.round(guest.journal.now)) * 1_000_000n;

/** Reads an array of (address, length) pairs. */
export function ranges(guest: Guest, at: number, count: number): { at: number; length: number }[] {
  const memory = guest.memory;
  guest.range(at, (count >>> 0) * 8);
  guest.pay(count * VECTOR_FUEL);
  return Array.from({ length: count }, (_, index) => {
    const entry = (at >>> 0) + index * 8;
    return { at: memory.getUint32(entry, true), length: memory.getUint32(entry + 4, true) };
  });
}

/** The byte ranges in such an array. */
export const vectors = (guest: Guest, at: number, count: number): Uint8Array[] =>
  ranges(guest, at, count).map((range) => guest.range(range.at, range.length));
