import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { demandRights } from "../../../src/server/features/events/rights.ts";
import { SubscriptionStore } from "../../../src/server/features/events/subscription-store.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  accepting,
  caller,
  clock,
  limited,
  note,
  prepareEvents,
  ring,
  webhook,
} from "./subscribers.ts";

/** Whether a subscriber may still have what was subscribed to. */
const own = prepareEvents();

const HASH = "a".repeat(64);
const SPEC = { servlet: "emitting", own: "note.added", name: "note.added", arguments: {} };

/** A server whose keys are these. */
const kernelWith = (keys: object, some = bundle) =>
  new Kernel(some, { ...env, LINKS: "off", API_KEYS: JSON.stringify(keys) });

const rightsAt = (kernel: Kernel, principal: object, spec: object = {}) =>
  demandRights(
    { authenticator: kernel.authenticator, registry: () => kernel.registry() },
    { ...SPEC, principal: { name: "ada", ...principal }, ...spec },
  );

describe("a subscriber", () => {
  test("whose key is still there may have its events", async () => {
    const scoped = { ada: { hash: HASH, scopes: ["emitting:*"] } };
    for (const keys of [{ ada: HASH }, scoped])
      expect(await rightsAt(kernelWith(keys), {})).toBeUndefined();
  });

  test.each<[what: string, keys: object, principal: object]>([
    ["whose key is gone", { bob: HASH }, {}],
    ["whose key has fewer scopes", { ada: { hash: HASH, scopes: ["hello:*"] } }, {}],
    [
      "whose key has other scopes than when it subscribed",
      { ada: { hash: HASH, scopes: ["emitting:emit"] } },
      { scopes: ["emitting:note.added"] },
    ],
    ["who had no right to it", { ada: HASH }, { scopes: ["hello:*"] }],
  ])("%s may not", async (_what, keys, principal) => {
    await expect(rightsAt(kernelWith(keys), principal)).rejects.toMatchObject({
      code: "extension_error",
      ownCode: -32_012,
      data: { reason: "access_lost" },
    });
  });

  test("of an event that takes other arguments now is told so", async () => {
    const kernel = kernelWith({ ada: HASH });
    await expect(rightsAt(kernel, {}, { arguments: { author: "a" } })).rejects.toMatchObject({
      ownCode: -32_014,
      data: { reason: "schema_changed" },
    });
  });

  test("of an event that is gone is told so", async () => {
    const kernel = kernelWith({ ada: HASH });
    await expect(rightsAt(kernel, {}, { own: "note.gone" })).rejects.toMatchObject({
      ownCode: -32_011,
      data: { kind: "event" },
    });
    await expect(rightsAt(kernel, {}, { servlet: "gone" })).rejects.toMatchObject({
      ownCode: -32_011,
    });
  });
});

test("deliveries of a subscription wait together while rights cannot be checked", async () => {
  const ada = await caller();
  const url = own.receivers.add();
  await ada.ask("events/subscribe", webhook(url));
  const due = vi.spyOn(SubscriptionStore.prototype, "due").mockReturnValue([]);
  for (const text of ["one", "two", "three"]) await ada.emit(note(text));
  await ring(ada);
  due.mockRestore();
  // The check fails, as at an identity provider that is away.
  limited({ rightsMs: 0 });
  const registry = vi.spyOn(Kernel.prototype, "registry").mockRejectedValue(new Error("away"));
  await ring(ada);
  expect(registry.mock.calls.length).toBe(1);
  registry.mockRestore();
  limited({ rightsMs: 1e12 });
  clock.aheadMs += 31_000;
  await ring(ada);
  expect(own.receivers.events(url).map(({ data }) => data.text)).toEqual(["one", "two", "three"]);
});

describe("a subscription whose owner has lost the right", () => {
  const TOLD = {
    type: "terminated",
    error: {
      code: -32012,
      message: "You may no longer subscribe to the event note.added here.",
      data: { reason: "access_lost" },
    },
  };

  test.each<[what: string, capabilities: object, last: object[]]>([
    [
      "ends, and its receiver is told if its client has the extension",
      { extensions: { "io.modelcontextprotocol/events": {} } },
      [TOLD],
    ],
    ["ends without a word otherwise, as for ChatGPT", {}, []],
  ])("%s", async (_what, capabilities, last) => {
    const ada = await caller();
    const url = own.receivers.add(accepting);
    const params = webhook(url);
    await ada.ask("events/subscribe", params, { capabilities });
    // The Worker with the objects has no keys: to it she is nobody.
    limited({ rightsMs: 60_000 });
    await ada.emit(note("in time"));
    await expect.poll(() => own.receivers.events(url)).toHaveLength(1);
    clock.aheadMs += 61_000;
    await ada.emit(note("too late"));
    await ring(ada);
    expect(own.receivers.events(url)).toHaveLength(1);
    const others = own.receivers.of(url).slice(2);
    expect(others.map(({ body }) => body)).toEqual(last);
    expect((await ada.send("events/unsubscribe", params)).error?.code).toBe(-32011);
  });
});
