import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { makeBundle } from "../../../src/bundle/bundle.ts";
import { servedFrom } from "../../../src/bundle/served.ts";
import { endingOf } from "../../../src/state/plain-ending.ts";
import { ScopeState } from "../../../src/state/scope-state.ts";
import { exportOf } from "../../../src/state/state-export.ts";
import { importInto } from "../../../src/state/state-import.ts";
import { configureLimits, limits } from "../../../src/core/limits.ts";
import type { Json } from "../../../src/core/model.ts";
import type { PreparedServlet } from "../../../src/servlets/bundle.ts";
import { connected, programOf } from "../../../src/servlets/connect.ts";
import type { Deployment } from "../../../src/servlets/deployment.ts";
import { nobodysCall } from "../../../src/servlets/servlet.ts";
import { callPartsOf, setupOf } from "../../../src/servlets/setup.ts";
import { Database } from "../../../src/bundle/database.ts";
import { BLOCK } from "../../../src/wasm/marks.ts";
import { newInstanceOf } from "../../../src/wasm/pool.ts";

/** How much of the memory of servlets in TypeScript is stored as their state. */

let drafts: PreparedServlet;
beforeAll(async () => {
  const options = { cache: ".bundle", progress: () => {}, optimise: false };
  const [member] = await makeBundle({ folders: ["test/guests/drafts"], ...options });
  drafts = await servedFrom(member!);
}, 60_000);

const deployment: Deployment = { variables: {}, logLevel: "error", log: () => {} };

/** A new scope of the servlet; `call` gives the text of the answer, or the error's message. */
function newScope() {
  const database = new Database();
  const state = new ScopeState(database, new Uint8Array(32));
  const runStateful: Deployment["runStateful"] = async (servlet, run, call) =>
    endingOf(
      await state.call({
        ...{ ...run, servlet, program: programOf(servlet, deployment), isDurable: false },
        setup: setupOf(servlet, deployment, { ...call, ...callPartsOf(call) }),
      }),
    );
  const servlet = connected(drafts, { ...deployment, runStateful });
  const call = async (name: string, args: Json = {}) => {
    try {
      const result = await servlet.callTool(name, args, nobodysCall);
      return (result as { content: { text: string }[] }).content[0]!.text;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return { database, state, call };
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
  // Whole blocks, and what calls have changed since in others.
  expect(memoryBlocks(database) * BLOCK).toBeLessThan(720 * KiB);
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
  await call("write", { text: "x".repeat(400_000) });
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
    ...{ servlet: drafts, filesOnly: false, reserve: async () => {} },
    newInstance: () => newInstanceOf(programOf(drafts, deployment)),
  });
  expect(other.state.rows.bytes).toBeLessThanOrEqual(state.rows.bytes + 4 * KiB);
  expect(await other.call("check")).toBe("true");
  expect(await other.call("keep")).toBe("200000");
  expect(await other.call("read")).toBe("400000");
});

test("a state whose garbage cannot be collected ends the call with an error, and changes nothing", async () => {
  const { call } = newScope();
  expect(await call("keep", { text: "abc" })).toBe("3");
  const { collectFuel } = limits;
  onTestFinished(() => configureLimits({ collectFuel }));
  configureLimits({ collectFuel: 100_000 });
  vi.spyOn(console, "error").mockImplementation(() => {});
  expect(await call("keep", { text: "d".repeat(2_000_000) })).toMatch(
    /cannot be stored: collecting its garbage takes too long. The state is as it was before the call/,
  );
  expect(await call("keep")).toBe("3");
  configureLimits({ collectFuel });
  expect(await call("keep", { text: "d".repeat(2_000_000) })).toBe("2000003");
});

async function* chunksOf(chunks: Iterable<Uint8Array>) {
  yield* chunks;
}
