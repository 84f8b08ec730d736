import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConnectedView } from "../../src/kit/view/index.ts";

/** The library of views with a client that sends messages in odd orders; real browsers are in `views-browser.long.test.ts`. */

type Json = Record<string, unknown>;

let sent: Json[];
let receive: (data: unknown, source?: unknown) => void;
const host = { postMessage: (message: Json) => void sent.push(message) };

beforeEach(() => {
  sent = [];
  const root = { dataset: {}, style: { setProperty() {} } };
  vi.stubGlobal("EDGE_SERVLETS_TOOL_PREFIX", "my-");
  vi.stubGlobal("document", { title: "", documentElement: root });
  vi.stubGlobal("window", {
    parent: host,
    addEventListener(_type: string, listener: (event: object) => void) {
      receive = (data, source = host) => listener({ source, data });
    },
  });
});
afterEach(() => void vi.unstubAllGlobals());

/** A view that has connected; the client's messages before that come first. */
async function connected(...before: Json[]): Promise<ConnectedView> {
  const { connect } = await import("../../src/kit/view/index.ts");
  const connecting = connect({ resize: false });
  for (const message of before) receive(message);
  receive({ id: sent[0]!["id"], result: { hostContext: { theme: "dark" } } });
  return connecting;
}

const tell = (method: string, params?: object) =>
  receive({ jsonrpc: "2.0", method: `ui/notifications/${method}`, ...(params && { params }) });
const question = (id: number) => ({
  jsonrpc: "2.0",
  id,
  method: "elicitation/create",
  params: { message: `Question ${id}`, requestedSchema: { type: "object" } },
});
const answersTo = (id: number) => sent.filter((one) => one["id"] === id && !("method" in one));

test("shows what it is told in whatever order", async () => {
  const view = await connected(
    { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { locale: "de" } },
    { jsonrpc: "2.0", id: "early", method: "ping" },
  );
  expect(sent).toContainEqual({ jsonrpc: "2.0", id: "early", result: {} });
  expect(view.state.frame).toEqual({ theme: "dark", locale: "de" });
  tell("tool-result", { content: [{ type: "text", text: "first" }] });
  tell("tool-input");
  tell("tool-result", { content: [] });
  tell("tool-cancelled", { reason: "late" });
  tell("host-context-changed");
  tell("what-is-this", { a: 1 });
  expect(view.state).toMatchObject({ input: {}, isPartial: false, cancelled: "late" });
  expect(view.state.result).toEqual({ content: [] });
});

test("answers a client's requests once each, and messages of nobody else", async () => {
  await connected();
  const before = sent.length;
  for (const data of [null, 7, "text", [], { id: 1 }, { method: "toString" }, { id: "__proto__" }])
    receive(data);
  receive({ id: 5, method: "ping" }, {});
  expect(sent).toHaveLength(before);
  for (const [id, method] of ["ui/resource-teardown", "constructor", "__proto__"].entries())
    receive({ jsonrpc: "2.0", id, method });
  expect(answersTo(0)).toEqual([{ jsonrpc: "2.0", id: 0, result: {} }]);
  expect(answersTo(1)).toMatchObject([{ error: { code: -32601 } }]);
  expect(answersTo(2)).toMatchObject([{ error: { code: -32601 } }]);
});

test("a call settles once, by the answer to it", async () => {
  const view = await connected();
  const calling = view.call("vote", { for: "yes" });
  const { id, params } = sent.at(-1)!;
  expect(params).toEqual({ name: "my-vote", arguments: { for: "yes" } });
  receive({ id: 99, result: { content: [{ type: "text", text: "another" }] } });
  receive({ id, result: { content: [{ type: "text", text: "own" }] } });
  receive({ id, error: { message: "too late" } });
  expect(await calling).toEqual({ content: [{ type: "text", text: "own" }] });
  const failing = view.call("vote");
  receive({ id: sent.at(-1)!["id"], result: { isError: true } });
  await expect(failing).rejects.toThrow("vote has failed");
});

test("a question that another follows is cancelled, and each is answered once", async () => {
  const view = await connected();
  receive(question(101));
  receive(question(102));
  expect(answersTo(101)).toEqual([{ jsonrpc: "2.0", id: 101, result: { action: "cancel" } }]);
  view.answer({ a: 1 });
  view.answer();
  expect(answersTo(102)).toMatchObject([{ result: { action: "accept", content: { a: 1 } } }]);
});

test("a question that the client takes back is not answered", async () => {
  const view = await connected();
  receive(question(101));
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
  receive({ ...cancelled, params: { requestId: 7 } });
  expect(view.state.question?.message).toBe("Question 101");
  receive({ ...cancelled, params: { requestId: 101 } });
  expect(view.state.question).toBeUndefined();
  view.answer();
  expect(answersTo(101)).toEqual([]);
});
