/**
 * Components for WASI 0.3, whose functions wait: the one in test/node/components/async, which Rust has made, and one that
 * is written by hand.
 */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import type { Script, ServletUnderTest } from "../../../../src/tools/testing/index.ts";
import { bundling } from "../bundling.ts";
import { inResult, loaded } from "./loaded.ts";

const { bundle } = bundling();

let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loaded("async/waits", {
    allowed_hosts: ["api.test"],
    allowed_paths: ["data"],
    state: "caller",
  });
});

const NOW = 1000;

const called = (tool: string, args: object = {}, script: Script = {}) =>
  servlet.callTool(tool, { ...args }, { now: NOW, ...script });

/** The value of a call that succeeds. */
async function valueOf(tool: string, args: object = {}, script: Script = {}): Promise<unknown> {
  const { result } = await called(tool, args, script);
  if (result.isError === true) throw new Error(JSON.stringify(result.content));
  return inResult(result);
}

/** The text of a call that fails. */
async function failureOf(tool: string, args: object = {}, script: Script = {}): Promise<string> {
  const { result } = await called(tool, args, script);
  expect(result.isError).toBe(true);
  return JSON.stringify(result.content);
}

const OF = "test_waits_waits_";

describe("values", () => {
  test.each([
    { tag: "circle", val: 1.5 },
    { tag: "square", val: { x: 1, y: -2.25 } },
    { tag: "word", val: "Zürich" },
    { tag: "number", val: "18446744073709551615" },
    { tag: "none" },
  ])("a case that is passed as core values comes back: %j", async (s) => {
    expect(await valueOf(`${OF}echo`, { s })).toEqual(s);
  });

  test("several values come back, as core values and in memory", async () => {
    expect(await valueOf(`${OF}pair`, { a: 1, b: "b", c: true })).toEqual([1, "b", true]);
    const args = {
      a: [0, 255],
      b: "b",
      c: [1, 2, 3, 4],
      d: ["x", ""],
      e: [-1, 2, 3, 4, 5, 6, -32768],
    };
    expect(await valueOf(`${OF}wide`, args)).toEqual(Object.values(args));
  });

  test("nothing is a result, and an error is a tool error", async () => {
    expect((await called(`${OF}nothing`)).result).toEqual({ content: [] });
    expect((await called(`${OF}check`, { n: 1 })).result).toEqual({ content: [] });
    expect(await failureOf(`${OF}check`, { n: 0 })).toContain("no");
  });

  test("functions that do not wait are tools beside them, and those of streams are none", async () => {
    expect(await valueOf("add", { a: 1, b: 2 })).toBe(3);
    const { tools } = await servlet.list();
    expect(tools.map(({ name }) => name)).not.toContain("streams");
    const [member] = await bundle({
      "waits.wasm": await readFile("test/node/components/async/waits.wasm"),
    });
    expect(member!.warnings).toContain(
      "no tools are made of streams, which take or return resources, streams or futures: export functions of values",
    );
  });
});

describe("waiting", () => {
  test("several times pass at once, and each ends when it is over", async () => {
    expect(await valueOf("sleep", { ms: [3000, 5000, 1000, 5000] })).toEqual([
      3000, 5000, 1000, 5000,
    ]);
    expect(await valueOf("sleep", { ms: [] })).toEqual([]);
    expect(await valueOf("blocking", { ms: 500 })).toBe(500);
  });

  test("the first of a response and a timer cancels the other", async () => {
    const asked: string[] = [];
    const fetch = (request: Request) => {
      asked.push(request.url);
      return new Response("");
    };
    expect(await valueOf("first", { host: "api.test", ms: 10 }, { fetch })).toBe("time");
    expect(asked).toEqual([]);
    expect(await valueOf("first", { host: "api.test", ms: 1000 }, { fetch })).toBe("response 200");
    expect(asked).toEqual(["https://api.test/slow"]);
  });

  test("a request that is never sent has an outcome, and takes no more of its body", async () => {
    const fetch = () => new Response("");
    const host = "api.test";
    expect(await valueOf("timeout", { host, "is-open": false }, { fetch })).toBe("200 true");
    expect(await valueOf("timeout", { host, "is-open": true }, { fetch })).toBe("time true");
    expect(await valueOf("unsent", { host })).toEqual(["Ok(()) 4", "Ok(()) 4"]);
  });

  test("work that goes on after the result is done before the call ends", async () => {
    const { result, logs } = await called("late", { ms: 100 });
    expect(inResult(result)).toBe("early");
    expect(logs).toEqual(["info: after the result"]);
  });

  test("a call goes on after a crash at every step, and asks the network once", async () => {
    const asked: string[] = [];
    const fetch = async (request: Request) => {
      asked.push(`${request.url} ${await request.text()}`);
      return new Response(request.url);
    };
    const script = { fetch, alwaysReplay: true };
    expect(await valueOf("sleep", { ms: [3000, 1000] }, script)).toEqual([3000, 1000]);
    const paths = ["/a", "/b"];
    expect(await valueOf("both", { host: "api.test", paths }, script)).toEqual([
      "https://api.test/a",
      "https://api.test/b",
    ]);
    const body = ["one ", "two"];
    expect(await valueOf("fetch", { host: "api.test", path: "/c", body }, script)).toContain("/c");
    expect(asked).toEqual([
      "https://api.test/a ",
      "https://api.test/b ",
      "https://api.test/c one two",
    ]);
  });
});

describe("the world", () => {
  const fetch = async (request: Request) =>
    new Response(
      `${request.method} ${request.url} ${request.headers.get("x-one")} <${await request.text()}>`,
      { status: 201, headers: { "content-type": "text/plain" } },
    );

  test("a request goes out with a body that is written meanwhile", async () => {
    const args = { host: "api.test", path: "/a?b=1" };
    expect(await valueOf("fetch", { ...args, body: [] }, { fetch })).toBe(
      '201 Some("text/plain") GET https://api.test/a?b=1 1, 2 <>',
    );
    const body = ["a", "bc", "d".repeat(100_000)];
    expect(await valueOf("fetch", { ...args, body }, { fetch })).toBe(
      `201 Some("text/plain") POST https://api.test/a?b=1 1, 2 <${body.join("")}>`,
    );
  });

  test("a request to a host that is not allowed fails with the reason", async () => {
    const args = { host: "evil.test", path: "/", body: ["x"] };
    expect(await failureOf("fetch", args, { fetch })).toMatch(/InternalError.*evil\.test/);
  });

  test("a body that was received is sent on", async () => {
    expect(await valueOf("forward", { host: "api.test", path: "/x" }, { fetch })).toBe(
      '(Method::Put, Some("api.test"), None) PUT https://api.test/ null <GET https://api.test/x 1, 2 <>>',
    );
  });

  test("a request whose body fails is not sent", async () => {
    const asked: string[] = [];
    const recorded = async (request: Request) => {
      asked.push(await request.text());
      return new Response("");
    };
    const args = { host: "api.test", fails: true };
    expect(await failureOf("half", args, { fetch: recorded })).toContain("InternalError");
    expect(await valueOf("half", { ...args, fails: false }, { fetch: recorded })).toBe(200);
    expect(asked).toEqual(["half"]);
  });

  test("the timeouts of a request are kept, though the server has its own", async () => {
    expect(await valueOf("options")).toBe("None Some(5000000) None Some(18446744073709551615)");
  });

  test("the standard input is empty", async () => {
    expect(await valueOf("input")).toBe("Dropped Ok(())");
  });

  test("a stream is written and read within the component", async () => {
    expect(await valueOf("pipe", { parts: ["hello world", "", "x", "yz"] })).toBe(
      "[hell][o wo][rld][xyz][]",
    );
  });

  test("what is printed is in the log", async () => {
    expect((await called("say", { text: "one\ntwo\n" })).logs).toEqual(["info: one\ntwo"]);
  });

  test("files are written, read, listed and looked at, by streams", async () => {
    const caller = "ann";
    expect(await valueOf("save", { path: "f", parts: ["abc", "def"] }, { caller })).toEqual([
      "bcdef!",
      "DescriptorType::RegularFile f",
    ]);
    expect(await valueOf("look", { path: "f" }, { caller })).toBe(
      "DescriptorType::RegularFile 7 (DescriptorType::RegularFile, DescriptorFlags(READ | WRITE | MUTATE_DIRECTORY)) false Err(ErrorCode::Unsupported) true",
    );
    expect(await valueOf("look", { path: "." }, { caller })).toContain("DescriptorType::Directory");
    for (const path of ["no/f", "../f", "/etc/f"])
      expect(await failureOf("save", { path, parts: [] }, { caller })).toMatch(/ErrorCode::\w+/);
    expect(await failureOf("look", { path: "none" }, { caller })).toContain("NoEntry");
  });

  test("a stream of a file goes on after its descriptor is dropped, and keeps to its file", async () => {
    const caller = "joe";
    const found = (await valueOf("outlive", {}, { caller })) as string[];
    expect(found.slice(0, 2)).toEqual(["first", ""]);
    expect(new Set(found.slice(2))).toEqual(new Set(["first", "second"]));
    expect(await valueOf("scribble", { path: "first" }, { caller })).toMatch(
      /^1 Err\(ErrorCode::\w+\)$/,
    );
  });

  test("a large folder is listed whole, each name once", async () => {
    const names = Array.from({ length: 2000 }, (_, at) => `${"n".repeat(at % 200)}${at}`);
    const files = Object.fromEntries(names.map((name) => [`/data/${name}`, ""]));
    await servlet.writeFiles(files, { caller: "eve" });
    const listed = await valueOf("save", { path: "one", parts: [] }, { caller: "eve" });
    const entries = (listed as string[]).slice(1).map((one) => one.split(" ")[1]);
    expect(entries).toHaveLength(names.length + 1);
    expect(new Set(entries)).toEqual(new Set([...names, "one"]));
  });

  test("memory lasts from call to call of a caller", async () => {
    const count = (caller: string) => valueOf("count", {}, { caller });
    expect([await count("bob"), await count("bob"), await count("eva")]).toEqual([1, 2, 1]);
  });
});

describe("a component that does not end", () => {
  test("waiting for an event that cannot come ends the call, and the log says so", async () => {
    const { result, logs } = await called("stuck");
    expect(result.isError).toBe(true);
    expect(logs[0]).toContain("waits for an event that cannot come");
  });

  test("a function that yields for ever is stopped by its fuel", async () => {
    const limited = await loaded("async/waits", { compute_limit: 0.05 });
    const { result } = await limited.callTool("spin");
    expect(JSON.stringify(result)).toContain("computed for too long");
  });
});

describe("functions of the component model", () => {
  let low: ServletUnderTest;
  beforeAll(async () => {
    low = await loaded("low/waits", { state: "caller", compute_limit: 0.05, memory_limit: "8Mi" });
  });

  test.each<[string, string, number, number]>([
    ["cancelling a timer gives its state", "run", 8, 4],
    ["a timer is an event of its set", "run", 9, 1002],
    ["writing to a stream that nobody reads gives DROPPED", "run", 13, 1],
    ["an empty write completes when the reader is there", "run", 14, 3000],
    ["a task has values of its own", "run", 16, 16],
    ["polling does not wait", "run", 17, 0],
    ["cancelling a read gives CANCELLED", "run", 18, 2],
    ["writing a future that nobody wants gives DROPPED", "run", 20, 1],
    ["a future passes a number on", "run", 23, 42],
    ["a write can be read in two parts", "run", 25, 8 << 4],
    ["cancelling the read of a future gives CANCELLED", "run", 26, 2],
    ["a write of which a part was read tells that it was dropped", "run", 27, 1 | (4 << 4)],
    ["a write that was read to its end tells that it was dropped", "run", 30, 1 | (8 << 4)],
    ["an empty write waits where a read is full", "run", 31, 0xffffffff],
    ["a write of which a part was read is printed to its end", "run", 28, 8 << 4],
    ["a function without a callback waits within", "deep", 0, 1002],
    ["the standard input has ended", "deep", 1, 1],
    ["a timer that is over cannot be cancelled", "deep", 4, 2],
    ["a function that is not asynchronous waits", "plain", 0, 2_000_000_000],
  ])("%s", async (_name, tool, kind, value) => {
    const { result } = await low.callTool(tool, { kind }, { now: NOW });
    expect(inResult(result)).toBe(value);
    expect(inResult((await low.callTool(tool, { kind }, { now: NOW })).result)).toBe(value);
  });

  test("a stream of which a part was read is passed on from there", async () => {
    expect((await low.callTool("run", { kind: 28 })).logs).toEqual(["info: body"]);
  });

  test.each<[string, string, number, string]>([
    ["a function without a result", "run", 0, "exited without calling task.return"],
    ["a function without a result or a callback", "deep", 3, "exited without calling task.return"],
    ["a second result", "run", 1, "task.return: the function has another result"],
    ["a result of another type", "run", 2, "task.return: the function has another result"],
    ["task.return in a function that returns", "plain", 1, "task.return: the function has another"],
    ["an unknown callback code", "run", 3, "not EXIT, YIELD or WAIT"],
    ["a forged set", "run", 4, "a handle is of another kind"],
    ["waiting for an empty set", "run", 5, "an event that cannot come"],
    ["reading a stream that nobody writes", "deep", 2, "an event that cannot come"],
    ["dropping a pending subtask", "run", 10, "subtask.drop: the subtask has not resolved"],
    ["dropping a set with a waitable", "run", 11, "the set still has waitables"],
    ["passing strings to itself", "run", 15, "elements are not numbers"],
    ["reading the writable end", "run", 19, "another end of a stream"],
    ["dropping a future without a value", "run", 21, "the future has no value"],
    ["reading twice at once", "run", 22, "again before that has ended"],
    ["reading a stream that was passed on", "run", 29, "a handle is of another kind"],
    ["cancelling a task that nobody has cancelled", "run", 24, "task.cancel"],
  ])("%s ends the call, and the log says why", async (_name, tool, kind, why) => {
    const { result, logs } = await low.callTool(tool, { kind }, { now: NOW });
    expect(result.isError).toBe(true);
    expect(logs[0]).toContain(why);
  });

  test.each([6, 12])("one that goes on for ever is stopped: %i", async (kind) => {
    const { result } = await low.callTool("run", { kind });
    expect(JSON.stringify(result)).toContain("computed for too long");
  });

  test("a set of an earlier call is not taken for one of this call", async () => {
    const kept = () => low.callTool("run", { kind: 7 }, { caller: "mia" });
    expect(inResult((await kept()).result)).toBe(7);
    expect((await kept()).logs[0]).toContain("a resource of an earlier call");
  });
});
