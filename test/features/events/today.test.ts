// @module-tag sessions
// @module-tag tasks
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { TASKS } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import {
  answerOf,
  listenerOf,
  modern,
  post,
  postTo,
  URL_OF_MCP,
  type Answer,
} from "../../worker/server.ts";
import {
  caller,
  callerOf,
  clock,
  newCaller,
  note,
  NOTE,
  objectFor,
  prepareEvents,
  serverFor,
  webhook,
  type Caller,
} from "./subscribers.ts";

/** What clients without the extension have of events: resources and a tool; and clients before 2026-07-28. */
const own = prepareEvents();

const URI = "event://emitting/note.added";

describe("the resource of a type of events", () => {
  test("is listed, and reads as the newest event of this caller", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name)) as [Caller, Caller];
    const { resources } = await ada.ask("resources/list");
    expect(resources.find(({ uri }: any) => uri === URI)).toMatchObject({
      name: "note.added",
      mimeType: "application/json",
      description: expect.stringMatching(/^A note was added\. The newest/),
    });
    const read = async (of: Caller, uri = URI) =>
      JSON.parse((await of.ask("resources/read", { uri })).contents[0].text);
    expect(await read(ada)).toBeNull();
    await ada.emit(note("one"));
    await ada.emit(note("two"));
    expect(await read(ada)).toMatchObject({ name: "note.added", data: { text: "two" } });
    expect(await read(bob)).toBeNull();
    const NEWS = "event://emitting/news";
    await ada.emit({ name: "news", data: { text: "all" }, to: "everyone" });
    expect(await read(bob, NEWS)).toMatchObject({ data: { text: "all" } });
    await bob.emit({ name: "news", data: { text: "own" } });
    expect(await read(bob, NEWS)).toMatchObject({ data: { text: "own" } });
    expect(await read(ada, NEWS)).toMatchObject({ data: { text: "all" } });
  });

  test("is the newest event that can still be opened", async () => {
    const ada = await caller();
    for (const text of ["one", "two"]) await ada.emit(note(text));
    await runInDurableObject(objectFor(ada), (_instance, { storage }) => {
      const last = "(SELECT MAX(seq) FROM events)";
      storage.sql.exec(`UPDATE events SET sealed = zeroblob(64) WHERE seq = ${last}`);
    });
    const { contents } = await ada.ask("resources/read", { uri: URI });
    expect(JSON.parse(contents[0].text)).toMatchObject({ data: { text: "one" } });
  });

  test("can be subscribed to: those who may hear it are told of each event", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name)) as [Caller, Caller];
    const listen = async (of: Caller) => {
      const uris = [URI, "event://emitting/news"];
      const { body, headers } = modern("subscriptions/listen", {
        notifications: { resourceSubscriptions: uris },
      });
      const stream = listenerOf(await post(body, { ...headers, ...of.sent.headers }, server));
      expect(await stream.next()).toMatchObject({
        params: { notifications: { resourceSubscriptions: uris } },
      });
      return stream;
    };
    const [hers, his] = [await listen(ada), await listen(bob)];
    await ada.emit(note("one"));
    const updated = (uri: string) => ({
      method: "notifications/resources/updated",
      params: { uri },
    });
    expect(await hers.next()).toMatchObject(updated(URI));
    await ada.emit({ name: "news", data: {}, to: "everyone" });
    expect(await hers.next()).toMatchObject(updated("event://emitting/news"));
    // Of hers he was not told.
    expect(await his.next()).toMatchObject(updated("event://emitting/news"));
    await hers.close();
    await his.close();
  });
});

describe("wait_for_event", () => {
  const wait = async (of: Caller, args: object) => {
    const { result } = await of.send("tools/call", { name: "wait_for_event", arguments: args });
    return result!;
  };

  test("is listed where a servlet has events", async () => {
    const ada = await caller();
    const { tools } = await ada.ask("tools/list");
    expect(tools.map(({ name }: any) => name)).toContain("wait_for_event");
  });

  test("returns the next event as soon as there is one", async () => {
    const ada = await caller();
    const waiting = wait(ada, { name: "note.added", arguments: { topic: "b" }, timeout: 40 });
    let isOver = false;
    void waiting.then(() => (isOver = true));
    await ada.emit(note("other", "a"));
    await vi.waitFor(async () => {
      await ada.emit(note("this", "b"));
      expect(isOver).toBe(true);
    });
    const { structuredContent, content } = await waiting;
    expect(structuredContent).toMatchObject({
      event: { name: "note.added", data: { text: "this" } },
      truncated: false,
    });
    expect(JSON.parse(content[0].text)).toEqual(structuredContent);
  });

  test("returns an event for everyone, too", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name)) as [Caller, Caller];
    const { cursor } = await bob.ask("events/poll", { name: "news" });
    const waiting = wait(bob, { name: "news", timeout: 40, cursor });
    await ada.emit({ name: "news", data: { text: "all" }, to: "everyone" });
    const { structuredContent } = await waiting;
    expect(structuredContent).toMatchObject({ event: { data: { text: "all" } } });
  });

  test("takes the URI of the type's resource for its name", async () => {
    const ada = await caller();
    const none = await wait(ada, { name: URI, timeout: 0 });
    await ada.emit(note("one"));
    const { cursor } = none["structuredContent"];
    const { structuredContent } = await wait(ada, { name: URI, timeout: 0, cursor });
    expect(structuredContent).toMatchObject({ event: { data: { text: "one" } } });
  });

  test("says when there was none, and misses none by its cursor", async () => {
    const ada = await caller();
    const none = await wait(ada, { name: "note.added", timeout: 0 });
    expect(none["structuredContent"]).toMatchObject({ event: null, truncated: false });
    expect(none["content"][0].text).toMatch(/No such event within 0 seconds/);
    const { cursor } = none["structuredContent"];
    await ada.emit(note("between"));
    const found = await wait(ada, { name: "note.added", timeout: 0, cursor });
    expect(found["structuredContent"]).toMatchObject({ event: { data: { text: "between" } } });
    const next = { name: "note.added", timeout: 0, cursor: found["structuredContent"].cursor };
    expect((await wait(ada, next))["structuredContent"].event).toBeNull();
  });

  test.each([
    [
      { name: "note.edited", timeout: 0 },
      /There is no event note\.edited.*The events are: news, note\.added/,
    ],
    [{ name: "note.added", arguments: { x: 1 }, timeout: 0 }, /do not match the inputSchema/],
    [{ name: "note.added", timeout: 3601 }, /timeout/],
  ])("says what is wrong with %j", async (args, message) => {
    const ada = await caller();
    const result = await wait(ada, args);
    expect(result).toMatchObject({ isError: true });
    expect(result["content"][0].text).toMatch(message);
  });

  test("is a task for a client that takes tasks, and ends with the event or with its time", async () => {
    const ada = await caller();
    const sent = { capabilities: TASKS };
    const begun = async (timeout: number, cursor?: string) => {
      const args = { name: "note.added", arguments: { topic: "b" }, timeout, cursor };
      const { taskId } = await ada.ask(
        "tools/call",
        { name: "wait_for_event", arguments: args },
        sent,
      );
      await runDurableObjectAlarm(objectOf(taskId));
      return taskId as string;
    };
    const lookLater = async (taskId: string, ms: number) => {
      clock.aheadMs += ms;
      await runDurableObjectAlarm(objectOf(taskId));
      return ada.ask("tasks/get", { taskId }, sent);
    };
    const [found, none] = [await begun(3600), await begun(100)];
    expect(await lookLater(found, 30_000)).toMatchObject({ status: "working" });
    await ada.emit(note("other", "a"));
    await ada.emit(note("this", "b"));
    expect(await lookLater(found, 30_000)).toMatchObject({
      status: "completed",
      result: { structuredContent: { event: { data: { text: "this" } } } },
    });
    expect(await lookLater(none, 0)).toMatchObject({
      result: { structuredContent: { event: { data: { text: "this" } } } },
    });
    const behind = await begun(3600, "zzzzzzzz.1");
    await ada.emit(note("next", "b"));
    expect(await lookLater(behind, 30_000)).toMatchObject({
      result: { structuredContent: { event: { data: { text: "next" } }, truncated: true } },
    });
    const late = await begun(100);
    expect(await lookLater(late, 90_000)).toMatchObject({ status: "working" });
    const { result } = await lookLater(late, 90_000);
    expect(result.content[0].text).toMatch(/No such event within 100 seconds/);
  });

  test("waits no longer as a task because the clock was set back", async () => {
    const ada = await caller();
    const sent = { capabilities: TASKS };
    const params = { name: "wait_for_event", arguments: { name: "note.added", timeout: 60 } };
    const { taskId } = await ada.ask("tools/call", params, sent);
    await runDurableObjectAlarm(objectOf(taskId));
    clock.aheadMs -= 86_400_000;
    const statuses = [];
    for (const ms of [0, 30_000, 61_000, 0]) {
      clock.aheadMs += ms;
      await runDurableObjectAlarm(objectOf(taskId));
      statuses.push((await ada.ask("tasks/get", { taskId }, sent)).status);
    }
    expect(statuses.at(-1)).toBe("completed");
  });

  test("has room for some calls of one caller at once", async () => {
    const { limited } = await import("./subscribers.ts");
    limited({ eventWaits: 1 });
    const ada = await caller();
    const first = wait(ada, { name: "note.added", timeout: 40 });
    await vi.waitFor(async () => {
      const second = await wait(ada, { name: "note.added", timeout: 0 });
      expect(second["content"][0].text).toMatch(/Too many calls wait for events \(limit 1/);
    });
    await ada.emit(note("end"));
    await first;
  });
});

/** The messages of an event stream of a session, whose first event is empty. */
async function* messagesOf(response: Response): AsyncGenerator<any> {
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [, data] = /^data: (.+)$/m.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

/** The answer to a request: JSON, or the first message of a stream. */
async function replyOf(response: Response): Promise<Answer> {
  if (response.headers.get("content-type") === "application/json") return answerOf(response);
  const { value } = await messagesOf(response).next();
  return { status: response.status, ...value };
}

describe("a client of 2025-11-25", () => {
  const begin = async (of: Caller, more: Record<string, string> = {}) => {
    const headers = { ...of.sent.headers, ...more };
    const response = await postTo(
      of.sent.server!,
      URL_OF_MCP,
      {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "a", version: "1" },
        },
      },
      headers,
    );
    const session = response.headers.get("mcp-session-id");
    const { result } = await replyOf(response);
    const ask = async (method: string, params: object) =>
      replyOf(
        await postTo(
          of.sent.server!,
          URL_OF_MCP,
          { jsonrpc: "2.0", id: 2, method, params },
          {
            ...headers,
            "mcp-protocol-version": "2025-11-25",
            ...(session !== null && { "mcp-session-id": session }),
          },
        ),
      );
    return { result, ask, session };
  };

  test.each([
    ["answered by the Worker", {}],
    ["answered by the object of its session", { accept: "text/event-stream" }],
  ])("sees the capability, and has the methods but streams, %s", async (_what, more) => {
    const ada = await caller();
    const { result, ask, session } = await begin(ada, more);
    expect(session).not.toBeNull();
    expect(result!["capabilities"]).toMatchObject({ events: {} });
    const { result: listed } = await ask("events/list", {});
    expect(listed!["events"][0].delivery).toEqual(["poll", "webhook"]);
    const { result: polled } = await ask("events/poll", NOTE);
    await ada.emit(note("one"));
    const next = await ask("events/poll", { ...NOTE, cursor: polled!["cursor"] });
    expect(next.result!["events"]).toMatchObject([{ data: { text: "one" } }]);
    const params = webhook(own.receivers.add());
    expect((await ask("events/subscribe", params)).result).toHaveProperty("id");
    expect((await ask("events/unsubscribe", params)).error).toBeUndefined();
    expect((await ask("events/unsubscribe", params)).error?.code).toBe(-32011);
    expect((await ask("events/stream", NOTE)).error?.code).toBe(-32601);
  });

  test("is told of updates of the resource that it has subscribed to", async () => {
    const ada = await caller();
    const { ask, session } = await begin(ada);
    expect((await ask("resources/subscribe", { uri: URI })).error).toBeUndefined();
    const headers = {
      ...ada.sent.headers,
      "mcp-session-id": session!,
      "mcp-protocol-version": "2025-11-25",
      accept: "text/event-stream",
    };
    const stream = messagesOf(await ada.sent.server!.fetch(new Request(URL_OF_MCP, { headers })));
    await ada.emit(note("one"));
    for await (const { method, params } of stream) {
      // The object of the session serves other lists than the Worker of this test.
      if (method !== "notifications/resources/updated") continue;
      expect(params).toMatchObject({ uri: URI });
      return;
    }
    expect.unreachable();
  });
});
