import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { EVERYONE } from "../../../src/server/features/events/events-object.ts";
import { Alarm } from "../../../src/server/kernel/storage/alarm.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { SubscriptionStore } from "../../../src/server/features/events/subscription-store.ts";
import {
  accepting,
  caller,
  callerOf,
  clock,
  newCaller,
  note,
  NOTE,
  objectFor,
  prepareEvents,
  ring,
  serverFor,
  webhook,
  type Caller,
} from "./subscribers.ts";

/** Objects that die between what they store and what they send. */
const own = prepareEvents();

const everyone = () => env.EVENTS!.getByName(EVERYONE);

const die = async (of: DurableObjectStub) => {
  await runInDurableObject(of as never, (_instance: unknown, state: DurableObjectState) =>
    state.abort("gone"),
  ).catch(() => {});
};

describe("an object that dies", () => {
  test("after it has stored an event delivers it when it is back", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    await ada.ask("events/subscribe", webhook(url));
    // Its alarm does nothing until it is dead.
    const due = vi.spyOn(SubscriptionStore.prototype, "due").mockReturnValue([]);
    await ada.emit(note("one"));
    await die(objectFor(ada));
    due.mockRestore();
    await ring(ada);
    await expect.poll(() => own.receivers.events(url)).toMatchObject([{ data: { text: "one" } }]);
  });

  test("before it has set its alarm has stored no event", async () => {
    const ada = await caller();
    await ada.ask("events/subscribe", webhook(own.receivers.add()));
    let state: DurableObjectState | undefined;
    await runInDurableObject(objectFor(ada), (_instance, given) => {
      state = given;
    });
    vi.spyOn(Alarm.prototype, "set").mockImplementationOnce(async () => state!.abort("gone"));
    const event = { type: "emitting note.added", id: "one", data: note("one").data };
    const died = objectFor(ada).append(event, ada.name);
    expect(await died.then(String, String)).toBe("Error: gone");
    await runInDurableObject(objectFor(ada), (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT id FROM events").toArray()).toEqual([]);
    });
  });

  test("before it has recorded a delivery makes it again, under the same id", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    await ada.ask("events/subscribe", webhook(url));
    const end = vi.spyOn(SubscriptionStore.prototype, "end").mockImplementation(() => {
      throw new Error("nothing is recorded any more");
    });
    await ada.emit(note("one"));
    await expect.poll(() => own.receivers.events(url).length).toBe(1);
    await expect.poll(() => end.mock.results.length).toBe(1);
    await die(objectFor(ada));
    end.mockRestore();
    clock.aheadMs += 31_000;
    await ring(ada);
    const ids = own.receivers.events(url).map(({ eventId }) => eventId);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
    await ring(ada);
    expect(own.receivers.events(url)).toHaveLength(2);
  });

  test("keeps its subscriptions, verifications and attempts", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    const params = webhook(url);
    const { id } = await ada.ask("events/subscribe", params);
    own.receivers.change(url, () => new Response(null, { status: 500 }));
    await ada.emit(note("one"));
    await expect.poll(() => own.receivers.events(url)).toHaveLength(1);
    await ring(ada);
    await die(objectFor(ada));
    clock.aheadMs += 5000;
    await ring(ada);
    expect(own.receivers.events(url)).toHaveLength(1);
    own.receivers.change(url, accepting);
    clock.aheadMs += 6000;
    await ring(ada);
    expect(own.receivers.events(url)).toHaveLength(2);
    const again = await ada.ask("events/subscribe", params);
    expect(again.id).toBe(id);
    expect(own.receivers.of(url)).toHaveLength(3);
  });

  test("ends a subscription while the keys are away", async () => {
    const ada = await caller();
    const params = webhook(own.receivers.add());
    await ada.ask("events/subscribe", params);
    await die(objectFor(ada));
    vi.spyOn(Sealer.prototype, "open").mockRejectedValue(new Error("away"));
    expect(await ada.ask("events/unsubscribe", params)).toMatchObject({});
    expect((await ada.send("events/unsubscribe", params)).error?.code).toBe(-32011);
  });

  test("keeps its events and their cursors", async () => {
    const ada = await caller();
    const { cursor } = await ada.ask("events/poll", NOTE);
    await ada.emit(note("one"));
    await die(objectFor(ada));
    await ada.emit(note("two"));
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(page.events.map(({ data }: any) => data.text)).toEqual(["one", "two"]);
    expect(page.truncated).toBe(false);
  });

  test("that is to be woken for everyone's events is woken later", async () => {
    const names = [newCaller(), newCaller()];
    const server = await serverFor(names);
    const [ada, bob] = names.map((name) => callerOf(server, name)) as [Caller, Caller];
    const url = own.receivers.add();
    await bob.ask("events/subscribe", webhook(url, { name: "news" }));
    await ada.emit({ name: "news", data: { text: "one" }, to: "everyone" });
    await die(everyone());
    await runDurableObjectAlarm(everyone());
    await expect.poll(() => own.receivers.events(url)).toMatchObject([{ data: { text: "one" } }]);
    await die(objectFor(bob));
    await ada.emit({ name: "news", data: { text: "two" }, to: "everyone" });
    await expect.poll(() => own.receivers.events(url)).toHaveLength(2);
  });

  test("over and over loses nothing and delivers nothing out of reach", async () => {
    const ada = await caller();
    const url = own.receivers.add();
    const { cursor } = await ada.ask("events/subscribe", webhook(url));
    for (let nth = 0; nth < 20; nth++) {
      await ada.emit({ ...note(`${nth}`), id: `event-${nth}` });
      if (nth % 3 === 0) await die(objectFor(ada));
    }
    await expect
      .poll(async () => {
        await ring(ada);
        return new Set(own.receivers.events(url).map(({ eventId }) => eventId)).size;
      })
      .toBe(20);
    const page = await ada.ask("events/poll", { ...NOTE, cursor });
    expect(page.events.map(({ data }: any) => data.text)).toEqual(
      Array.from({ length: 20 }, (_, nth) => `${nth}`),
    );
  });
});
