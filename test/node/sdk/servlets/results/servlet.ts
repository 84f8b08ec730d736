/** Handlers that return and throw values of every kind. */
import { defineServlet, RpcError, ToolError, type ToolOutput } from "edge-servlets/servlet";

/** A value that the types forbid, but JavaScript does not. */
const wrong = (value: unknown) => value as ToolOutput;

const image = { type: "image", data: new Uint8Array([1, 2, 3]), mimeType: "image/png" } as const;

export default defineServlet({
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
