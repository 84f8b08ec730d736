import { describe } from "vitest";
import { at, type Case, END, MAXIMUM, PAGES, num, runs, sum, u8 } from "./tracked-cases.ts";

/** Writes of many bytes, and memory that grows. */

describe("memory in bulk", () => {
  const trapping = (name: string, body: string): Case => [
    name,
    `(i32.store8 ${at} (i32.const 9)) ${body} (i32.const 1)`,
    "trapped",
  ];
  runs([
    [
      "a fill of all of it",
      `(memory.fill (i32.const 0) (i32.const 7) ${num(END)}) ${sum(u8(num(0)), u8(num(END - 1)), u8(num(8191)))}`,
      21,
    ],
    [
      "a fill across a border",
      `(memory.fill (i32.sub ${at} (i32.const 3)) (i32.const 7) (i32.const 5)) ${sum(u8("(i32.const 12285)"), u8("(i32.const 12289)"), u8("(i32.const 12290)"))}`,
      14,
    ],
    [
      "a fill of many blocks, of one byte at both ends",
      `(memory.fill (i32.sub ${at} (i32.const 1)) (i32.const 7) (i32.const 12290)) ${sum(u8("(i32.const 12287)"), u8("(i32.const 24576)"), u8("(i32.const 24577)"))}`,
      14,
    ],
    [
      "an initialisation across a border",
      `(memory.init $passive (i32.sub ${at} (i32.const 4)) (i32.const 1) (i32.const 8)) (i32.load (i32.sub ${at} (i32.const 4)))`,
      0x65646362,
    ],
    [
      "an overlapping copy upward",
      `(memory.copy (i32.const 8194) (i32.const 8190) (i32.const 8)) (i32.load (i32.const 8194))`,
      0x73697270,
    ],
    [
      "an overlapping copy downward",
      `(memory.copy (i32.const 8188) (i32.const 8190) (i32.const 8)) (i32.load (i32.const 8192))`,
      0x656e6974,
    ],
    [
      "a copy from the end to many blocks",
      `(memory.copy ${at} ${num(END - 20000)} (i32.const 20000)) (i32.load (i32.add ${at} (i32.const 19996)))`,
      0x7473616c,
    ],
    [
      "lengths of zero",
      `(memory.fill ${at} (i32.const 7) (i32.const 0)) (memory.copy ${at} ${at} (i32.const 0)) (memory.init $passive ${at} (i32.const 26) (i32.const 0)) (memory.fill ${num(END)} (i32.const 7) (i32.const 0)) ${u8(at)}`,
      0,
    ],
    trapping(
      "a length of zero beyond the end",
      `(memory.fill (i32.const -1) (i32.const 7) (i32.const 0))`,
    ),
    trapping(
      "a fill that wraps around",
      `(memory.fill (i32.const -4096) (i32.const 7) (i32.const 8192))`,
    ),
    trapping("a fill of nearly 4 GiB", `(memory.fill ${at} (i32.const 7) (i32.const -1))`),
    trapping(
      "a fill that ends where addresses do",
      `(memory.fill ${at} (i32.const 7) (i32.sub (i32.const 0) ${at}))`,
    ),
    trapping(
      "a fill beyond the largest memory",
      `(memory.fill ${at} (i32.const 7) ${num(MAXIMUM * 65536 * 2)})`,
    ),
    trapping(
      "a copy to where it wraps around",
      `(memory.copy (i32.const -16) ${at} (i32.const 32))`,
    ),
    trapping(
      "a copy from where it wraps around",
      `(memory.copy ${at} (i32.const -16) (i32.const 32))`,
    ),
    trapping(
      "an initialisation that wraps around",
      `(memory.init $passive (i32.const -4) (i32.const 0) (i32.const 8))`,
    ),
    trapping(
      "an initialisation beyond the segment",
      `(memory.init $passive ${at} (i32.const 20) (i32.const 8))`,
    ),
    [
      "the host's writes",
      `(drop (call $random (i32.sub ${at} (i32.const 5000)) (i32.const 10000))) (i32.ne (i32.const 0) (i32.or (i32.load offset=4 ${at}) (i32.load offset=8 ${at})))`,
      1,
    ],
  ]);
});

// Those before have grown the memory of the instance.
describe("the size of memory", { shuffle: false }, () => {
  runs([
    [
      "a page more in each call, written at its end",
      `(local.set $n (memory.grow (i32.const 1)))
       (i32.store8 ${num(END + 65535)} (i32.const 1))
       (i32.store16 ${num(END - 1)} (i32.const -1))
       ${sum("(local.get $n)", "(i32.mul (memory.size) (i32.const 100))")}`,
      706,
    ],
    [
      "as much as there is, page by page, all of it written",
      `(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
       (local.set $n (i32.load8_u ${num(END + 70000)}))
       (memory.fill (i32.const 0) (i32.const 7) ${num(MAXIMUM * 65536)})
       ${sum("(local.get $n)", "(memory.size)")}`,
      16,
    ],
    [
      "nothing, too much, and far too much",
      sum(
        "(i32.eq (memory.grow (i32.const 0)) (i32.const 6))",
        "(i32.eq (memory.grow (i32.const 11)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const -1)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const 0x80000000)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const -7)) (i32.const -1))",
        "(i32.eq (memory.grow (i32.const 10)) (i32.const 6))",
        "(i32.eq (memory.grow (i32.const 1)) (i32.const -1))",
        "(memory.size)",
      ),
      23,
    ],
    [
      "new pages are zero",
      `(drop (memory.grow (i32.const 10)))
       (local.set $a ${num(END)})
       (loop $next
         (local.set $b (i32.or (local.get $b) (i32.load (local.get $a))))
         (br_if $next (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 4))) ${num(MAXIMUM * 65536)})))
       (memory.fill ${num(END)} (i32.const 255) ${num((MAXIMUM - PAGES) * 65536)})
       (local.get $b)`,
      0,
    ],
    [
      "a write between its own size and the true one",
      `(i32.store ${num(END + 65530)} (i32.const 5)) (i32.load ${num(END + 65530)})`,
      5,
    ],
  ]);
});
