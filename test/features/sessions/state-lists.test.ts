// @module-tag state
import { describe, expect, test } from "vitest";
import { listenerOf, modern, post } from "../../worker/server.ts";
import {
  as,
  begin,
  goOn,
  keyed,
  newAddress,
  prepare,
  send,
  server,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";
import { resultIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { begin as beginSession, listened } from "../../worker/mcp/legacy/session-steps.ts";

/** Lists of servlets that keep state, and who hears of their changes. */

prepare();
const LIST = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";

/** A new caller: anonymous, from an address of its own. */
const newCaller = (): Sent => ({
  headers: { "cf-connecting-ip": newAddress() },
});

/** Adds a tool; `which` says for whom the servlet's memory lasts. */
const add = (name: string, sent: Sent, which = "growing", tool = "add") =>
  send("tools/call", { name: `${which}-${tool}`, arguments: { name } }, sent);

async function listed(sent: Sent, which = "growing"): Promise<string[]> {
  const { result } = await send("tools/list", {}, sent);
  const names = (result!["tools"] as { name: string }[]).map(({ name }) => name);
  return names.filter((name) => name.startsWith(`${which}-`)).map((name) => name.split("-")[1]!);
}
const OWN = ["add", "add_later", "add_and_trap", "grow"];

/** A stream of a modern client. */
async function listen(sent: Sent, notifications: Json = { toolsListChanged: true }) {
  const { body, headers } = modern("subscriptions/listen", { notifications });
  const response = await post(body, { ...headers, ...sent.headers }, sent.server ?? server);
  const listener = listenerOf(response);
  await listener.next();
  return { ...listener, method: async () => ((await listener.next()) as Json)["method"] };
}

/** The methods that a stream brings until all of these have come: changes for everybody may still come, of other tests. */
async function heardUntil(stream: { message(): Promise<Json> }, ...methods: string[]) {
  const heard = new Set<unknown>();
  while (methods.some((method) => !heard.has(method)))
    heard.add((await stream.message())["method"]);
  return heard;
}

describe("lists", () => {
  test("are those of a session, and of a caller without one", async () => {
    const ada = newCaller();
    const [one, two] = await Promise.all([beginSession(ada), beginSession(ada)]);
    const names = async (client: SessionClient) => {
      const { result } = await resultIn(await client.request("tools/list"));
      const tools = (result as { tools: { name: string }[] }).tools;
      return tools.map(({ name }) => name).filter((name) => name.startsWith("growing_session-new"));
    };
    await resultIn(await one.call("growing_session-add", { name: "new" }));
    expect(await names(one)).toEqual(["growing_session-new"]);
    expect(await names(two)).toEqual([]);
    expect(await listed(ada, "growing_session")).toEqual(OWN);
    const said = await resultIn(await one.call("growing_session-new"));
    expect(said).toMatchObject({ result: { content: [{ text: "new of 1" }] } });
  });
});

describe("a change", () => {
  test("comes to the caller's streams, and to no other anonymous caller's", async () => {
    const [ada, bob] = [newCaller(), newCaller()];
    const uris = { resourceSubscriptions: ["growing:a", "growing:b"] };
    const [adas, bobs] = [await listen(ada), await listen(bob, uris)];
    await add("a", ada);
    expect(await adas.method()).toBe(LIST);
    expect(await listed(ada)).toEqual([...OWN, "a"]);
    await add("b", bob);
    expect(await bobs.next()).toMatchObject({ method: UPDATED, params: { uri: "growing:b" } });
    await Promise.all([adas.close(), bobs.close()]);
  });

  test("that a crash has undone is not told", async () => {
    const ada = newCaller();
    const stream = await listen(ada, { resourceSubscriptions: ["growing:a", "growing:b"] });
    await add("a", ada, "growing", "add_and_trap");
    await add("b", ada);
    expect(await stream.next()).toMatchObject({ params: { uri: "growing:b" } });
    await stream.close();
  });

  test(
    "is told when the call that waits has ended, and not before",
    { tags: ["carried"] },
    async () => {
      const ada = newCaller();
      const stream = await listen(ada, {
        toolsListChanged: true,
        resourceSubscriptions: ["growing:b"],
      });
      const params = { name: "growing-add_later", arguments: { name: "later" } };
      const round = await begin("tools/call", params, ada);
      // It has told the list's change before it asked, which would come first.
      await add("b", ada);
      expect(new Set([await stream.method(), await stream.method()])).toEqual(
        new Set([UPDATED, LIST]),
      );
      expect(await listed(ada)).toEqual([...OWN, "b"]);
      const [key] = Object.keys(round.requests);
      await goOn(round, { [key!]: { action: "accept", content: { text: "yes" } } });
      expect(await stream.method()).toBe(LIST);
      expect(await listed(ada)).toEqual([...OWN, "b", "later"]);
      await stream.close();
    },
  );

  test("comes to the caller's sessions, and to no other anonymous caller's", async () => {
    const [ada, bob] = [newCaller(), newCaller()];
    const [one, two, other] = await Promise.all([ada, ada, bob].map((sent) => beginSession(sent)));
    const streams = await Promise.all([one, two, other].map((client) => listened(client!)));
    await resultIn(await other!.request("resources/subscribe", { uri: "growing:b" }));
    await resultIn(await one!.call("growing-add", { name: "a" }));
    expect(await streams[0]!.message()).toMatchObject({ method: LIST });
    expect(await streams[1]!.message()).toMatchObject({ method: LIST });
    await resultIn(await other!.call("growing-add", { name: "b" }));
    const heard = await heardUntil(streams[2]!, UPDATED, LIST);
    expect(heard).toEqual(new Set([UPDATED, LIST]));
    for (const stream of streams) await stream.drop();
  });

  test("of a session's state comes to that session alone", async () => {
    const ada = newCaller();
    const [one, two] = await Promise.all([beginSession(ada), beginSession(ada)]);
    const streams = await Promise.all([one, two].map((client) => listened(client)));
    for (const client of [one, two]) {
      await resultIn(await client.request("resources/subscribe", { uri: "growing:a" }));
    }
    await resultIn(await one.call("growing_session-add", { name: "a" }));
    await streams[0]!.message();
    await resultIn(await two.request("resources/subscribe", { uri: "growing:b" }));
    await resultIn(await two.call("growing_session-add", { name: "b" }));
    let message = await streams[1]!.message();
    while (message["method"] !== UPDATED) message = await streams[1]!.message();
    expect(message["params"]).toEqual({ uri: "growing:b" });
    for (const stream of streams) await stream.drop();
  });

  test("of the state that all share comes to everybody", async () => {
    const name = crypto.randomUUID();
    const keys = await keyed(name);
    const cleo = { server: keys, ...as(name) };
    const [ada, bob] = [newCaller(), newCaller()];
    const session = await beginSession(bob);
    const streams = [await listen(ada), await listen(cleo)];
    const events = await listened(session);
    const tool = crypto.randomUUID();
    await add(tool, ada, "growing_server");
    for (const stream of streams) expect(await stream.method()).toBe(LIST);
    expect(await events.message()).toMatchObject({ method: LIST });
    expect(await listed(cleo, "growing_server")).toContain(tool.split("-")[0]);
    for (const stream of streams) await stream.close();
    await events.drop();
  });
});
