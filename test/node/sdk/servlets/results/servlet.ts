/** Handlers that return and throw values of every kind. */
import { defineServlet, RpcError, ToolError, type ToolOutput } from "edge-servlets/servlet";

/** A value that the types forbid, but JavaScript does not. */
const wrong = (value: unknown) => value as ToolOutput;

const image = { type: "image", data: new Uint8Array([1, 2, 3]), mimeType: "image/png" } as const;

function cyclic() {
  const value: Record<string, unknown> = {};
  value["again"] = value;
  return value;
}

const thrown = (all: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      {
        async handler(): Promise<null> {
          await null;
          throw value;
        },
      },
    ]),
  );

export default defineServlet({
  resources: {
    "lossy:resource": {
      name: "lossy",
      read: () => ({ text: "x", _meta: { at: Number.NaN } }) as { text: string },
    },
  },
  prompts: { lossy: { get: () => ({ messages: [], _meta: { e: new TypeError("x") } }) } },
  tools: {
    text: { handler: () => "hi" },
    empty_text: { handler: () => "" },
    nothing: { handler: () => wrong(undefined) },
    null: { handler: () => null },
    number: { handler: () => 42 },
    boolean: { handler: async () => false },
    block: { handler: () => image },
    blocks: {
      handler: async () => [
        "a",
        { type: "text", text: "b", annotations: { audience: ["user"], priority: 1 } },
        { type: "resource", resource: { uri: "x:y", blob: new Uint8Array([255]) } },
        { type: "resource_link", uri: "x:z", name: "z", size: 3 },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ],
    },
    no_blocks: { handler: () => [] },
    view: {
      handler: () => ({ ...image, data: new Uint8Array([0, 1, 2, 3, 4]).subarray(1, 4) }),
    },
    object: { handler: async () => ({ a: 1, b: [true, null], c: undefined }) },
    content_object: {
      handler: () => ({ content: [{ type: "text" as const, text: "x" }, image], _meta: { a: 1 } }),
    },
    content_texts: { handler: () => wrong({ content: ["a", image] }) },
    structured_alone: { handler: () => wrong({ structuredContent: { a: 1 }, _meta: { b: 2 } }) },
    structured_null: { handler: () => wrong({ content: null, structuredContent: [1] }) },
    error_alone: { handler: () => wrong({ isError: true }) },
    error_null: { handler: () => wrong({ content: null, isError: true, _meta: { a: 1 } }) },
    content_null: { handler: () => wrong({ content: null }) },
    left_out: {
      handler: () => ({ f: () => 1, s: Symbol("s"), [Symbol("k")]: 1, u: undefined, b: 1 }),
    },
    array_function: { handler: () => ({ rows: [1, () => 2] }) },
    array_symbol: { handler: () => [Symbol("s")] },
    symbol: { handler: () => wrong(Symbol("s")) },
    own_structured: { handler: () => ({ structuredContent: 1, total: 1 }) },
    halves: { handler: () => ({ "a\ud83d": ["\udc00b", "\\ud83d", "😀"] }) },
    failed: {
      handler: () => ({ content: [{ type: "text" as const, text: "no" }], isError: true }),
    },
    rows: { handler: () => [{ a: 1 }, { a: 2 }] },
    numbers: { handler: () => [1, 2] },
    own_content: { handler: () => ({ content: [1], total: 1 }) },
    own_type: { handler: () => ({ type: "text", body: "b" }) },
    date: { handler: () => new Date(0) },
    thenable: {
      handler: () => wrong({ then: (done: (value: string) => void) => done("thenable") }),
    },

    rejects: {
      async handler() {
        await null;
        throw new RangeError("too far");
      },
    },
    throws_for_memory: {
      description: "Needs more memory than it may have",
      handler: () => "x".repeat(100_000_000).toUpperCase(),
    },
    throws_text: {
      handler() {
        // oxlint-disable-next-line no-throw-literal, only-throw-error
        throw "just text";
      },
    },
    throws_nameless: {
      handler() {
        throw new TypeError();
      },
    },
    deep_bigint: { handler: () => ({ rows: [{ id: 1n }] }) },
    deep_cycle: {
      handler() {
        const a: Record<string, unknown> = {};
        a["me"] = { again: a };
        return a;
      },
    },
    bigint: { handler: () => wrong(5n) },
    function: { handler: () => wrong(() => 1) },
    bad_block: { handler: () => wrong({ content: [{ kind: "x" }], isError: true }) },
    no_block: { handler: () => wrong({ content: [7], isError: true }) },

    map: { handler: () => new Map([["a", new Map([[1, new Set([{ b: new Date(0) }])]])]]) },
    set: { handler: () => new Set<unknown>([1, { c: new Set(["x", undefined]) }]) },
    set_of_texts: { handler: () => new Set(["a", "b"]) },
    own_json: {
      handler: () => ({
        error: Object.assign(new Error("x"), { toJSON: () => ({ why: "own" }) }),
        url: new URL("https://a.example"),
        none: [undefined],
        run: () => 1,
      }),
    },
    structured_map: {
      handler: () => ({ content: ["x"], structuredContent: { rows: new Map([["a", 1]]) } }),
    },
    output_map: {
      output: { type: "object" },
      handler: () => new Map([["a", { b: new Set([1]) }]]) as unknown as { a: object },
    },
    error: { handler: () => ({ ok: false, last: new RangeError("far") }) },
    own_error: { handler: () => new Error("returned") },
    error_with_members: { handler: () => ({ e: Object.assign(new Error("x"), { code: 7 }) }) },
    bytes: { handler: () => ({ file: { name: "a", data: new Uint8Array([1]) } }) },
    own_bytes: { handler: () => new Float32Array(2) },
    buffer: { handler: () => new ArrayBuffer(2) },
    nan: { handler: () => ({ rows: [{ mean: 1 }, { mean: 0 / 0 }] }) },
    infinity: { handler: () => -1 / 0 },
    invalid_date: { handler: () => ({ at: new Date("never") }) },
    forgotten_await: { handler: () => ({ price: Promise.resolve(7) }) },
    iterator: { handler: () => ({ keys: new Map([["a", 1]]).keys() }) },
    headers: { handler: () => ({ headers: new Headers({ a: "1" }) }) },
    pattern: { handler: () => ({ re: /a/ }) },
    weak: { handler: () => ({ seen: new WeakMap() }) },
    map_of_objects: { handler: () => ({ byUser: new Map([[{ id: 1 }, 1]]) }) },
    map_in_map: { handler: () => ({ m: new Map([["a", [{ x: Number.NaN }]]]) }) },
    map_cycle: {
      handler() {
        const m = new Map<string, unknown>();
        m.set("self", m);
        return { m };
      },
    },
    structured_set: {
      handler: () => ({ content: [], structuredContent: { tags: new Set([Number.NaN]) } }),
    },
    output_nan: { output: { type: "object" }, handler: () => ({ n: Number.NaN }) },
    own_stringify: {
      handler: () =>
        `${JSON.stringify({ m: new Map([["a", 1]]), n: Number.NaN, u: new Uint8Array([1]) })} ${typeof (new Map() as { toJSON?: unknown }).toJSON}`,
    },
    logs_error: {
      handler(_args, context) {
        context.log("error", new Error("seen"));
        context.log("info", new Map([["a", new Set([1])]]));
        context.log("info", { n: Number.NaN, e: [] });
        return null;
      },
    },
    ...thrown({
      throws_object: { code: 7 },
      throws_later: { message: "no", details: null },
      throws_array: ["a", { b: 1 }],
      throws_map: new Map([["a", 1n]]),
      throws_cycle: cyclic(),
      throws_own_text: { toString: () => "own text" },
      throws_undefined: undefined,
      throws_several: new AggregateError([new Error("first"), "second"], "all failed"),
      throws_cause: new Error("outer", { cause: new Error("inner") }),
      rpc_map: new RpcError(7, "map", new Map([["a", 1]])),
      rpc_big: new RpcError(7, "big", { id: 1n }),
    }),

    throws_pattern: { handler: () => String(new RegExp("()".repeat(300))) },
    tool_error: {
      handler() {
        throw new ToolError("give a city");
      },
    },
    rpc: {
      handler: (args) => {
        throw new RpcError(Number(args["code"]), "chosen", { why: 1 });
      },
    },
    rpc_later: {
      async handler() {
        await null;
        throw new RpcError(7, "later");
      },
    },
  },
});
