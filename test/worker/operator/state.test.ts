/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { buildOf } from "../../../src/durable/scope-state.ts";
import { configureLimits, limits } from "../../../src/limits.ts";
import { framesIn, stateFile, type Head } from "../../../src/state-file.ts";
import { bundle } from "../../bundle.gen.ts";
import { changed, newAddress, send, server, type Sent } from "../durable/client.ts";

/** What operators do with the state of servlets, over HTTP. */

const LOCALHOST = "http://localhost:8787";
const LOCAL = { "cf-connecting-ip": "127.0.0.1" };
const states = (env as unknown as { SERVLET_STATES: DurableObjectNamespace }).SERVLET_STATES;

/** A request of an operator on this machine. */
const operate = (path: string, init: RequestInit = {}, app = server) =>
  Promise.resolve(
    app.fetch(
      new Request(`http://localhost:8787/operator/${path}`, {
        ...init,
        headers: { ...LOCAL, ...(init.headers as Record<string, string>) },
        // Cloudflare and its development server say where a request comes from.
        cf: {},
      } as RequestInit),
    ),
  );

const BEGINNING: Head = { is: "state", version: 1, servlet: "filing", time: "" };
const ENTRY = {
  ...({ is: "entry", node: 2, path: "a", kind: "file", length: 0 } as const),
  modified: 0n,
};
const OPENED = {
  ...({ node: 7, kind: "file", mount: "/data", isPreopened: false, offset: 0, flags: 0 } as const),
  ...{ rights: 0n, inheriting: 0n },
};
const HELD = { ...OPENED, node: ENTRY.node };

/** A caller that nobody has been yet, and its scope. */
function newCaller() {
  const address = newAddress();
  const sent: Sent = { headers: { "cf-connecting-ip": address } };
  const call = async (name: string, args: object = {}, app = server): Promise<string> => {
    const params = { name, arguments: args };
    const { result, error } = await send("tools/call", params, { ...sent, server: app });
    return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
  };
  return {
    next: (app = server) => call("counting-next", {}, app),
    file: (what: string, args: object = {}) => call("filing-do", { what, ...args }),
    scope: `scope=caller:address%20${address}`,
    address,
  };
}

const json = async (response: Promise<Response>) =>
  ({ status: (await response).status, ...((await (await response).json()) as object) }) as Record<
    string,
    any
  >;

const exported = async (servlet: string, scope: string) => {
  const response = await operate(`state-file/${servlet}?${scope}`);
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
};

const imported = (servlet: string, query: string, body: BodyInit, app = server) =>
  json(operate(`state/${servlet}?${query}`, { method: "PUT", body }, app));

test("a scope's size, last change and files are shown", async () => {
  const caller = newCaller();
  expect(await json(operate(`state/counting?${caller.scope}`))).toMatchObject({
    ...{ status: 200, memoryBytes: 0, files: [], fileBytes: 0 },
  });
  await caller.next();
  const summary = await json(operate(`state/counting?${caller.scope}`));
  expect(summary).toMatchObject({ isOfThisBuild: true, isDamaged: false });
  expect(summary["scope"]).toBe(`caller:address ${caller.address}`);
  expect(summary["memoryBytes"]).toBeGreaterThan(4096);
  expect(Date.now() - summary["changed"]).toBeLessThan(60_000);

  await caller.file("write", { path: "/data/a", text: "12345" });
  const { files } = await json(operate(`state/filing?${caller.scope}`));
  expect(files).toContainEqual(expect.objectContaining({ path: "data/a", kind: "file", size: 5 }));
});

test("what is exported can be imported after it was deleted, into another scope, and again", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  await ada.next();
  await ada.next();
  const file = await exported("counting", ada.scope);
  expect(await ada.next()).toBe("3");
  expect(await json(operate(`state/counting?${ada.scope}`, { method: "DELETE" }))).toMatchObject({
    status: 200,
  });
  expect(await ada.next()).toBe("1");
  expect(await imported("counting", ada.scope, file)).toMatchObject({ status: 200 });
  expect(await ada.next()).toBe("3");
  await abortAllDurableObjects();
  expect(await ada.next()).toBe("4");
  expect(await imported("counting", bob.scope, file)).toMatchObject({ status: 200 });
  expect(await bob.next()).toBe("3");
  expect(await ada.next()).toBe("5");
});

test("files are exported with links, times and what is open", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  const text = "0123456789".repeat(6000);
  await ada.file("write", { path: "/data/large", text });
  await ada.file("mkdir", { path: "/data/f" });
  await ada.file("link", { path: "/data/large", to: "/data/f/same" });
  await ada.file("symlink", { path: "f/same", to: "/data/s" });
  await ada.file("write", { path: "/seed/r.txt", text: "mine" });
  await ada.file("write", { path: "/data/open", text: "0123" });
  await ada.file("keep", { path: "/data/open" });
  expect(await ada.file("next")).toBe("0");
  await ada.file("remove", { path: "/data/open" });
  const file = await exported("filing", ada.scope);
  await bob.file("write", { path: "/data/gone", text: "x" });
  expect(await imported("filing", bob.scope, file)).toMatchObject({ status: 200 });
  expect(await bob.file("next")).toBe("1");
  expect(await bob.file("list", { path: "/data" })).toBe("f/ large s ");
  expect(await bob.file("read", { path: "/view/r.txt" })).toBe("mine");
  await bob.file("append", { path: "/data/s", text: "!" });
  expect((await bob.file("read", { path: "/data/large" })).slice(-3)).toBe("89!");
  const files = async ({ scope }: { scope: string }) =>
    (await json(operate(`state/filing?${scope}`)))["files"] as { path: string; modified: number }[];
  const timeOf = async (caller: { scope: string }) =>
    (await files(caller)).find(({ path }) => path === "data/f")!.modified;
  expect(await timeOf(bob)).toBe(await timeOf(ada));
});

test("a large file is exported and imported in parts", async () => {
  const [ada, bob, eve] = [newCaller(), newCaller(), newCaller()];
  await ada.file("fill", { path: "/data/big", text: "1" });
  expect(await imported("filing", bob.scope, await exported("filing", ada.scope))).toMatchObject({
    ...{ status: 200, fileBytes: expect.toSatisfy((bytes: number) => bytes > 1_000_000) },
  });
  const of = await exported("filing", bob.scope);
  await imported("filing", eve.scope, of);
  expect(await contentsOf(await exported("filing", eve.scope))).toEqual(await contentsOf(of));
});

async function* inChunks(chunks: Uint8Array[]) {
  yield* chunks;
}

/** What is in a file besides its time, by path; the order of names is each scope's own. */
async function contentsOf(file: Uint8Array): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  let path = "";
  const chunks = [file.slice(0, 100_001), file.slice(100_001)];
  for await (const { head, content } of framesIn(inChunks(chunks))) {
    // Which file is the last one differs, and no other head belongs to it.
    if (head.is !== "data") path = head.is === "entry" ? head.path : "";
    const where = "nth" in head ? `block ${head.nth}` : path;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
    const place = head.is === "data" ? head.position : 0;
    found.set(where, [...(found.get(where) ?? []), `${head.is} ${place} ${digest}`]);
  }
  expect(found.get("big")!.length).toBeGreaterThan(3);
  return found;
}

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

  test.each<[string, Head[], Partial<Memory>?]>([
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
    const all: Head[] = [
      { ...BEGINNING, hash: buildOf(filing) },
      memory,
      { is: "store", host: "data", node: 1 },
      ...heads,
    ];
    const content = new Uint8Array(4096).fill(1);
    const frames = all.map((head) => ({
      head,
      content: head.is === "block" || head.is === "data" ? content : new Uint8Array(),
    }));
    const file = new Blob([...stateFile(frames)]);
    const answer = await imported("filing", caller.scope, file);
    expect(answer).toMatchObject({ status: 400, error: expect.stringMatching(/Nothing was/) });
    expect(await caller.file("read", { path: "/data/a" })).toBe("before");
  });

  test("but not with what fits", async () => {
    const caller = newCaller();
    await caller.file("write", { path: "/data/a", text: "before" });
    const filing = bundle.servlets.find(({ name }) => name === "filing")!;
    const memory = await memoryOf("filing", caller.scope);
    const heads: Head[] = [
      ...[{ ...BEGINNING, hash: buildOf(filing) }, memory],
      ...[{ is: "store", host: "data", node: 1 } as const, ENTRY],
      { is: "open", descriptors: [[5, HELD]] },
    ];
    const frames = heads.map((head) => ({ head, content: new Uint8Array() }));
    const answer = await imported("filing", caller.scope, new Blob([...stateFile(frames)]));
    expect(answer).toMatchObject({ status: 200 });
  });

  test("with memory of no build", async () => {
    const caller = newCaller();
    await caller.next();
    const heads: Head[] = [
      { ...BEGINNING, servlet: "counting" },
      { is: "memory", pages: 1, globals: [], vars: [] },
    ];
    const frames = heads.map((head) => ({ head, content: new Uint8Array() }));
    const answer = await imported("counting", caller.scope, new Blob([...stateFile(frames)]));
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

type Memory = Head & { is: "memory" };

/** The globals and variables that a scope has. */
async function memoryOf(servlet: string, scope: string): Promise<Memory> {
  const file = await exported(servlet, scope);
  for await (const { head } of framesIn(inChunks([file]))) if (head.is === "memory") return head;
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

test("a state that was altered is refused until it is deleted", async () => {
  const before = new Set((await listDurableObjectIds(states)).map(String));
  const caller = newCaller();
  await caller.next();
  const id = (await listDurableObjectIds(states)).find((one) => !before.has(String(one)))!;
  await runInDurableObject(states.get(id), (_object, { storage }) => {
    storage.sql.exec("UPDATE blocks SET bytes = zeroblob(length(bytes))");
  });
  await abortAllDurableObjects();
  expect(await caller.next()).toMatch(/can no longer be read.*state delete counting/);
  expect((await json(operate(`state/counting?${caller.scope}`)))["changed"]).toBeDefined();
  await operate(`state/counting?${caller.scope}`, { method: "DELETE" });
  expect(await caller.next()).toBe("1");
});

test("all that servlets keep for one caller is deleted at once, and nobody else's", async () => {
  const [ada, bob] = [newCaller(), newCaller()];
  for (const one of [ada, bob]) {
    await one.next();
    await one.file("write", { path: "/data/a", text: "x" });
  }
  const path = `state?caller=address%20${ada.address}`;
  const { servlets } = await json(operate(path, { method: "DELETE" }));
  expect(servlets).toEqual(expect.arrayContaining(["counting", "filing"]));
  expect(await ada.next()).toBe("1");
  expect(await ada.file("read", { path: "/data/a" })).toBe("No such file or directory");
  expect(await bob.next()).toBe("2");
});

test("a caller beside the name of a servlet is refused, and nothing is deleted", async () => {
  const caller = newCaller();
  await caller.next();
  const query = `${caller.scope}&caller=address%20${caller.address}`;
  const answer = await json(operate(`state/counting?${query}`, { method: "DELETE" }));
  expect(answer).toMatchObject({ status: 400, error: expect.stringContaining("scope caller:") });
  expect(await caller.next()).toBe("2");
});

test("a servlet that keeps state for sessions has sessions, and callers without one", async () => {
  const bundleOf = changed("counting", ({ manifest }) => ({
    manifest: { ...manifest, state: "session" },
  }));
  const app = createApp(bundleOf, env);
  const caller = newCaller();
  expect(await caller.next(app)).toBe("1");
  const summary = await json(operate(`state/counting?${caller.scope}`, {}, app));
  expect(summary).toMatchObject({ scope: `caller:address ${caller.address}` });
  expect(summary["memoryBytes"]).toBeGreaterThan(0);
  expect(await json(operate("state/counting?scope=session:abc", {}, app))).toMatchObject({
    ...{ status: 200, scope: "session:abc", memoryBytes: 0 },
  });
  await operate(`state?caller=address%20${caller.address}`, { method: "DELETE" }, app);
  expect(await caller.next(app)).toBe("1");
});

test("calls wait for an export that is read, and go on when its reader has gone", async () => {
  const caller = newCaller();
  await caller.next();
  const response = await operate(`state-file/counting?${caller.scope}`);
  const reader = response.body!.getReader();
  await reader.read();
  let isDone = false;
  const next = caller.next().finally(() => (isDone = true));
  await scheduler.wait(50);
  expect(isDone).toBe(false);
  await reader.cancel();
  expect(await next).toBe("2");
});

test("an export whose reader stands still is given up", async () => {
  const { stateStallMs } = limits;
  onTestFinished(() => configureLimits({ stateStallMs }));
  configureLimits({ stateStallMs: 50 });
  const caller = newCaller();
  await caller.next();
  const response = await operate(`state-file/counting?${caller.scope}`);
  expect(await caller.next()).toBe("2");
  await response.body?.cancel().catch(() => {});
});

describe("the door", () => {
  const withKeys = async (keys: Record<string, object>, variables: object = {}) => {
    const entries = Object.entries(keys).map(async ([name, key]) => {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
      return [name, { hash: new Uint8Array(digest).toHex(), ...key }] as const;
    });
    const API_KEYS = JSON.stringify(Object.fromEntries(await Promise.all(entries)));
    return createApp(bundle, { ...env, API_KEYS, ...variables });
  };
  const bearer = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });

  test("is closed to all but keys with the scope operator", async () => {
    const app = await withKeys({
      op: { scopes: ["operator"] },
      all: {},
      star: { scopes: ["*:*"] },
    });
    const status = async (init: RequestInit) => (await operate("state/counting", init, app)).status;
    expect(await status(bearer("op"))).toBe(200);
    expect(await status(bearer("all"))).toBe(403);
    expect(await status(bearer("star"))).toBe(403);
    expect(await status(bearer("eve"))).toBe(401);
    expect(await status({})).toBe(401);
    const refusal = await operate("state/counting", bearer("all"), app);
    expect(refusal.headers.get("www-authenticate")).toContain('scope="operator"');
    expect(await refusal.text()).toContain("--scopes operator");
  });

  test("does not let an operator's key use tools", async () => {
    const app = await withKeys({ op: { scopes: ["operator"] } });
    const { result } = await send("tools/list", {}, { server: app, ...bearer("op") });
    expect(result!["tools"]).toEqual([]);
  });

  test("is open without authentication on this machine only", async () => {
    const from = async (
      headers: Record<string, string>,
      init: object = { cf: {} },
      url = LOCALHOST,
    ) =>
      (await server.fetch(new Request(`${url}/operator/state/counting`, { headers, ...init })))
        .status;
    expect(await from(LOCAL)).toBe(200);
    expect(await from({ "cf-connecting-ip": "203.0.113.9" })).toBe(403);
    expect(await from(LOCAL, { cf: {} }, "https://example.com")).toBe(403);
    // Nobody but the client has written these.
    expect(await from({})).toBe(403);
    expect(await from(LOCAL, {})).toBe(403);
  });

  test("is closed to web pages", async () => {
    const app = createApp(bundle, { ...env, ALLOWED_ORIGINS: "https://ally.example" });
    const status = async (origin: string) =>
      (await operate("state/counting", { headers: { origin } }, app)).status;
    expect(await status("https://evil.example")).toBe(403);
    expect(await status("https://ally.example")).toBe(403);
    expect(await status("http://localhost:3000")).toBe(403);
    expect(await status(LOCALHOST)).toBe(200);
  });

  test.each([
    ["GET", "state/nothing", 404],
    ["GET", "state/hello", 400],
    ["GET", "state", 404],
    ["GET", "install/hello", 404],
    ["GET", "state/counting/more", 404],
    ["GET", "state/counting?scope=server", 400],
    ["GET", "state/counting?scope=session:a", 400],
    ["GET", "state/counting?scope=caller:", 400],
    ["GET", "state/counting?scope=", 400],
    ["GET", "state/%E0%A4%A", 404],
    ["POST", "state/counting", 405],
    ["DELETE", "state-file/counting", 405],
    ["PUT", "state/counting", 400],
    ["DELETE", "state", 404],
  ])("%s %s is answered by %d", async (method, path, status) => {
    const response = await operate(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  test("counts calls as the other doors do", async () => {
    const keys = { op: { scopes: ["operator"] } };
    const app = await withKeys(keys, { LIMITS: '{"callsPerMinute":2}' });
    onTestFinished(() => configureLimits({ callsPerMinute: 0 }));
    const statuses: number[] = [];
    for (let nth = 0; nth < 4; nth++) {
      statuses.push((await operate("state/counting", bearer("op"), app)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  test("says nothing of contents in the log", async () => {
    const lines: unknown[] = [];
    for (const level of ["log", "info", "warn", "error"] as const) {
      vi.spyOn(console, level).mockImplementation((...line) => void lines.push(...line));
    }
    const caller = newCaller();
    await caller.file("write", { path: "/data/a-secret-name", text: "a-secret-text" });
    const file = await exported("filing", caller.scope);
    await imported("filing", caller.scope, file.slice(0, -1));
    await imported("filing", caller.scope, file);
    vi.restoreAllMocks();
    expect(lines.join("\n")).not.toMatch(/a-secret/);
  });
});
