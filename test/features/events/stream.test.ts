import { runInDurableObject } from "cloudflare:test";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { listenerOf, modern, post } from "../../worker/server.ts";
import {
  caller,
  callerOf,
  limited,
  newCaller,
  note,
  NOTE,
  objectFor,
  prepareEvents,
  serverFor,
  type Caller,
} from "./subscribers.ts";

prepareEvents();

const ID = "io.modelcontextprotocol/subscriptionId";

/** Opens a stream; the response, and its messages one by one. */
async function opened(of: Caller, params: object, headers: Record<string, string> = {}) {
  const request = modern("events/stream", params as Record<string, unknown>);
  const response = await post(
    request.body,
    { ...request.headers, ...of.sent.headers, ...headers },
    of.sent.server!,
  );
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const none = { next: async (): Promise<any> => undefined, close: async () => {} };
  return { response, ...(isStream ? listenerOf(response) : none) };
}

describe("events/stream", () => {
  test("begins with its cursor, and brings each event with a cursor of its own", async () => {
    const ada = await caller();
    const stream = await opened(ada, { ...NOTE, cursor: null });
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    const active = await stream.next();
    expect(active).toEqual({
      jsonrpc: "2.0",
      method: "notifications/events/active",
      params: { cursor: expect.any(String), truncated: false, _meta: { [ID]: 1 } },
    });
    await ada.emit(note("one"));
    const event = await stream.next();
    expect(event).toMatchObject({
      method: "notifications/events/event",
      params: { name: "note.added", data: { text: "one" }, _meta: { [ID]: 1 } },
    });
    await stream.close();
    await ada.emit(note("two"));
    const again = await opened(ada, { ...NOTE, cursor: event.params.cursor });
    expect(await again.next()).toMatchObject({ params: { truncated: false } });
    expect(await again.next()).toMatchObject({ params: { data: { text: "two" } } });
    await again.close();
  });

  test("brings what came after the cursor first, in order, then what is new", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit({ ...note("old"), times: 30 });
    const stream = await opened(ada, { ...NOTE, cursor });
    const emitting = ada.emit(note("new"));
    const texts: string[] = [];
    const cursors: number[] = [];
    await stream.next();
    for (let nth = 0; nth < 31; nth++) {
      const { params } = await stream.next();
      texts.push(params.data.text);
      cursors.push(Number(params.cursor.split(".")[1]));
    }
    await emitting;
    expect(texts).toEqual([...Array.from({ length: 30 }, () => "old"), "new"]);
    expect(cursors).toEqual(cursors.toSorted((a, b) => a - b));
    await stream.close();
  });

  test("says that events are missing after the cursor", async () => {
    const ada = await caller();
    const stream = await opened(ada, { ...NOTE, cursor: "zzzzzzzz.7" });
    expect(await stream.next()).toMatchObject({ params: { truncated: true } });
    await stream.close();
  });

  test("says that events are missing, and brings those that are left", async () => {
    limited({ loggedEvents: 2 });
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["one", "two", "three"]) await ada.emit(note(text));
    const stream = await opened(ada, { ...NOTE, cursor });
    expect(await stream.next()).toMatchObject({ params: { cursor, truncated: true } });
    for (const text of ["two", "three"])
      expect(await stream.next()).toMatchObject({ params: { data: { text } } });
    await ada.emit(note("four"));
    expect(await stream.next()).toMatchObject({ params: { data: { text: "four" } } });
    await stream.close();
  });

  test("ends before an event after one that can no longer be opened", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["one", "two"]) await ada.emit(note(text));
    await runInDurableObject(objectFor(ada), (_instance, { storage }) => {
      const first = "(SELECT MIN(seq) FROM events)";
      storage.sql.exec(`UPDATE events SET sealed = zeroblob(64) WHERE seq = ${first}`);
    });
    const stream = await opened(ada, { ...NOTE, cursor });
    expect(await stream.next()).toMatchObject({ params: { cursor, truncated: false } });
    expect(await stream.next()).toMatchObject({ result: {} });
    const again = await opened(ada, { ...NOTE, cursor });
    expect(await again.next()).toMatchObject({ params: { cursor, truncated: true } });
    expect(await again.next()).toMatchObject({ params: { data: { text: "two" } } });
    await again.close();
  });

  test("brings events for everyone as they are emitted", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name)) as [Caller, Caller];
    const stream = await opened(bob, { name: "news" });
    await stream.next();
    for (const text of ["one", "two"])
      await ada.emit({ name: "news", data: { text }, to: "everyone" });
    expect(await stream.next()).toMatchObject({ params: { data: { text: "one" } } });
    expect(await stream.next()).toMatchObject({ params: { data: { text: "two" } } });
    await stream.close();
  });

  test("beats as data, with the cursor, in less than 30 seconds", async () => {
    const ada = await caller();
    const { limits } = await import("../../../src/server/features/events/limits.ts");
    expect(limits.heartbeatMs).toBeLessThanOrEqual(30_000);
    limited({ heartbeatMs: 5 });
    const stream = await opened(ada, NOTE);
    const { params } = await stream.next();
    expect(await stream.next()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/events/heartbeat",
      params: { cursor: params.cursor, _meta: { [ID]: 1 } },
    });
    await stream.close();
  });

  test("has no comments", async () => {
    limited({ heartbeatMs: 5, eventStreamMs: 50 });
    const ada = await caller();
    const { body, headers } = modern("events/stream", NOTE);
    const response = await post(body, { ...headers, ...ada.sent.headers }, ada.sent.server!);
    const text = await response.text();
    expect(text.split("\n").filter((line) => line.startsWith(":"))).toEqual([]);
    const messages = text.split("\n\n").filter((one) => one !== "");
    expect(JSON.parse(messages.at(-1)!.replace(/^[^]*data: /, ""))).toEqual({
      jsonrpc: "2.0",
      id: 1,
      result: { resultType: "complete", _meta: { [ID]: 1 } },
    });
  });

  test("of too many for one caller is refused, until another ends", async () => {
    limited({ eventStreams: 2 });
    const ada = await caller();
    const open = [await opened(ada, NOTE), await opened(ada, NOTE)];
    for (const one of open) await one.next();
    const { error } = await ada.send("events/stream", NOTE);
    expect(error).toMatchObject({ code: -32013, data: { limit: "streams", max: 2 } });
    await open[0]!.close();
    await vi.waitFor(async () => {
      const next = await opened(ada, NOTE);
      expect(next.response.headers.get("content-type")).toBe("text/event-stream");
      await next.close();
    });
    await open[1]!.close();
  });

  test.each<[what: string, params: object, code: number]>([
    ["an event that there is not", { name: "note.edited" }, -32011],
    ["arguments that do not fit", { ...NOTE, arguments: { x: 1 } }, -32602],
  ])("of %s is an error instead of a stream", async (_what, params, code) => {
    const ada = await caller();
    const { response } = await opened(ada, params);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ id: 1, error: { code } });
  });

  test("of a caller that has stored too much is refused as a poll is", async () => {
    limited({ keptPerDay: 0 });
    const ada = await caller();
    const { error } = await ada.send("events/poll", NOTE);
    expect(error?.message).toMatch(/Too many stored/);
    expect((await ada.send("events/stream", NOTE)).error).toEqual(error);
  });

  test("is refused to a client that takes no stream", async () => {
    const ada = await caller();
    const { response } = await opened(ada, NOTE, { accept: "application/json" });
    const message = expect.stringContaining("Accept");
    expect(await response.json()).toMatchObject({ error: { message } });
    expect(response.status).toBe(406);
  });

  test("whose object is gone ends, and the next goes on from its cursor", async () => {
    const ada = await caller();
    const stream = await opened(ada, NOTE);
    const { params } = await stream.next();
    const ended = stream.next().catch(() => undefined);
    await runInDurableObject(objectFor(ada), (_instance, state) => state.abort("gone")).catch(
      () => {},
    );
    await ada.emit(note("one"));
    const again = await opened(ada, { ...NOTE, cursor: params.cursor });
    onTestFinished(() => again.close());
    expect(await again.next()).toMatchObject({ params: { truncated: false } });
    expect(await again.next()).toMatchObject({ params: { data: { text: "one" } } });
    await Promise.race([ended, stream.close()]);
  });

  test("that is too far behind ends, so that its client is told what is missing", async () => {
    const ada = await caller();
    limited({ listenBacklogBytes: 1000 } as never);
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (let nth = 0; nth < 3; nth++)
      await ada.emit({ name: "note.added", data: { topic: `${nth}` }, length: 60_000 });
    const stream = await opened(ada, { ...NOTE, cursor });
    const seen: string[] = [];
    let last = cursor;
    for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
      if (one.method !== "notifications/events/event") continue;
      seen.push(one.params.data.topic);
      last = one.params.cursor;
    }
    const page = await ada.ask("events/poll", { ...NOTE, cursor: last });
    expect([...seen, ...page.events.map(({ data }: any) => data.topic)]).toEqual(["0", "1", "2"]);
  });
});
