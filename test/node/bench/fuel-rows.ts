/** Rows of the tables that `npm run bench -- fuel` measures. */

/** The body of a metered loop. */
export interface Row {
  name: string;
  /** How often the body stands in a turn: short turns and long ones are charged in different ways. */
  times: number[];
  body: string;
  /** Does it reach all of a memory that is larger than the caches? */
  isFar?: boolean;
}

export const LONG = 200;
/** The last byte of the memory that rows reach at random: 32 MiB, as much as the largest caches. */
export const FAR = 0x1ffffff;

export const each = (
  names: string,
  body: (name: string) => string,
  more: Partial<Row> = {},
): Row[] => names.split(" ").map((name) => one(name, body(name), more));
export const one = (name: string, body: string, more: Partial<Row> = {}): Row => ({
  name,
  times: [1, LONG],
  body,
  isFar: body.includes(String(FAR - 3)) || body.includes("16000000"),
  ...more,
});
export const binary = (local: string, other: string) => (name: string) =>
  `(local.set $${local} (${name} (local.get $${local}) (local.get $${other})))`;
export const unary = (local: string) => (name: string) =>
  `(local.set $${local} (${name} (local.get $${local})))`;
export const both = (name: string, there: string, back: string) =>
  one(`${there} ${back}`, `(local.set $${name} (${back} (${there} (local.get $${name}))))`);

/** The next of a sequence of random numbers, in `$a`. */
export const RANDOM =
  "(local.set $a (i64.add (i64.mul (local.get $a) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))";
export const bits = (count: number) =>
  `(i32.and (i32.wrap_i64 (i64.shr_u (local.get $a) (i64.const 40))) (i32.const ${count}))`;
