/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag state
import { describe, expect, onTestFinished, test } from "vitest";
import { buildIdOf } from "../../../src/server/features/state/scope-state.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { stateFile, type FrameHead } from "../../../src/server/features/state/state-file.ts";
import { bundle } from "../../bundle.gen.ts";
import { exported, framesOf, imported, newCaller } from "../../worker/operator/client.ts";

/** Files that operators import, and that are not what they should be. */

const BEGINNING: FrameHead = { is: "state", version: 1, servlet: "filing", time: "" };
const ENTRY = {
  is: "entry",
  node: 2,
  path: "a",
  kind: "file",
  length: 0,
  modified: 0n,
} as const;
const OPENED = {
  node: 7,
  kind: "file",
  mount: "/data",
  isPreopened: false,
  offset: 0,
  flags: 0,
  rights: 0n,
  inheriting: 0n,
} as const;
const HELD = { ...OPENED, node: ENTRY.node };

describe("a file is refused, and changes nothing,", () => {
  test.each([
    ["that was cut off", (file: Uint8Array) => file.slice(0, -1)],
    ["without its last frame", (file: Uint8Array) => file.slice(0, file.length - 200)],
    ["that goes on", (file: Uint8Array) => new Uint8Array([...file, 0])],
    ["that was altered", (file: Uint8Array) => file.with(file.length - 2000, 1)],
    ["that is empty", () => new Uint8Array()],
    ["that is something else", () => new TextEncoder().encode("hello, this is no state at all")],
    ["that is endless zeros", () => new Uint8Array(1_000_000)],
    ["with a huge length", () => new Uint8Array([255, 255, 255, 255, 1])],
  ])("%s", async (_what, change) => {
    const caller = newCaller();
    await caller.next();
    const file = await exported("counting", caller.scope);
    await caller.next();
    const answer = await imported("counting", caller.scope, change(file) as BodyInit);
    expect(answer).toMatchObject({ status: 400, error: expect.stringContaining("Nothing was") });
    expect(await caller.next()).toBe("3");
  });

  test("with memory of another build, unless its files alone are wanted", async () => {
    const [ada, bob] = [newCaller(), newCaller()];
    await ada.file("write", { path: "/data/a", text: "kept" });
    const file = await exported("filing", ada.scope);
    const text = new TextDecoder("latin1").decode(file);
    const { hash } = bundle.servlets.find(({ name }) => name === "filing")!;
    expect(text).toContain(hash);
    const other = await rehashed(file, hash, hash.replace(/./g, "0"));
    await bob.file("write", { path: "/data/b", text: "before" });
    const answer = await imported("filing", bob.scope, other);
    expect(answer).toMatchObject({ status: 409, error: expect.stringMatching(/another build/) });
    expect(await bob.file("list", { path: "/data" })).toBe("b ");
    expect(await imported("filing", `${bob.scope}&files`, other)).toMatchObject({ status: 200 });
    expect(await bob.file("read", { path: "/data/a" })).toBe("kept");
    expect(await bob.file("list", { path: "/data" })).toBe("a ");
  });

  test.each<[string, FrameHead[], Partial<Memory>?]>([
    ["no global", [], { globals: [] }],
    ["a global of another type", [], { globals: ["1n"] }],
    ["a global that is no number", [], { globals: ["much"] }],
    ["more memory than a servlet may have", [], { pages: 100_000 }],
    ["a variable that is not in base64", [], { vars: [["a", "%"]] }],
    ["more variables than a call may have", [], { vars: [["a", "A".repeat(2 ** 21)]] }],
    [
      "a variable twice",
      [],
      {
        vars: [
          ["a", ""],
          ["a", ""],
        ],
      },
    ],
    ["a link to a path that is too long", [{ ...ENTRY, kind: "link", target: "a".repeat(5000) }]],
    ["a store with a name that is too long", [{ is: "store", host: "a".repeat(5000), node: 9 }]],
    [
      "what is open twice",
      [
        { is: "open", descriptors: [] },
        { is: "open", descriptors: [] },
      ],
    ],
    [
      "what is open in no folder of the servlet",
      [ENTRY, { is: "open", descriptors: [[5, { ...HELD, mount: "/elsewhere" }]] }],
    ],
    ["a block beyond its memory", [{ is: "block", nth: 1e6 }]],
    ["a link that leads nowhere", [{ ...ENTRY, kind: "link" }]],
    ["a path out of its folder", [{ ...ENTRY, path: "../a" }]],
    ["a part of no file", [{ is: "data", position: 0 }]],
    [
      "a part of a folder",
      [
        { ...ENTRY, kind: "folder" },
        { is: "data", position: 0 },
      ],
    ],
    [
      "one more name of a folder",
      [
        { ...ENTRY, kind: "folder" },
        { ...ENTRY, path: "b" },
      ],
    ],
    ["a name twice", [ENTRY, { ...ENTRY, node: 3 }]],
    ["a file that is too long", [{ ...ENTRY, length: 2 ** 50 }]],
    ["what is open of nothing", [{ is: "open", descriptors: [[3, OPENED]] }]],
    ["a store twice", [{ is: "store", host: "data", node: 9 }]],
    ["a second beginning", [BEGINNING]],
    ["a second memory", [{ is: "memory", pages: 2, globals: [], vars: [] }]],
    [
      "a descriptor twice",
      [
        ENTRY,
        {
          is: "open",
          descriptors: [
            [5, HELD],
            [5, HELD],
          ],
        },
      ],
    ],
    [
      "a file open as a folder",
      [ENTRY, { is: "open", descriptors: [[5, { ...HELD, kind: "folder" }]] }],
    ],
  ])("that has %s", async (_what, heads, changes = {}) => {
    const caller = newCaller();
    await caller.file("write", { path: "/data/a", text: "before" });
    const filing = bundle.servlets.find(({ name }) => name === "filing")!;
    const memory = { ...(await memoryOf("filing", caller.scope)), ...changes };
    const all: FrameHead[] = [
      { ...BEGINNING, hash: buildIdOf(filing) },
      memory,
      { is: "store", host: "data", node: 1 },
      ...heads,
    ];
    const content = new Uint8Array(4096).fill(1);
    const frames = all.map((head) => ({
      head,
      content: head.is === "block" || head.is === "data" ? content : new Uint8Array(),
    }));
    const file = new Blob(await Array.fromAsync(stateFile(frames)));
    const answer = await imported("filing", caller.scope, file);
    expect(answer).toMatchObject({ status: 400, error: expect.stringMatching(/Nothing was/) });
    expect(await caller.file("read", { path: "/data/a" })).toBe("before");
  });

  test("but not with what fits", async () => {
    const caller = newCaller();
    await caller.file("write", { path: "/data/a", text: "before" });
    const filing = bundle.servlets.find(({ name }) => name === "filing")!;
    const memory = await memoryOf("filing", caller.scope);
    const heads: FrameHead[] = [
      { ...BEGINNING, hash: buildIdOf(filing) },
      memory,
      { is: "store", host: "data", node: 1 } as const,
      ENTRY,
      { is: "open", descriptors: [[5, HELD]] },
    ];
    const frames = heads.map((head) => ({ head, content: new Uint8Array() }));
    const answer = await imported(
      "filing",
      caller.scope,
      new Blob(await Array.fromAsync(stateFile(frames))),
    );
    expect(answer).toMatchObject({ status: 200 });
  });

  test("with memory of no build", async () => {
    const caller = newCaller();
    await caller.next();
    const heads: FrameHead[] = [
      { ...BEGINNING, servlet: "counting" },
      { is: "memory", pages: 1, globals: [], vars: [] },
    ];
    const frames = heads.map((head) => ({ head, content: new Uint8Array() }));
    const answer = await imported(
      "counting",
      caller.scope,
      new Blob(await Array.fromAsync(stateFile(frames))),
    );
    expect(answer).toMatchObject({ status: 400, error: expect.stringMatching(/Nothing was/) });
    expect(await caller.next()).toBe("2");
  });

  test("of another servlet", async () => {
    const caller = newCaller();
    await caller.next();
    const file = await exported("counting", caller.scope);
    expect(await imported("filing", caller.scope, file)).toMatchObject({ status: 409 });
  });

  test("with more files than may be stored", async () => {
    const { fileBytes } = limits;
    onTestFinished(() => configureLimits({ fileBytes }));
    const [ada, bob] = [newCaller(), newCaller()];
    await ada.file("fill", { path: "/data/big", text: "1" });
    const file = await exported("filing", ada.scope);
    await bob.file("write", { path: "/data/b", text: "before" });
    configureLimits({ fileBytes: 500_000 });
    expect(await imported("filing", bob.scope, file)).toMatchObject({ status: 413 });
    expect(await bob.file("list", { path: "/data" })).toBe("b ");
  });

  test("with more files than its manifest lets it keep", async () => {
    const { manifest } = bundle.servlets.find(({ name }) => name === "filing")!;
    onTestFinished(() => void delete manifest.files_limit);
    const [ada, bob] = [newCaller(), newCaller()];
    await ada.file("fill", { path: "/data/big", text: "1" });
    const file = await exported("filing", ada.scope);
    manifest.files_limit = "500000";
    expect(await imported("filing", bob.scope, file)).toMatchObject({ status: 413 });
  });
});

type Memory = FrameHead & { is: "memory" };

/** The globals and variables that a scope has. */
async function memoryOf(servlet: string, scope: string): Promise<Memory> {
  const file = await exported(servlet, scope);
  for await (const { head } of framesOf([file])) if (head.is === "memory") return head;
  throw new Error("it has no memory");
}

/** The file with another hash of its build, made whole again. */
async function rehashed(file: Uint8Array, from: string, to: string): Promise<Uint8Array> {
  const end = file.length - (4 + JSON.stringify({ is: "end", sha256: "0".repeat(64) }).length);
  const body = file.slice(0, end);
  const at = new TextDecoder("latin1").decode(body).indexOf(from);
  body.set(new TextEncoder().encode(to), at);
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
  const head = new TextEncoder().encode(JSON.stringify({ is: "end", sha256 }));
  const length = new Uint8Array(new Uint32Array([head.length]).buffer);
  return new Uint8Array([...body, ...length, ...head]);
}
