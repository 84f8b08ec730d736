/// <reference types="@cloudflare/vitest-plugin/types" />
import { eventsEndpoint } from "../../../src/server/features/console/live-endpoint.ts";
import type { PersonPage } from "../../../src/server/features/people/view.ts";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import type { Dimension } from "../../../src/server/kernel/observe/counted.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { ABLE, newAddress, prepare, send, TASKS, type Json } from "../../worker/calls/client.ts";
import { ELICIT, NIGHT, saidIn, steps } from "../../worker/calls/plans.ts";
import { browser } from "../../worker/pages/browser.ts";
import { eventually } from "../../worker/waiting.ts";

/** The list of a person's calls in the console, and the page of each. */
prepare();

const NAMES = ["ada", "bob", "cleo", "dora", "eve", "fay", "mallory", "wanda"].map(
  (name) => `${name}-live`,
);
const [ADA = "", BOB = "", CLEO = "", DORA = "", EVE = "", FAY = "", MALLORY = "", WANDA = ""] =
  NAMES;
const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await hashed(NAMES) }));

const objectOf = (name: string) => env.PROFILES!.getByName(name);

/** A person who has signed in at the list. */
async function person(name: string) {
  const one = browser(server);
  await one.send("/console/live", { credential: name });
  return one;
}

/** Something that a person's client, which has tasks, calls. */
const callOf = async (name: string, tool: string, args: Json, capabilities: object = ABLE) => {
  const headers = { authorization: `Bearer ${name}`, "cf-connecting-ip": newAddress() };
  const sent = { server, capabilities: { ...capabilities, ...TASKS }, headers };
  const call = await send("tools/call", { name: tool, arguments: args }, sent);
  expect(call.error).toBeUndefined();
  const { taskId } = call.result!;
  const task = async () => (await send("tasks/get", { taskId }, sent)).result!;
  return { taskId: taskId as string, task };
};

const planned = (name: string, ...plan: Json[]) => callOf(name, "plan_always", steps(...plan));

/** The list as this person sees it, once it has this text. */
const listWith = async (one: Awaited<ReturnType<typeof person>>, text: string) =>
  eventually(async () => {
    const page = await one.fetch("/console/live");
    expect(page.text).toContain(text);
    return page;
  });

describe("the list", () => {
  test("shows a call that waits, then is in progress, then has ended, to its caller alone", async () => {
    const { taskId, task } = await planned(ADA, ELICIT, NIGHT);
    const [ada, bob] = [await person(ADA), await person(BOB)];
    const { html } = await listWith(ada, "Needs an answer");
    expect(html).toContain(`href="/console/live/${taskId}"`);
    expect((await bob.fetch("/console/live")).html).not.toContain(taskId);
    expect((await bob.fetch(`/console/live/${taskId}`)).status).toBe(404);
    const answered = await ada.answer(`/ask/${taskId}`, { f0: "Ada" });
    expect(answered.text).toContain("Thank you");
    await listWith(ada, "Sleeping");
    const { hidden } = await ada.fetch(`/console/live/${taskId}`);
    const cancelled = await ada.send(`/console/live/${taskId}`, { ...hidden, do: "cancel" });
    expect(cancelled.text).toContain("The call was cancelled");
    expect(await task()).toMatchObject({ status: "cancelled" });
    await listWith(ada, "Cancelled");
  });

  test("is filtered by words and state, also without script", async () => {
    const { taskId } = await planned(FAY, { ...ELICIT, message: "May the zebra go?" });
    const fay = await person(FAY);
    await listWith(fay, "May the zebra go?");
    const has = async (search: string) =>
      (await fay.fetch(`/console/live?${search}`)).html.includes(`data-id="${taskId}"`);
    expect(await has("text=ZEBRA+plan_always+steps")).toBe(true);
    expect(await has("text=zebra&state=waiting")).toBe(true);
    expect(await has("text=zebras")).toBe(false);
    expect(await has("state=ended")).toBe(false);
    const odd = await fay.fetch(`/console/live?text=${"%3Cb%3E".repeat(5000)}&state=%3Cb%3E`);
    expect(odd.status).toBe(200);
    expect(odd.html).not.toContain("<b>");
  });

  test("asks who has not signed in, and leads back", async () => {
    const one = browser(server);
    const page = await one.fetch("/console/live");
    expect(page.text).toContain("API key");
    expect(page.text).not.toContain("Waiting for you");
    const back = await one.send("/console/live", { credential: ADA });
    expect(back.text).toContain("Waiting for you");
  });

  test("is not there for somebody whom nobody can tell from others", async () => {
    const open = createApp(new Kernel(bundle, { ...env, AUTH: "none" }));
    const page = await browser(open).fetch("/console/live");
    expect(page.status).toBe(403);
    expect(page.text).toContain("requires no authentication");
    expect(page.text).toMatch(/npm run passphrase .* npm run keys .* npm run dev/);
    const events = await browser(open).fetch("/console/live-events");
    expect(events.status).toBe(401);
  });

  test("keeps the newest calls, and drops those first that have ended", async () => {
    const object = objectOf("many");
    const now = Date.now();
    const call = (id: string, updated: number, status: string) => {
      const times = { created: updated, updated, until: now + 60_000 };
      return object.list("many", { id, kind: "call", name: id, status, ...times });
    };
    await call("waits", now - 5000, "input_required");
    await call("over", now - 1000, "completed");
    for (let nth = 1; nth < limits.listedCalls; nth++)
      await call(`c${nth}`, now - 4000 + nth, "working");
    const ids = (await object.listed("many")).map(({ id }) => id);
    expect(ids.length).toBe(limits.listedCalls);
    expect(ids).toContain("waits");
    expect(ids).not.toContain("over");
  });

  test("what has ended stays so, whatever comes later", async () => {
    const object = objectOf("late");
    const now = Date.now();
    const call = (status: string, updated: number) => {
      const times = { created: now, updated, until: now + 60_000 };
      return object.list("late", { id: "one", kind: "call", name: "one", status, ...times });
    };
    await call("completed", now + 10);
    await call("working", now + 20);
    await call("working", now);
    expect(await object.listed("late")).toMatchObject([{ status: "completed" }]);
  });

  test("is put right by who opens a call whose object died before it could tell of its end", async () => {
    const { taskId, task } = await planned(DORA);
    await eventually(async () => expect(await task()).toMatchObject({ status: "completed" }));
    const dora = await person(DORA);
    await listWith(dora, "Succeeded");
    const object = objectOf(DORA);
    const listed = (await object.listed(DORA)).find(({ id }) => id === taskId);
    await object.unlist(taskId);
    await object.list(DORA, { ...listed!, status: "working", updated: listed!.created });
    const tasks = env.TASKS!;
    await evictDurableObject(tasks.get(tasks.idFromString(taskId)));
    await dora.fetch(`/console/live/${taskId}`);
    await eventually(async () =>
      expect((await object.listed(DORA)).find(({ id }) => id === taskId)).toMatchObject({
        status: "completed",
      }),
    );
  });

  test("is sealed: names and questions are not in storage in the clear", async () => {
    await planned(EVE, { ...ELICIT, message: "xyzzy-question" });
    const eve = await person(EVE);
    await listWith(eve, "xyzzy-question");
    const stored = await runInDurableObject(objectOf(EVE), (_one, { storage }) =>
      storage.sql.exec("SELECT * FROM listed").toArray(),
    );
    const text = stored
      .map((row) => new TextDecoder("latin1").decode(row["sealed"] as ArrayBuffer))
      .join();
    expect(stored.length).toBe(1);
    expect(text).not.toMatch(/xyzzy|plan_always/);
  });
});

test("who is forgotten has no calls any more: those that waited are gone, with their journals", async () => {
  const { taskId, task } = await planned(BOB, ELICIT);
  const bob = await person(BOB);
  await listWith(bob, "Needs an answer");
  const { hidden } = await bob.fetch("/account");
  const asked = await bob.send("/account", { ...hidden, do: "forget-me" });
  const done = await bob.send("/account", { ...asked.hidden, do: "forget-all" });
  expect(done.text).toContain("You are forgotten");
  expect(await task()).toBeUndefined();
  const again = await person(BOB);
  expect((await again.fetch("/console/live")).html).not.toContain(taskId);
  expect((await again.fetch(`/console/live/${taskId}`)).status).toBe(404);
});

test("Usage counts calls while they wait, by servlet, tool and caller", async () => {
  const waiting = async (by: Dimension, name: string) => {
    const { named } = await usageOf(env)!().report("hour", by);
    return named.find((one) => one.name === name)?.waiting ?? 0;
  };
  const { taskId } = await planned(WANDA, ELICIT, NIGHT);
  const { task: ended } = await planned(WANDA, ELICIT);
  await eventually(async () => expect(await waiting("caller", WANDA)).toBe(2));
  expect(await waiting("servlet", "durable")).toBeGreaterThan(1);
  expect(await waiting("tool", "plan_always")).toBeGreaterThan(1);
  const wanda = await person(WANDA);
  const { html } = await wanda.fetch("/console/live");
  const [other = ""] = /[0-9a-f]{64}/.exec(html.replaceAll(taskId, "")) ?? [];
  await wanda.answer(`/ask/${other}`, { f0: "Wanda" });
  await eventually(async () => expect(await ended()).toMatchObject({ status: "completed" }));
  await eventually(async () => expect(await waiting("caller", WANDA)).toBe(1));
  // One that has been answered and sleeps waits on; one that is forgotten does not.
  await wanda.answer(`/ask/${taskId}`, { f0: "Wanda" });
  await eventually(async () =>
    expect((await wanda.fetch("/console/live")).text).toContain("Sleeping"),
  );
  expect(await waiting("caller", WANDA)).toBe(1);
  const { hidden } = await wanda.fetch("/account");
  const asked = await wanda.send("/account", { ...hidden, do: "forget-me" });
  await wanda.send("/account", { ...asked.hidden, do: "forget-all" });
  await eventually(async () => expect(await waiting("caller", WANDA)).toBe(0));
});

test("an error knows its call, if that ran as a task", async () => {
  const { taskId } = await planned(CLEO, ELICIT, { do: "forever" });
  await (await person(CLEO)).answer(`/ask/${taskId}`, { f0: "Cleo" });
  await eventually(async () => {
    const errors = await usageOf(env)!().errors();
    expect(errors.find((one) => one.task === taskId)).toMatchObject({
      servlet: "durable",
      tool: "plan_always",
      caller: CLEO,
    });
  });
});

describe("events", () => {
  test("tell the whole list, then each call that changes", async () => {
    const { taskId } = await planned(MALLORY, ELICIT);
    const mallory = await person(MALLORY);
    await listWith(mallory, "Needs an answer");
    const headers = { cookie: [...mallory.cookies].map((pair) => pair.join("=")).join("; ") };
    const url = "http://localhost:8787/console/live-events";
    const response = await server.fetch(new Request(url, { headers }));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (part: string) => {
      while (!text.includes(part)) text += (await reader.read()).value ?? "";
    };
    await until(`"id":"${taskId}"`);
    expect(text).toContain("event: all");
    await mallory.answer(`/ask/${taskId}`, { f0: "Mallory" });
    await until('"status":"completed"');
    await reader.cancel();
    const foreign = new Request(url, { headers: { ...headers, origin: "https://evil.example" } });
    expect((await server.fetch(foreign)).status).toBe(403);
  });
});

test("events end when the credentials of their reader do", async () => {
  const ada = { principal: { name: "ada" }, nonce: "" };
  let isRevoked = false;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const page = {
    person: ada,
    people: { of: async () => (isRevoked ? undefined : ada) },
    persons: { at: async () => readable },
  } as unknown as PersonPage;
  const request = new Request("http://localhost:8787/console/live-events");
  const reader = (await eventsEndpoint(request, page)).body!.getReader();
  const writer = writable.getWriter();
  const tell = () => void writer.write(new Uint8Array([58, 10])).catch(() => {});
  tell();
  expect((await reader.read()).done).toBe(false);
  isRevoked = true;
  tell();
  expect((await reader.read()).done).toBe(true);
});

describe("the page of a call", () => {
  test("has its timeline: what was asked, how often it ran, and its result; no configuration", async () => {
    const { taskId, task } = await planned(ADA, { do: "config" }, ELICIT);
    const ada = await person(ADA);
    await ada.answer(`/ask/${taskId}`, { f0: "Ada" });
    await eventually(async () => expect(await task()).toMatchObject({ status: "completed" }));
    const { text } = await ada.fetch(`/console/live/${taskId}`);
    expect(text).toMatch(/Read its setting \S+ Its answer is not shown: it may be a secret/);
    expect(text).toMatch(/Asked you: Who\? – you answered The answer .*Ada/);
    expect(text).toContain("Succeeded");
    expect(text).not.toContain("ran again");
    expect(text).toContain('"Ada"');
  });

  test("says how long a sleep was, where a run was stopped, and how a request came out", async () => {
    const fetched = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async () => new Response("xyzzy-body", { status: 201 }));
    const post = { do: "http", method: "POST", url: "https://world.example/pay?key=xyzzy" };
    const { taskId } = await planned(ADA, { do: "sleep", ms: 1500 }, post, ELICIT);
    const ada = await person(ADA);
    const path = `/console/live/${taskId}`;
    await eventually(async () => expect((await ada.fetch(path)).text).toContain("Asks you: Who?"));
    const { text } = await ada.fetch(path);
    expect(text).toMatch(/Slept 1\.5 s .* 1\.5 s .*POST world\.example 201 .*Asks you: Who\?/);
    expect(text).not.toContain("Stopped here");
    const { html } = await ada.fetch(path);
    expect(html).not.toContain("xyzzy-body");
    expect(html.slice(html.indexOf('id="timeline"'))).not.toContain("xyzzy");
    const tasks = env.TASKS!;
    await runInDurableObject(tasks.get(tasks.idFromString(taskId)), (_one, { storage }) => {
      for (const what of ["run", "run", "input_required"])
        storage.sql.exec("INSERT INTO history VALUES (?, ?)", Date.now(), what);
    });
    expect((await ada.fetch(path)).text).toContain("Stopped here by the server, and ran again");
    fetched.mockRestore();
  });

  test("says first why a call has failed, and then what to do; the list says it, too", async () => {
    const { taskId, task } = await planned(CLEO, { do: "fail", message: "xyzzy is closed" });
    await eventually(async () => expect(await task()).toMatchObject({ status: "completed" }));
    const cleo = await person(CLEO);
    const { text } = await cleo.fetch(`/console/live/${taskId}`);
    expect(text).toMatch(
      /Failed .*The tool could not do it, and says why\. xyzzy is closed Change/,
    );
    const failed = await cleo.fetch("/console/live?state=failed");
    expect(failed.text).toContain("xyzzy is closed");
    expect(failed.html).toContain(taskId);
  });

  test("replays up to an entry without doing anything in the world", async () => {
    const fetched = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("ok"));
    const post = { do: "http", method: "POST", url: "https://world.example/pay" };
    const { taskId } = await planned(ADA, { do: "progress", message: "half" }, post, ELICIT);
    const ada = await person(ADA);
    await listWith(ada, "Needs an answer");
    const sent = fetched.mock.calls.length;
    const path = `/console/live/${taskId}`;
    const { hidden } = await ada.fetch(path);
    const before = await ada.send(path, { ...hidden, do: "replay", at: "0" });
    expect(before.text).toMatch(/It would ask for http POST world\.example and wait/);
    expect(before.text).toContain('"half"');
    const after = await ada.send(path, { ...hidden, do: "replay", at: "1" });
    expect(after.text).toMatch(/It would ask you "Who\?" and wait/);
    expect(fetched.mock.calls.length).toBe(sent);
    expect((await ada.send(path, { ...hidden, do: "replay", at: "7" })).text).toContain(
      "The journal of this call is shorter",
    );
    expect((await ada.send(path, { ...hidden, do: "replay", at: "1e9" })).text).not.toContain(
      "It would ask for",
    );
    fetched.mockRestore();
  });

  const INSIDE = steps({ do: "call", calls: [{ tool: "counting-note" }] });

  test.each([
    ["", ADA, { name: "counting-note", arguments: {} }],
    [" that a tool calls", DORA, { name: "plan", arguments: INSIDE }],
  ])("replays and forks a call of a servlet that keeps state%s", async (_what, key, params) => {
    const note = async (text: string) => {
      const headers = { authorization: `Bearer ${key}`, "cf-connecting-ip": newAddress() };
      const { result } = await send("tools/call", params, { server, capabilities: {}, headers });
      const { id } = result!["structuredContent"];
      const reader = await person(key);
      await reader.answer(`/ask/${id}`, { f0: text });
      await eventually(async () =>
        expect((await reader.fetch(`/console/live/${id}`)).text).toContain("Succeeded"),
      );
      return id as string;
    };
    const first = await note("one");
    const reader = await person(key);
    const path = `/console/live/${first}`;
    const { hidden } = await reader.fetch(path);
    const replayed = await reader.send(path, { ...hidden, do: "replay", at: "1" });
    expect(replayed.text).toContain("It would end here with a result");
    const second = await reader.fetch(`/console/live/${await note("two")}`);
    expect(second.text).toContain(`"one two"`);
    // A fork of it is another call: its person is asked again.
    const warned = await reader.send(path, { ...hidden, do: "fork", at: "0" });
    const forked = await reader.send(path, { ...warned.hidden, "fork-now": "0" });
    const { html } = await opened(reader, forked.text, first);
    const id = /href="\/ask\/(\w+)"/.exec(html)?.[1];
    await reader.answer(`/ask/${id}`, { f0: "three" });
    await eventually(async () =>
      expect((await reader.fetch(`/console/live/${id}`)).text).toContain(`"one two three"`),
    );
  });

  test("forks a call that has ended, once its person has read what that does", async () => {
    const { taskId, task } = await planned(ADA, ELICIT);
    const ada = await person(ADA);
    await ada.answer(`/ask/${taskId}`, { f0: "Ada" });
    await eventually(async () => expect(await task()).toMatchObject({ status: "completed" }));
    const path = `/console/live/${taskId}`;
    const { hidden } = await ada.fetch(path);
    const warned = await ada.send(path, { ...hidden, do: "fork", at: "0" });
    expect(warned.text).toContain("requests are sent again");
    const forked = await ada.send(path, { ...warned.hidden, "fork-now": "0" });
    const id = /href="\/ask\/(\w+)"/.exec((await opened(ada, forked.text, taskId)).html)?.[1];
    expect(id).toBeDefined();
    expect(id).not.toBe(taskId);
    await ada.answer(`/ask/${id}`, { f0: "Grace" });
    await eventually(async () => {
      const { text } = await ada.fetch(`/console/live/${id}`);
      expect(text).toContain('"Grace"');
    });
    expect(saidIn({ result: (await task())["result"] })).toEqual(["Ada"]);
  });

  test("forks once, however often the form is sent", async () => {
    const { taskId } = await planned(CLEO, ELICIT);
    const cleo = await person(CLEO);
    const path = `/console/live/${taskId}`;
    const { hidden } = await cleo.fetch(path);
    const warned = await cleo.send(path, { ...hidden, do: "fork", at: "0" });
    const sent = { ...warned.hidden, "fork-now": "0" };
    const init = {
      method: "POST",
      headers: { origin: cleo.origin, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams(sent).toString(),
    };
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const twice = [1, 2].map(() =>
      cleo.fetch(path, { ...init, headers: { ...init.headers, ...type } }),
    );
    const [one, other] = (await Promise.all(twice)).map(({ response }) =>
      response.headers.get("location"),
    );
    expect(one).toMatch(/^\/console\/live\/\w+$/);
    expect(one).not.toBe(path);
    expect(other).toBe(one);
    // The name of the call that it makes is part of what was agreed to.
    const own = { ...sent, as: taskId };
    expect((await cleo.send(path, own)).status).toBe(403);
  });

  test("takes no form of another page, person or site", async () => {
    const { taskId, task } = await planned(ADA, ELICIT);
    const other = await planned(ADA, ELICIT);
    const [ada, bob] = [await person(ADA), await person(BOB)];
    const path = `/console/live/${taskId}`;
    const { hidden } = await ada.fetch(path);
    const ofOther = (await ada.fetch(`/console/live/${other.taskId}`)).hidden;
    expect((await ada.send(path, { do: "cancel" })).status).toBe(403);
    expect((await ada.send(path, { ...ofOther, do: "cancel" })).status).toBe(403);
    expect((await bob.send(path, { ...hidden, do: "cancel" })).status).not.toBe(200);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await ada.send(path, { ...hidden, do: "cancel" }, foreign)).status).toBe(403);
    expect(await task()).toMatchObject({ status: "input_required" });
  });
});

/** The page of the newest call of this person that waits and is not this one. */
async function opened(one: Awaited<ReturnType<typeof person>>, text: string, but: string) {
  expect(text).toContain("Timeline");
  return eventually(async () => {
    const list = await one.fetch("/console/live");
    const waiting = list.html.slice(0, list.html.indexOf('id="working"'));
    const id = [...waiting.matchAll(/href="\/console\/live\/(\w+)"/g)]
      .map(([, found]) => found!)
      .find((found) => found !== but)!;
    return one.fetch(`/console/live/${id}`);
  });
}
