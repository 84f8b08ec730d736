import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { hexDigest } from "../../../src/server/kernel/core/digest.ts";
import { newAddress } from "../../worker/calls/client.ts";
import { answerOf, modern, post, postTo } from "../../worker/server.ts";
import {
  callerOf,
  newCaller,
  note,
  NOTE,
  prepareEvents,
  webhook,
  type Caller,
} from "./subscribers.ts";

/** Who may hear what: anonymous callers, profiles, and callers that are forgotten. */
const own = prepareEvents();

describe("an anonymous caller", () => {
  const server = createApp(new Kernel(bundle, { ...env, LINKS: "off" }));
  const at = (address: string) => {
    const one = callerOf(server, "");
    const headers = { "cf-connecting-ip": address };
    const ask = (method: string, params: object = {}) => one.ask(method, params, { headers });
    return { ask };
  };

  test("hears its own events, and those of no other network", async () => {
    const [here, there] = [at(newAddress()), at(newAddress())];
    const cursors = [await here.ask("events/poll", NOTE), await there.ask("events/poll", NOTE)];
    await here.ask("tools/call", { name: "emit", arguments: note("mine") });
    const page = await here.ask("events/poll", { ...NOTE, cursor: cursors[0].cursor });
    expect(page.events).toMatchObject([{ data: { text: "mine" } }]);
    const other = await there.ask("events/poll", { ...NOTE, cursor: cursors[1].cursor });
    expect(other.events).toEqual([]);
  });

  test("whose network is unknown has events, too, as on a machine of one's own", async () => {
    const ask = async (method: string, params: Record<string, unknown>) => {
      const { body, headers } = modern(method, params);
      return (await answerOf(await post(body, headers, server))).result!;
    };
    const { cursor } = await ask("events/poll", NOTE);
    await ask("tools/call", { name: "emit", arguments: note("here") });
    const { events } = await ask("events/poll", { ...NOTE, cursor });
    expect(events.at(-1)).toMatchObject({ data: { text: "here" } });
  });
});

describe("at the endpoint of a profile", () => {
  const profiles = {
    all: { servlets: ["emitting"] },
    some: { tools: ["emitting:emit"], resources: ["emitting:news"] },
    none: { servlets: ["hello"] },
  };
  const name = newCaller();

  async function asked(profile: string, method: string, params: Record<string, unknown> = {}) {
    const API_KEYS = JSON.stringify({ [name]: await hexDigest(name) });
    const server = createApp(
      new Kernel({ ...bundle, profiles }, { ...env, LINKS: "off", API_KEYS } as typeof env),
    );
    const { body, headers } = modern(method, params);
    const authorization = `Bearer ${name}`;
    const url = `http://localhost:8787/mcp/${profile}`;
    return answerOf(await postTo(server, url, body, { ...headers, authorization }));
  }

  test.each([
    ["all", ["news", "note.added"]],
    ["some", ["news"]],
  ])("%s has the events that the profile has, and the tool that waits", async (profile, names) => {
    const { result } = await asked(profile, "events/list");
    expect(result!["events"].map((one: any) => one.name)).toEqual(names);
    const { result: listed } = await asked(profile, "tools/list");
    expect(listed!["tools"].map((one: any) => one.name)).toContain("wait_for_event");
    const { result: resources } = await asked(profile, "resources/list");
    expect(new Set(resources!["resources"].map((one: any) => one.uri))).toEqual(
      new Set(names.map((one) => `event://emitting/${one}`)),
    );
  });

  test("an event that is not in the profile is none", async () => {
    const { error } = await asked("some", "events/poll", NOTE);
    expect(error).toMatchObject({ code: -32011, data: { kind: "event" } });
  });

  test("a profile without events declares none", async () => {
    const { result } = await asked("none", "server/discover");
    expect(result!["capabilities"]).not.toHaveProperty("events");
    const { result: listed } = await asked("none", "tools/list");
    expect(listed!["tools"].map((one: any) => one.name)).not.toContain("wait_for_event");
    expect((await asked("none", "events/list")).result!["events"]).toEqual([]);
  });

  test("a subscription is another than that at the whole server", async () => {
    const url = own.receivers.add();
    const params = webhook(url);
    const whole = await asked("all", "events/subscribe", params);
    const { error } = await asked("some", "events/unsubscribe", params);
    expect(error).toMatchObject({ code: -32011, data: { kind: "subscription" } });
    expect((await asked("all", "events/unsubscribe", params)).error).toBeUndefined();
    expect(whole.result).toHaveProperty("id");
  });
});

test("a caller that is forgotten has no events and no subscriptions any more", async () => {
  const name = newCaller();
  const API_KEYS = JSON.stringify({ [name]: await hexDigest(name) });
  const kernel = new Kernel(bundle, { ...env, LINKS: "off", API_KEYS } as typeof env);
  const ada: Caller = callerOf(createApp(kernel), name);
  const url = own.receivers.add();
  const params = webhook(url);
  await ada.ask("events/subscribe", params);
  await ada.emit(note("one"));
  await expect.poll(() => own.receivers.events(url).length).toBe(1);
  await kernel.forgetCaller(name);
  expect((await ada.send("events/unsubscribe", params)).error?.code).toBe(-32011);
  const { contents } = await ada.ask("resources/read", { uri: "event://emitting/note.added" });
  expect(JSON.parse(contents[0].text)).toBeNull();
});
