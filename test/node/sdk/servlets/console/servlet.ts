/** Writes to the log. */
import { defineServlet } from "edge-servlets/servlet";

class Point {
  x = 1;
  label = "a";
}

const cycle = () => {
  const all: Record<string, unknown> = {};
  all["self"] = all;
  return all;
};

const WRITES: Record<string, () => void> = {
  levels() {
    console.trace("t");
    console.debug("d");
    console.log("l");
    console.info("i");
    console.warn("w");
    console.error("e");
    console.dir({ a: 1 });
    console.table([1]);
  },
  assert() {
    console.assert(1 === 1, "yes");
    console.assert(false, "no %d", 1);
    console.assert();
  },
  texts: () => console.log("a", "", "b c"),
  nothing: () => console.log(),
  filled() {
    console.log(
      "%s is %d, %i, %f; %j %o %O%c.",
      "a",
      "3",
      4.7,
      "x",
      [1],
      { b: 2 },
      "c",
      "color: red",
    );
    console.log("%s %s", "one");
    console.log("100%", 1, "%d%%", 2);
    console.log({ not: "a format" }, "%s", 1);
  },
  primitives: () => console.log(1, -0, 5n, true, null, undefined, Symbol("s"), NaN),
  objects: () =>
    console.log({
      a: { b: [] },
      "c-d": "e",
      f() {},
      g: () => {},
      get h() {
        return 1;
      },
    }),
  built_in() {
    console.log(new Date(0), new Date(NaN), /x/g, new Map([["k", new Set([1])]]));
    console.log(new Uint8Array(3), new ArrayBuffer(2), Promise.resolve(), Object.create(null));
  },
  classes: () => console.log(new Point(), Point),
  deep: () => console.log({ a: { b: { c: { d: { e: 1 }, f: [1] } } } }),
  cycle: () => console.log(cycle()),
  many: () => console.log(Array.from({ length: 103 }, () => 0).join("").length, Array(103).fill(0)),
  wide: () => console.log({ first: "a".repeat(40), second: "b".repeat(40), third: { c: 1 } }),
  error() {
    const error = new RangeError("far", { cause: "near" });
    error.stack = "    at place";
    console.error("It failed:", error);
  },
  hostile: () =>
    console.log(
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error("no keys");
          },
        },
      ),
    ),
};

export default defineServlet({
  tools: {
    write: {
      input: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
      handler({ what }) {
        WRITES[what]!();
        return null;
      },
    },
  },
});

console.log("while it is built");
