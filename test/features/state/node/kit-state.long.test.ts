import { LANGUAGES } from "../../../../src/languages/index.ts";
import type { ServletRunner } from "../../../../src/server/kernel/servlets/deployment.ts";
import { stateRunner } from "../../../../src/server/kernel/servlets/runners.ts";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { servedFrom } from "../../../../src/tools/bundle/served.ts";
import { StateSealing } from "../../../../src/server/features/state/state-sealing.ts";
import { processor } from "../../../../src/server/kernel/wasm/processor.ts";
import { ScopeState } from "../../../../src/server/features/state/scope-state.ts";
import { exportOf } from "../../../../src/server/features/state/state-export.ts";
import { importInto } from "../../../../src/server/features/state/state-import.ts";
import { configureLimits } from "../../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../../src/server/features/state/limits.ts";
import type { Json } from "../../../../src/server/kernel/core/model.ts";
import type { PreparedServlet } from "../../../../src/server/kernel/servlets/bundle.ts";
import { connected, programOf } from "../../../../src/server/kernel/servlets/connect.ts";
import type { Deployment } from "../../../../src/server/kernel/servlets/deployment.ts";
import { nobodysCall } from "../../../../src/server/kernel/servlets/servlet.ts";
import { callPartsOf, setupOf } from "../../../../src/server/kernel/servlets/setup.ts";
import { Database } from "../../../../src/tools/bundle/database.ts";
import { BLOCK } from "../../../../src/server/kernel/wasm/marks.ts";
import { newInstanceOf } from "../../../../src/server/kernel/wasm/pool.ts";

/** How much of the memory of servlets in TypeScript is stored as their state. */

let drafts: PreparedServlet;
beforeAll(async () => {
  const options = {
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  };
  const [member] = await makeBundle({ folders: ["test/guests/drafts"], ...options });
  drafts = await servedFrom(member!);
}, 60_000);

const deployment: Deployment = { variables: {}, logLevel: "error", log: () => {} };

/** A new scope of the servlet; `call` gives the text of the answer, or the error's message. */
function newScope() {
  const database = new Database();
  const state = new ScopeState(database, new Uint8Array(32));
  /** The most that a call may use, and what the last one has used. */
  const fuel: { most: number | undefined; used: number } = { most: undefined, used: 0 };
  const runStateful: ServletRunner["run"] = async (servlet, run, call) => {
    const setup = setupOf(servlet, deployment, { ...call, ...callPartsOf(call) });
    const ending = await state.call({
      ...run,
      servlet,
      program: programOf(servlet, deployment),
      isDurable: false,
      setup: { ...setup, fuel: fuel.most },
    });
    fuel.used = ending.fuelUsed ?? 0;
    return ending;
  };
  const servlet = connected(drafts, { ...deployment, runners: [stateRunner(runStateful)] });
  const call = async (name: string, args: Json = {}) => {
    try {
      const result = await servlet.callTool(name, args, nobodysCall);
      return (result as { content: { text: string }[] }).content[0]!.text;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return { database, state, call, fuel };
}

const KiB = 1024;
const memoryBlocks = (database: Database) =>
  Number(database.exec("SELECT count(*) AS count FROM blocks").toArray()[0]!["count"]);

test("a file that is written takes little memory beside it", async () => {
  const { state, call } = newScope();
  expect(await call("write", { text: "x".repeat(400_000) })).toBe("400000");
  expect(state.files.bytes).toBeLessThan(405_000);
  expect(state.rows.bytes).toBeLessThan(656 * KiB);
  expect(await call("read")).toBe("400000");
  expect(await call("write", { text: "y".repeat(1_000_000) })).toBe("1000000");
  expect(state.rows.bytes).toBeLessThan(656 * KiB);
});

test.for<[what: string, tool: string, args: Json]>([
  ["cycles of objects", "knot", {}],
  ["text in characters of two bytes", "write", { text: "ł".repeat(300_000) }],
  ["a text that is kept and dropped", "churn", {}],
  ["a deep recursion", "recurse", {}],
])("the garbage of %s takes no room", async ([, tool, args]) => {
  const { database, state, call } = newScope();
  for (let nth = 0; nth < 3; nth++) expect(await call(tool, args)).not.toMatch(/error|stored/i);
  // Whole blocks, and what calls have changed since in others: garbage in pieces leaves the heads of free chunks.
  expect(memoryBlocks(database) * BLOCK).toBeLessThan(780 * KiB);
  expect(state.rows.bytes).toBeLessThan(900 * KiB);
});

test.for(["keep", "fail", "reject", "syntax"])(
  "memory does not grow with the number of calls: %s",
  async (tool) => {
    const { database, call } = newScope();
    await call("write", { text: "x".repeat(400_000) });
    const measured = async (calls: number) => {
      for (let nth = 0; nth < calls; nth++) await call(tool);
      return memoryBlocks(database);
    };
    const before = await measured(70);
    // Each call would leave a hundred bytes or more.
    expect((await measured(210)) - before).toBeLessThanOrEqual(2);
  },
);

test.for([
  ["kept or loaded", limits.keptInstanceBytes],
  ["evicted after each call", 0],
  ["evicted, but not its blocks", 1024 * 1024 + 1],
] as const)("what variables hold stays where the instance is %s", async ([, keptBytes]) => {
  const { keptInstanceBytes } = limits;
  onTestFinished(() => configureLimits({ keptInstanceBytes }));
  configureLimits({ keptInstanceBytes: keptBytes });
  const { state, call } = newScope();
  const said: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    said.push(await call("keep", { text: String(nth).repeat(100_000 * (nth + 1)) }));
    if (nth % 2 === 1) state.dropKept();
    said.push(await call("write", { text: "x".repeat(400_000) }));
    if (nth === 3) said.push(await call("drop"));
    if (nth % 3 === 1) state.dropKept();
    said.push(await call("check"));
  }
  const kept = ["100000", "300000", "600000", "1000000", "500000", "1100000"];
  expect(said).toEqual(
    kept.flatMap((all, nth) => [all, "400000", ...(nth === 3 ? ["4"] : []), "true"]),
  );
});

test("the instances of sixteen callers are kept", async () => {
  const scopes = Array.from({ length: 16 }, newScope);
  const inTurn = async () => {
    for (const { call } of scopes) expect(await call("check")).toBe("true");
  };
  await inTurn();
  const execs = scopes.map(({ database }) => vi.spyOn(database, "exec"));
  await inTurn();
  const queries = execs.flatMap(({ mock }) => mock.calls.map(([query]) => query));
  expect(queries).not.toContain("SELECT bytes FROM state");
});

test("blocks that are freed take no room, and are right when they are used again", async () => {
  const { database, state, call } = newScope();
  await call("keep", { text: "a".repeat(1_500_000) });
  const full = memoryBlocks(database);
  await call("drop");
  // Garbage is collected where a call would take so much more room.
  await call("write", { text: "x".repeat(900_000) });
  const freed = memoryBlocks(database);
  expect(full - freed).toBeGreaterThan(300);
  state.dropKept();
  expect(await call("keep", { text: "b".repeat(1_500_000) })).toBe("1500000");
  state.dropKept();
  expect(await call("check")).toBe("true");
});

test("an export and its import have no blocks of zero", async () => {
  const { state, call } = newScope();
  await call("keep", { text: "c".repeat(200_000) });
  await call("write", { text: "x".repeat(400_000) });
  const frames = await Array.fromAsync(exportOf(state, "drafts"));
  const other = newScope();
  await importInto(other.state, chunksOf(frames), {
    servlet: drafts,
    filesOnly: false,
    reserve: async () => {},
    newInstance: () => newInstanceOf(programOf(drafts, deployment)),
  });
  expect(other.state.rows.bytes).toBeLessThanOrEqual(state.rows.bytes + 4 * KiB);
  expect(await other.call("check")).toBe("true");
  expect(await other.call("keep")).toBe("200000");
  expect(await other.call("read")).toBe("400000");
});

test("others are served while a large state is loaded and stored, which its caller pays for", async () => {
  const { call, state, fuel } = newScope();
  const megabytes = 20;
  for (let nth = 0; nth < megabytes / 4; nth++)
    await call("keep", { text: "e".repeat(4 * 1024 * 1024 - 100) });
  state.dropKept();
  processor.forget();
  const spent = vi.spyOn(processor, "spend");
  const pieces = vi.spyOn(StateSealing.prototype, "open");
  /** What had been opened by each turn of the event loop. */
  const turns: number[] = [];
  let timer = setTimeout(function turn() {
    turns.push(pieces.mock.calls.length);
    timer = setTimeout(turn);
  });
  await call("drop");
  clearTimeout(timer);
  const loaded = pieces.mock.calls.length;
  expect(turns.filter((opened) => opened > 0 && opened < loaded).length).toBeGreaterThan(0);
  // A call that changes nothing pays for what it has loaded: 4 units for each byte.
  expect(fuel.used).toBeGreaterThan(4 * megabytes * KiB * KiB);
  const all = spent.mock.calls.reduce((sum, [, units]) => sum + units, 0);
  expect(all).toBeGreaterThanOrEqual(fuel.used);
});

test("a state that is too large to be kept takes the place of no other", async () => {
  const { keptInstanceBytes } = limits;
  onTestFinished(() => configureLimits({ keptInstanceBytes }));
  const [small, large] = [newScope(), newScope()];
  // Drops what other tests have left.
  configureLimits({ keptInstanceBytes: 0 });
  await small.call("check");
  configureLimits({ keptInstanceBytes: 4 * KiB * KiB });
  await small.call("check");
  await large.call("keep", { text: "f".repeat(4_000_000) });
  const exec = vi.spyOn(small.database, "exec");
  expect(await small.call("check")).toBe("true");
  expect(exec.mock.calls.map(([query]) => query)).not.toContain("SELECT bytes FROM state");
});

test("a call changes nothing where one of its pieces cannot be sealed", async () => {
  const { call } = newScope();
  const text = "g".repeat(400_000);
  await call("keep", { text });
  const { seal } = StateSealing.prototype;
  for (const failing of [0, 1, 20]) {
    let nth = 0;
    const failed = vi.spyOn(StateSealing.prototype, "seal").mockImplementation(function (
      this: StateSealing,
      ...of
    ) {
      if (nth++ === failing) throw new Error("no cipher");
      return seal.apply(this, of);
    });
    expect(await call("keep", { text })).toBe("no cipher");
    failed.mockRestore();
    expect(await call("keep")).toBe("400000");
  }
  expect(await call("keep", { text })).toBe("800000");
});

test("a call that runs out of fuel changes nothing, wherever its state is when it does", async () => {
  const { call, fuel, state } = newScope();
  const text = "d".repeat(2_000_000);
  await call("keep", { text });
  state.dropKept();
  // Loads two megabytes, collects garbage, and stores two more.
  await call("keep", { text });
  const whole = fuel.used;
  vi.spyOn(console, "error").mockImplementation(() => {});
  const said = new Set<string>();
  for (let part = 1; part < 64; part++) {
    state.dropKept();
    fuel.most = Math.floor((whole * part) / 64);
    said.add(await call("keep", { text }));
  }
  fuel.most = undefined;
  expect(await call("keep")).toBe("4000000");
  expect([...said].toSorted()).toEqual([
    "The servlet computed for too long and was stopped.",
    expect.stringMatching(
      /stopped. Loading and storing its state counts as computing, too. The state is as it was/,
    ),
    expect.stringMatching(/collecting its garbage takes too long. The state is as it was before/),
  ]);
});

async function* chunksOf(chunks: Iterable<Uint8Array>) {
  yield* chunks;
}
