import { describe } from "vitest";
import { a, at, B0, B1, B2, B3, byte, runs, toBlock, written } from "./tracked-cases.ts";

/** Stores before and after exceptions. */

describe("older exceptions", () => {
  runs([
    [
      "a base set before the exception",
      `${toBlock(1)} ${byte(a)} (try (do ${toBlock(2)} (call $throw ${at}) ${toBlock(1)}) (catch $tag (drop) ${byte(a, 1)})) ${byte(a, 2)} ${written(B1, B2 + 1, B2 + 2)}`,
      3,
    ],
    [
      "a store that the exception skips",
      `(try (do (call $throw ${at}) ${byte(at)}) (catch_all ${byte(at, 4)})) ${byte(at, 8)} ${written(B0 + 4, B0 + 8)}`,
      2,
    ],
    [
      "a base that is the exception's value",
      `(try (do (call $throw (call $next ${at}))) (catch $tag (local.set $a) ${byte(a)})) ${byte(a, 1)} ${written(B1, B1 + 1)}`,
      2,
    ],
    [
      "handed on, with bases set on the way",
      `${toBlock(0)} (try $outer (do (try (do (try (do ${toBlock(1)} ${byte(a)} (call $throw ${at})) (delegate $outer))) (catch_all ${toBlock(3)} (rethrow 0)))) (catch_all ${byte(a, 2)})) ${written(B1, B1 + 2)}`,
      2,
    ],
    [
      "thrown again",
      `${toBlock(0)} (try (do (try $inner (do ${toBlock(1)} ${byte(a)} (call $throw ${at})) (catch_all ${toBlock(2)} (rethrow $inner)))) (catch_all ${byte(a, 2)})) ${written(B1, B2 + 2)}`,
      2,
    ],
    [
      "not caught",
      `${byte(at)} ${toBlock(1)} (try (do (i64.store ${a} (i64.const -1)) (throw $tag ${at})) (delegate 0)) (i32.const 1)`,
      "trapped",
    ],
  ]);
});

describe("exceptions by tables", () => {
  runs([
    [
      "a base set before the exception",
      `${toBlock(1)} ${byte(a)} (block $all (try_table (catch_all $all) ${toBlock(2)} ${byte(a)} (call $throw ${at}) ${toBlock(1)})) ${byte(a, 2)} ${written(B1, B2, B2 + 2)}`,
      3,
    ],
    [
      "a store that the exception skips",
      `(block $all (try_table (catch_all $all) (call $throw ${at}) ${byte(at)})) ${byte(at, 8)} ${written(B0 + 8)}`,
      1,
    ],
    [
      "a base that is the exception's value",
      `${byte(`(block $caught (result i32) (try_table (catch $tag $caught) (call $throw (call $next ${at}))) ${at})`)} ${written(B1)}`,
      1,
    ],
    [
      "to a loop",
      `${toBlock(0)} (local.set $n (i32.const 3)) (block $done (loop $again ${byte(a)} (br_if $done (i32.eqz (local.get $n))) (local.set $n (i32.sub (local.get $n) (i32.const 1))) (try_table (catch_all $again) (local.set $a (call $next ${a})) (call $throw ${at})))) ${byte(a, 1)} ${written(B0, B1, B2, B3, B3 + 1)}`,
      5,
    ],
  ]);
});
