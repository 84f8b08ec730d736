/** Servlets of other MCP servers, made and called against servers of the official SDKs. */
import { afterAll, describe, expect, test } from "vitest";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { modernServer, sessionServer } from "./remote-servers.ts";
import { loadedRemote, online, removeRemotes } from "./under-test.ts";

afterAll(removeRemotes);

const modern = await modernServer();
const sessions = await sessionServer();
const stored = await sessionServer({ stores: true });
afterAll(() => Promise.all([modern.close(), sessions.close(), stored.close()]));
const { servlet, files } = await loadedRemote(modern.url);
const yes = {
  answers: {
    "elicitation/create": () => ({ action: "accept" as const, content: { confirm: true } }),
  },
};

const textOf = (result: { content: unknown }) => (result.content as { text: string }[])[0]?.text;

describe("a server of 2026-07-28", () => {
  test("is listed as it was when the servlet was made, with whose it is, and without its annotations", async () => {
    const { tools, resources, prompts } = await servlet.list();
    expect(tools.map(({ name }) => name)).toContain("notes-echo");
    const echo = tools.find(({ name }) => name === "notes-echo")!;
    expect(echo.description).toMatch(/^From Modern Notes \(127\.0\.0\.1:\d+\): Says it again$/);
    expect(echo.annotations?.readOnlyHint).toBeUndefined();
    expect(echo.inputSchema).toMatchObject({ required: ["text"] });
    expect(resources.map(({ uri }) => uri)).toEqual(["note://one"]);
    expect(prompts.map(({ name }) => name)).toEqual(["notes-greet"]);
  });

  test("is pinned in the manifest", () => {
    expect(JSON.parse(files.get("servlet.json")!)).toMatchObject({
      allowed_hosts: ["127.0.0.1"],
      prefix: "notes",
    });
    expect(JSON.parse(files.get("remote.json")!)).toMatchObject({
      url: modern.url,
      version: "2026-07-28",
      instructions: "Look before you leap.",
    });
  });

  test("takes one request for a call", async () => {
    modern.heard.length = 0;
    const { result } = await servlet.callTool("notes-echo", { text: "hi" }, online);
    expect(textOf(result)).toBe("hi");
    expect(modern.heard).toEqual(["tools/call"]);
    expect(modern.headers.at(-1)).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "echo" });
  });

  test("has all kinds of content, structured content and _meta passed on", async () => {
    const { result } = await servlet.callTool("notes-contents", {}, online);
    const kinds = (result.content as unknown as { type: string }[]).map(({ type }) => type);
    expect(kinds).toEqual(["text", "image", "audio", "resource", "resource_link"]);
    expect(result.structuredContent).toEqual({ ok: true });
    expect(result._meta).toEqual({ "example.com/trace": "1" });
  });

  test("has its errors, resources and prompts passed on", async () => {
    const { result } = await servlet.callTool("notes-fails", {}, online);
    expect(result).toMatchObject({ isError: true, content: [{ text: "no luck" }] });
    const read = await servlet.readResource("note://one", online);
    expect(read.result.contents).toMatchObject([{ text: "the note" }]);
    const got = await servlet.getPrompt("notes-greet", { who: "Ada" }, online);
    expect(got.result.messages).toMatchObject([{ content: { text: "Greet Ada" } }]);
  });

  test("has its progress and log messages passed on", async () => {
    const meta = { progressToken: 7, "io.modelcontextprotocol/logLevel": "info" };
    const { result, notifications } = await servlet.callTool("notes-progress", {}, {
      ...online,
      meta,
    } as never);
    expect(textOf(result)).toBe("done");
    const said = notifications.map(({ method, params }) => ({ method, ...(params as Json) }));
    expect(said).toMatchObject([
      { progress: 1, total: 2, message: "step 1" },
      { progress: 2, total: 2, message: "step 2" },
      { level: "warning", data: { disk: "full" }, logger: "Modern Notes: disk" },
    ]);
  });

  test("has its questions asked here, with whose they are", async () => {
    const asked: string[] = [];
    const answers = {
      "elicitation/create": ({ message }: Json) => {
        asked.push(String(message));
        return { action: "accept" as const, content: { confirm: true } };
      },
    };
    const { result } = await servlet.callTool(
      "notes-confirm",
      { text: "it" },
      { ...online, answers },
    );
    expect(textOf(result)).toBe("deleted it");
    expect(asked).toEqual([expect.stringMatching(/^From Modern Notes \(.*\): Delete it\?$/)]);
    expect(modern.ran.filter((name) => name === "confirm")).toHaveLength(1);
  });

  test("hears that the user has declined", async () => {
    const answers = { "elicitation/create": [{ action: "decline" as const }] };
    const { result } = await servlet.callTool(
      "notes-confirm",
      { text: "it" },
      { ...online, answers },
    );
    expect(textOf(result)).toBe("declined");
  });
});

describe("a call whose host stops after each answer", () => {
  test("sends each request of a server of 2026-07-28 once", async () => {
    modern.heard.length = modern.ran.length = 0;
    const script = { ...online, ...yes, alwaysReplay: true };
    const { result } = await servlet.callTool("notes-confirm", { text: "it" }, script);
    expect(textOf(result)).toBe("deleted it");
    expect(modern.ran).toEqual(["confirm"]);
    expect(modern.heard).toEqual(["tools/call", "tools/call"]);
  });

  test.each(["confirm", "progress"])(
    "resumes the stream of the tool %s, and calls it once",
    async (tool) => {
      stored.ran.length = 0;
      const { servlet: asking } = await loadedRemote(stored.url);
      const script = { ...online, ...yes, alwaysReplay: true, now: Date.now };
      const { result } = await asking.callTool(`notes-${tool}`, {}, script);
      expect(result.isError).toBe(false);
      expect(stored.ran).toEqual([tool]);
      expect(stored.heard).toContain("GET");
    },
  );

  test("says that the outcome is unknown if the server cannot resume its stream", async () => {
    const { servlet: asking } = await loadedRemote(sessions.url);
    const script = { ...online, ...yes, alwaysReplay: true, now: Date.now };
    const { result } = await asking.callTool("notes-confirm", {}, script);
    expect(textOf(result)).toMatch(/its stream was lost before the result\. Whether it has done/);
  });
});

describe.each([
  ["without an event store", sessions],
  ["with an event store", stored],
])("a server with sessions, %s", (_, server) => {
  const made = loadedRemote(server.url);

  test("has one session for each caller, which is begun anew once it is lost", async () => {
    const { servlet: counting, files: text } = await made;
    expect(JSON.parse(text.get("servlet.json")!)).toMatchObject({
      state: "caller",
      lists: "baked",
    });
    server.heard.length = 0;
    const call = async (caller: string) =>
      textOf(
        (await counting.callTool("notes-count", {}, { ...online, caller, now: Date.now })).result,
      );
    expect([await call("ada"), await call("ada"), await call("bob")]).toEqual([
      "call 1",
      "call 2",
      "call 1",
    ]);
    expect(server.heard.filter((method) => method === "initialize")).toHaveLength(2);
    server.forget();
    expect(await call("ada")).toBe("call 1");
    expect(await call("ada")).toBe("call 2");
    expect(server.heard.filter((method) => method === "initialize")).toHaveLength(3);
  });

  test.each([
    ["within a stream", "notes-confirm"],
    ["on the session's own stream", "notes-confirm_beside"],
  ])("has its questions %s asked here", async (_where, tool) => {
    const { servlet: asking } = await made;
    const { result } = await asking.callTool(tool, {}, { ...online, ...yes });
    expect(textOf(result)).toBe('{"action":"accept","content":{"confirm":true}}');
  });

  test("has its progress passed on", async () => {
    const { servlet: going } = await made;
    const { result, notifications } = await going.callTool("notes-progress", {}, {
      ...online,
      meta: { progressToken: "a" },
    } as never);
    expect(textOf(result)).toBe("done");
    expect(notifications.map(({ params }) => (params as Json)["progress"])).toEqual([1, 2, 3]);
  });
});
