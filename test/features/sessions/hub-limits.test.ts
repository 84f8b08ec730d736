import { runInDurableObject } from "cloudflare:test";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hub } from "../../../src/server/features/sessions/hub.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { answerOf, listenerOf } from "../../worker/server.ts";
import { eventually } from "../../worker/waiting.ts";
import {
  anonymous,
  listen,
  open,
  plain,
  prepareHubs,
  request,
} from "../../worker/mcp/hub-client.ts";

prepareHubs();

describe("subscriptions/listen", () => {
  test("is refused where too many are open, until one is closed", async () => {
    const others = await Promise.all(
      Array.from({ length: limits.listenStreams - 1 }, () =>
        anonymous.listen({ ...plain, lifeMs: 600_000 }),
      ),
    );
    const { close } = await listen({ toolsListChanged: true });
    const { status, id, error } = await answerOf(await request({}, { id: 99 }));
    expect({ status, id }).toEqual({ status: 429, id: 99 });
    expect(error?.message).toContain(`(limit ${limits.listenStreams} for one caller`);
    await close();
    const again = await eventually(async () => {
      const response = await request({ toolsListChanged: true });
      if (response.status !== 200) throw new Error(await response.text());
      return response;
    });
    open.push(listenerOf(again));
    await Promise.all(others.map((stream) => stream!.cancel()));
  });

  test("says no more than its opening and its ending where nothing changes", async () => {
    const stream = (await anonymous.listen({ ...plain, lifeMs: 20 }))!;
    expect((await new Response(stream).text()).replaceAll(": waiting\n\n", "")).toBe(
      'event: message\ndata: "hello"\n\nevent: message\ndata: "bye"\n\n',
    );
  });

  describe("keeps filters of a bounded size", () => {
    const LONG = [`test://${"€".repeat(limits.listenFilterCharacters - 100)}`];

    /** How many of them are let in. */
    const opened = async (callers: string[], resourceSubscriptions = LONG) => {
      const wanted = { ...plain, filter: { resourceSubscriptions }, lifeMs: 60_000 };
      const all = await Promise.all(
        callers.map((caller) => anonymous.listen({ ...wanted, caller })),
      );
      const streams = all.filter((stream) => stream !== null);
      await Promise.all(streams.map((stream) => stream.cancel()));
      return streams.length;
    };

    test("of one caller", async () => {
      const most = Math.floor(limits.listenFilterBytes / (2 * limits.listenFilterCharacters));
      const count = await opened(Array.from({ length: limits.listenStreams }, () => "ada"));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });

    test("of one caller, whose URIs are short, but many", async () => {
      const uris = Array.from({ length: 10_000 }, (_, at) => `${at}`);
      const count = await opened(
        Array.from({ length: limits.listenStreams }, () => "ada"),
        uris,
      );
      const most = Math.floor(limits.listenFilterBytes / (uris.length * limits.filterItemBytes));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });

    test("of all, where many callers send the largest that they may", async () => {
      const most = Math.floor(limits.hubFilterBytes / (2 * limits.listenFilterCharacters));
      const count = await opened(Array.from({ length: 400 }, (_, at) => `caller ${at}`));
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(most);
    });
  });

  test("ends streams that nobody reads, whose openings are too much together", async () => {
    const { hubBacklogBytes } = limits;
    configureLimits({ hubBacklogBytes: 10_000 });
    const opening = "x".repeat(4000);
    const isEnded = await runInDurableObject(anonymous, async (hub: Hub) => {
      const streams = [];
      for (let at = 0; at < 3; at++)
        streams.push((await hub.listen({ ...plain, opening, lifeMs: 60_000 }))!);
      const ends = streams.map((stream) => stream.getReader().read());
      return (await Promise.allSettled(ends)).map(({ status }) => status === "rejected");
    });
    configureLimits({ hubBacklogBytes });
    expect(isEnded.filter(Boolean)).toHaveLength(1);
  });

  test("tells a change that is made again and again once in a while, and none too few", async () => {
    const { changesMs } = limits;
    onTestFinished(() => configureLimits({ changesMs }));
    configureLimits({ changesMs: 300 });
    const { next } = await listen({ toolsListChanged: true, resourceSubscriptions: ["test://a"] });
    const TOOLS = { method: "notifications/tools/list_changed" };
    const ended = { method: "notifications/resources/updated", params: { uri: "test://a" } };
    await Promise.all(Array.from({ length: 50 }, () => anonymous.publish([TOOLS])));
    await anonymous.publish([ended]);
    const heard = [];
    do heard.push(await next());
    while (heard.at(-1).method !== ended.method);
    expect(heard.length).toBeGreaterThan(1);
    expect(heard.length).toBeLessThan(40);
    await anonymous.publish([TOOLS]);
    expect(await next()).toMatchObject(TOOLS);
  });

  test("loses updates of resources where more wait than may be sent to all, and no change of a list", async () => {
    const uri = `test://${"x".repeat(2000)}`;
    const { next } = await listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    const TOOLS = { method: "notifications/tools/list_changed" };
    const updated = (one: string) => ({
      method: "notifications/resources/updated",
      params: { uri: one },
    });
    const many = Array.from({ length: 100 }, (_, at) => updated(`test://${at}${"y".repeat(1000)}`));
    await anonymous.publish([updated(uri), ...many, TOOLS]);
    expect(await next()).toMatchObject(updated(uri));
    expect(await next()).toMatchObject(TOOLS);
    await anonymous.publish([...many, updated(uri), TOOLS]);
    expect(await next()).toMatchObject(TOOLS);
  });

  test("is refused under an id that is too long to be kept for others", async () => {
    expect((await listen({}, { id: "x".repeat(limits.idCharacters) })).acknowledged).toBeDefined();
    const response = await request({}, { id: "x".repeat(limits.idCharacters + 1) });
    expect(response.status).toBe(400);
    expect(await answerOf(response)).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining("at most 256 characters") },
    });
  });

  test("ends for who does not read", async () => {
    const filter = { taskIds: ["t"] };
    const stream = (await anonymous.listen({ ...plain, filter, lifeMs: 60_000 }))!;
    const params = { taskId: "t", text: "x".repeat(limits.listenBacklogBytes / 2) };
    for (let at = 0; at < 8; at++)
      await anonymous.publish([{ method: "notifications/tasks", params }]);
    const reader = stream.getReader();
    let bytes = 0;
    for (let read = await reader.read(); !read.done; read = await reader.read())
      bytes += read.value.length;
    expect(bytes).toBeLessThan(2 * limits.listenBacklogBytes);
  });
});
