// @module-tag people
// @module-tag console
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { browser } from "../../worker/pages/browser.ts";
import { EVERYONE } from "../../../src/server/features/events/events-object.ts";
import {
  caller,
  callerOf,
  limited,
  newCaller,
  note,
  prepareEvents,
  ring,
  serverFor,
  webhook,
} from "./subscribers.ts";

/** The page Subscriptions of the console. */
const own = prepareEvents();

const PATH = "/console/subscriptions";

async function visited(scopes: string[] = []) {
  const names = [newCaller(), newCaller()];
  const operators = scopes.length > 0 ? { [names[0]!]: ["emitting:*", ...scopes] } : {};
  const variables = { LINKS: "on", ASSETS: env.ASSETS };
  const server = await serverFor(names, { variables, scopes: operators });
  const [ada, bob] = names.map((name) => callerOf(server, name));
  const person = browser(server);
  await person.send(`/sign-in?back=${PATH}`, { credential: ada!.name });
  return { ada: ada!, bob: bob!, person };
}

describe("the page Subscriptions", () => {
  test("shows a caller's own, with the receiver's host and last error, and no secret", async () => {
    const { ada, bob, person } = await visited();
    expect((await person.fetch(PATH)).text).toContain("You have no subscriptions");
    const url = `${own.receivers.add()}?token=sesame-7f`;
    const params = webhook(url);
    await ada.ask("events/subscribe", params);
    await bob.ask("events/subscribe", webhook(own.receivers.add()));
    own.receivers.change(url, () => new Response("a text of the receiver", { status: 500 }));
    await ada.emit(note("one"));
    await expect.poll(() => own.receivers.events(url)).toHaveLength(1);
    await ring(ada);
    const { text, html, status } = await person.fetch(PATH);
    expect(status).toBe(200);
    expect(text).toContain(new URL(url).host);
    expect(text).toMatch(/note\.added active 1 waiting .*http_5xx/);
    expect(html.match(/<tr>/g)).toHaveLength(2);
    for (const secret of ["sesame-7f", params["delivery"].secret, "a text of the receiver"])
      expect(html).not.toContain(secret);
    expect(text).not.toContain("On this server");
  });

  test("ends a subscription of its own caller alone", async () => {
    const { ada, bob, person } = await visited();
    const [hers, his] = [own.receivers.add(), own.receivers.add()];
    const { id } = await bob.ask("events/subscribe", webhook(his));
    await ada.ask("events/subscribe", webhook(hers));
    const { hidden } = await person.fetch(PATH);
    await person.send(PATH, { ...hidden, id });
    await bob.emit(note("still"));
    await expect.poll(() => own.receivers.events(his)).toHaveLength(1);
    await person.send(PATH, { ...hidden, token: "forged" });
    expect((await person.fetch(PATH)).text).toContain(new URL(hers).host);
    await person.send(PATH, hidden);
    expect((await person.fetch(PATH)).text).toContain("You have no subscriptions");
    await ada.emit(note("gone"));
    await ring(ada);
    expect(own.receivers.events(hers)).toEqual([]);
  });

  test("tells operators how many there are", async () => {
    const { ada, person } = await visited(["operator"]);
    await ada.ask("events/subscribe", webhook(own.receivers.add()));
    await expect
      .poll(async () => (await person.fetch(PATH)).text)
      .toMatch(/On this server: [1-9]\d* subscriptions of [1-9]\d* callers, \d+ of them suspended/);
  });

  test("counts a subscription that was suspended meanwhile", async () => {
    limited({ suspensionAttempts: 1 });
    const ada = await caller();
    const url = own.receivers.add();
    await ada.ask("events/subscribe", webhook(url));
    own.receivers.change(url, () => new Response(null, { status: 500 }));
    const everyone = env.EVENTS!.getByName(EVERYONE);
    const { suspended } = await everyone.counts();
    await ada.emit(note("one"));
    await expect.poll(async () => (await everyone.counts()).suspended).toBe(suspended + 1);
  });

  test("is not shown to those who have not signed in", async () => {
    const { person } = await visited();
    const other = browser(await serverFor([newCaller()], { variables: { LINKS: "on" } }));
    const { response } = await other.fetch(PATH);
    expect(response.status).toBe(303);
    expect((await person.fetch("/")).html).toContain(PATH);
  });
});
