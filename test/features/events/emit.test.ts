import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import { servletPrincipal } from "../../../src/server/kernel/core/model.ts";
import { emitFunction } from "../../../src/server/features/events/emit.ts";
import { bundle } from "../../bundle.gen.ts";
import { EVERYONE } from "../../../src/server/features/events/events-object.ts";
import { goOn, ROOTS, send } from "../../worker/calls/client.ts";
import { caller, limited, note, NOTE, objectFor, prepareEvents, type Json } from "./subscribers.ts";

prepareEvents();

describe("a servlet that emits", () => {
  test("gets the event's id, which is its own or random", async () => {
    const ada = await caller();
    const [random] = (await ada.emit(note("a"))).ids;
    expect(random).toMatch(/^[0-9a-f-]{36}$/);
    expect(await ada.emit({ ...note("b"), id: "issue-7" })).toEqual({ ids: ["issue-7"] });
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor: "x" });
    expect(events).toEqual([]);
  });

  test("the same id again emits nothing", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    for (const text of ["first", "again"]) await ada.emit({ ...note(text), id: "issue-8" });
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(events.map(({ data }: any) => data.text)).toEqual(["first"]);
  });

  test("a run that is repeated emits the same event", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    const sent = { ...ada.sent, capabilities: { roots: {} } };
    const params = { name: "emit", arguments: { ...note("once"), isAsking: true } };
    const first = await send("tools/call", params, sent);
    expect(first.result).toMatchObject({ resultType: "input_required" });
    const { requestState: state, inputRequests: requests } = first.result!;
    const [key] = Object.keys(requests);
    const round = { ...first, method: "tools/call", params, sent, state, requests };
    const second = await goOn(round, { [key!]: ROOTS });
    const { ids } = second.result!["structuredContent"];
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(events.map(({ eventId }: any) => eventId)).toEqual(ids);
  });

  test.each<[what: string, args: Json, message: RegExp]>([
    [
      "a name that it does not define",
      { name: "note.aded" },
      /does not define.*Did you mean note\.added\?/,
    ],
    ["a name of every object", { name: "constructor" }, /does not define the event constructor/],
    ["the prototype", { name: "__proto__" }, /does not define/],
    ["data without a required member", { name: "note.added", data: {} }, /`topic` is required/],
    ["data of another type", { name: "note.added", data: { topic: 1 } }, /`topic`/],
    ["members beyond its payload", { name: "note.added", data: { topic: "a", x: 1 } }, /x/],
    [
      "to everyone where it may not",
      { ...note("a"), to: "everyone" },
      /not for everyone.*everyone/,
    ],
    ["to somebody else", { ...note("a"), to: "bob" }, /to must be "everyone"/],
    ["an id with spaces", { ...note("a"), id: "a b" }, /visible ASCII/],
    ["an id that splits a header", { ...note("a"), id: "a\r\nx: y" }, /visible ASCII/],
    ["an empty id", { ...note("a"), id: "" }, /visible ASCII/],
    ["an id that is too long", { ...note("a"), id: "x".repeat(201) }, /200 visible ASCII/],
    ["too much data", { ...note("a"), length: 70_000 }, /bytes \(limit 65536\)/],
  ])("is told why it may not emit %s", async (_what, args, message) => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    const { ids, error } = await ada.emit(args);
    expect(ids).toEqual([]);
    expect(error).toMatch(message);
    expect((await ada.ask("events/poll", { ...NOTE, cursor })).events).toEqual([]);
  });

  test("takes data up to the limit", async () => {
    const ada = await caller();
    const rest = JSON.stringify({ topic: "a", text: "" }).length;
    const most = { name: "note.added", data: { topic: "a" }, length: 65_536 - rest };
    expect((await ada.emit(most)).error).toBeUndefined();
    expect((await ada.emit({ ...most, length: most.length + 1 })).error).toMatch(/limit 65536/);
  });

  test("ten thousand times in one call emits as many as a call may", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    const { ids, error } = await ada.emit({ ...note("much"), times: 10_000 });
    expect(ids).toHaveLength(100);
    expect(error).toMatch(/too many events \(limit 100\)/);
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(events).toHaveLength(100);
  });

  test("in call after call emits as many as a minute may have", async () => {
    limited({ eventsPerMinute: 5 });
    const ada = await caller();
    const all = [];
    for (let nth = 0; nth < 7; nth++) all.push(await ada.emit(note(`${nth}`)));
    expect(all.filter(({ error }) => error === undefined)).toHaveLength(5);
    expect(all.at(-1)!.error).toMatch(/Too many events \(limit 5 in a minute\)/);
  });

  test("to everyone uses up no other caller's minute", async () => {
    limited({ eventsPerMinute: 3 });
    const [ada, bob] = [await caller(), await caller()];
    const news = { name: "news", data: {}, to: "everyone" };
    expect((await ada.emit({ ...news, times: 5 })).error).toMatch(/limit 3 in a minute/);
    expect((await bob.emit(news)).error).toBeUndefined();
  });

  test("without a caller emits to everyone or not at all", async () => {
    const emit = emitFunction({ events: env.EVENTS!, hubOf: () => undefined });
    const servlet = bundle.servlets.find(({ name }) => name === "emitting")!;
    const call = { principal: servletPrincipal("emitting") } as CallContext;
    const of = { servlet, call, signal: new AbortController().signal };
    await expect(emit({ ...note("a"), id: "a" }, of)).rejects.toMatchObject({
      code: "invalid_params",
      message: expect.stringMatching(/^Nobody would hear.*this run has no caller/),
    });
    const news = { name: "news", data: {}, id: crypto.randomUUID(), to: "everyone" };
    expect(await emit(news, of)).toEqual({ id: news.id });
  });

  test.each([undefined, null, 7, "x", [], {}, { name: "news" }, { ...note("a"), id: "a", x: 1 }])(
    "passes %j, and is told what is wrong",
    async (payload) => {
      const emit = emitFunction({ events: env.EVENTS!, hubOf: () => undefined });
      const servlet = bundle.servlets.find(({ name }) => name === "emitting")!;
      const call = { principal: { name: "ada" } } as CallContext;
      const of = { servlet, call, signal: new AbortController().signal };
      await expect(emit(payload, of)).rejects.toMatchObject({ code: "invalid_params" });
    },
  );

  test("stores nothing in the clear", async () => {
    const { runInDurableObject } = await import("cloudflare:test");
    const ada = await caller();
    await ada.emit(note("a secret text"));
    await ada.emit({ name: "news", data: { text: "a secret text" }, to: "everyone" });
    for (const object of [objectFor(ada), env.EVENTS!.getByName(EVERYONE)])
      await runInDurableObject(object, (_instance, { storage }) => {
        for (const table of ["events", "webhooks"])
          for (const row of storage.sql.exec(`SELECT * FROM ${table}`)) {
            const bytes = Object.values(row).map((value) =>
              value instanceof ArrayBuffer ? new TextDecoder().decode(value) : String(value),
            );
            expect(bytes.join("\n")).not.toContain("secret text");
          }
      });
  });
});
