import { beforeAll, describe, expect, test } from "vitest";
import { steps } from "../../../node/http/official.ts";
import { EventStream, RawSession, type Event } from "../../../node/http/raw.ts";
import { serving } from "../../../node/http/serving.ts";

/** Connections that break off at each event of a call, and a server that is killed, as a raw client sees them. */
const { url: MCP, restart } = await serving();

const VALUE = { action: "accept", content: { value: "seven" } };
const PARIS = { role: "assistant", content: { type: "text", text: "Paris" }, model: "test" };
const ABLE = { elicitation: {}, sampling: {} };

/** The client's answer to this request. */
const answerTo = ({ method }: any) => (method === "sampling/createMessage" ? PARIS : VALUE);

const STEPS = steps(
  { do: "progress", message: "begun" },
  { do: "log", message: "one" },
  { do: "elicit" },
  { do: "log", message: "two" },
  { do: "sample" },
  { do: "log", message: "three" },
);

/** A message without what is random in it. */
const plain = (message: any) => {
  const said = message.result?.structuredContent?.said;
  return said === undefined ? message : { ...message, result: { said } };
};

/**
 * Makes a call, and gives all messages that come. Each number is of how many messages are read before a
 * connection breaks off; the last connection holds.
 */
async function follow(
  session: RawSession,
  breaks: number[],
  answers: "answers first" | "comes back first",
): Promise<any[]> {
  const messages: any[] = [];
  const unanswered: any[] = [];
  const answer = async () => {
    for (const asked of unanswered.splice(0)) {
      expect(await session.answer(asked.id, answerTo(asked))).toBe(202);
    }
  };
  let stream: EventStream | undefined = await session.call(1, "plan", STEPS);
  for (const count of [...breaks, Infinity]) {
    let last: string | undefined;
    for (let read = 0; read < count || last === undefined;) {
      const event: Event | undefined = await stream.next();
      if (event === undefined) return messages;
      last = event.id;
      if (event.message === undefined) continue;
      read++;
      messages.push(plain(event.message));
      if ("method" in event.message && "id" in event.message) unanswered.push(event.message);
      if (answers === "answers first" || read < count) await answer();
    }
    stream.drop();
    stream = await session.resume(last);
    await answer();
    if (stream === undefined) return messages;
  }
  throw new Error("a stream without an end");
}

describe.each(["2025-11-25", "2025-06-18"])(
  "a client of %s that loses its connection",
  (version) => {
    const begin = () => RawSession.begin(MCP, ABLE, version);
    let undisturbed: any[];
    beforeAll(async () => {
      undisturbed = await follow(await begin(), [], "answers first");
    });

    test("would have been told this", () => {
      expect(undisturbed.map(({ method, result }) => method ?? result)).toEqual([
        "notifications/progress",
        "notifications/message",
        "elicitation/create",
        "notifications/message",
        "sampling/createMessage",
        "notifications/message",
        { said: [null, null, "seven", null, { type: "text", text: "Paris" }, null] },
      ]);
    });

    const always = [1, 1, 1, 1, 1, 1, 1];
    describe.each(["answers first", "comes back first"] as const)("and %s", (answers) => {
      test.each([[[0]], [[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [always], [[0, 2, 0, 2]]])(
        "after %j messages: receives the same",
        async (breaks) => {
          expect(await follow(await begin(), breaks, answers)).toEqual(undisturbed);
        },
      );
    });
  },
);

/** Reads to the end, and answers what is asked. */
async function answered(session: RawSession, stream: EventStream): Promise<Required<Event>[]> {
  const events: Required<Event>[] = [];
  for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
    if (event.message === undefined) continue;
    events.push({ id: event.id!, message: event.message });
    const { method, id } = event.message;
    if (method !== undefined && id !== undefined) await session.answer(id, answerTo(event.message));
  }
  return events;
}

describe("a client that comes back", () => {
  test("receives the events after the one that it names, of this stream alone", async () => {
    const session = await RawSession.begin(MCP, ABLE);
    const streams = await Promise.all([1, 2].map((id) => session.call(id, "plan", STEPS)));
    const told = await Promise.all(streams.map((stream) => answered(session, stream)));
    expect(told.map((events) => events.at(-1)!.message.id)).toEqual([1, 2]);
    for (const events of told) {
      expect(events).toHaveLength(7);
      for (const [at, { id }] of events.entries()) {
        const since = events.slice(at + 1).map(({ message }) => message);
        expect((await (await session.resume(id))?.rest()) ?? []).toEqual(since);
      }
    }
  });

  test("takes the stream over, again and again", async () => {
    const session = await RawSession.begin(MCP, ABLE);
    let stream = await session.call(
      1,
      "plan",
      steps({ do: "log", message: "one" }, { do: "elicit" }),
    );
    const { id } = (await stream.next())!;
    const [, asked] = [await stream.next(), await stream.next()];
    for (let times = 0; times < 3; times++) {
      const next = (await session.resume(id!))!;
      expect(await stream.rest()).toEqual([]); // It was closed.
      expect(await next.next()).not.toHaveProperty("message");
      expect((await next.next())?.message).toMatchObject({ method: "notifications/message" });
      expect(await next.next()).toEqual(asked);
      stream = next;
    }
    expect(await session.answer(asked!.message.id, VALUE)).toBe(202);
    expect(await session.answer(asked!.message.id, VALUE)).toBe(202);
    expect((await stream.rest()).map(plain)).toMatchObject([
      { id: 1, result: { said: [null, "seven"] } },
    ]);
  });

  test("for a stream that it has read to the end, or cancelled, must not come again", async () => {
    const session = await RawSession.begin(MCP, ABLE);
    const [done] = (await answered(session, await session.call(1, "plan", STEPS))).slice(-1);
    expect((await session.get(done!.id)).status).toBe(405);
    const stream = await session.call(2, "plan", steps({ do: "elicit" }));
    const [, asked] = [await stream.next(), await stream.next()];
    await session.post({ method: "notifications/cancelled", params: { requestId: 2 } });
    const withdrawn = (await stream.next())!;
    expect(withdrawn.message).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: asked!.message.id },
    });
    expect(await stream.rest()).toEqual([]);
    expect(await (await session.resume(asked!.id!))!.rest()).toEqual([withdrawn.message]);
    expect((await session.get(withdrawn.id)).status).toBe(405);
  });

  test("with an id of another session is refused", async () => {
    const [one, other] = [await RawSession.begin(MCP, ABLE), await RawSession.begin(MCP, ABLE)];
    const [first] = await answered(one, await one.call(1, "plan", STEPS));
    expect((await other.get(first!.id)).status).toBe(400);
  });
});

describe("when the process is killed while a call waits for its client", () => {
  test.each([
    ["has seen the question", 1],
    ["has not seen it", 0],
  ])("one that %s answers it to the next", async (_what, seen) => {
    const session = await RawSession.begin(MCP, ABLE);
    const stream = await session.call(1, "plan", STEPS);
    const ids: string[] = [];
    let asked: any;
    while (asked?.method !== "elicitation/create") {
      const event = (await stream.next())!;
      ids.push(event.id!);
      asked = event.message;
    }
    await restart();
    const resumed = (await session.resume(ids.at(seen - 2)!))!;
    // One that has not is asked again.
    const status = seen === 1 ? await session.answer(asked.id, VALUE) : 202;
    expect(status).toBe(202);
    const events = await answered(session, resumed);
    const methods = ["notifications/message", "sampling/createMessage", "notifications/message"];
    expect(events.map(({ message }) => message.method ?? plain(message).result.said[2])).toEqual([
      ...(seen === 0 ? ["elicitation/create"] : []),
      ...methods,
      "seven",
    ]);
    expect(await session.answer(asked.id, VALUE)).toBe(202);
  });

  test("its session is as it was", async () => {
    const session = await RawSession.begin(MCP, ABLE);
    await session.post({ id: 1, method: "logging/setLevel", params: { level: "error" } });
    await session.post({ id: 2, method: "resources/subscribe", params: { uri: "test://a" } });
    await restart();
    const own = new EventStream(await session.get(), new AbortController());
    const args = steps({ do: "log" }, { do: "updated", url: "test://a" });
    const params = { name: "plan", arguments: args };
    const response = await session.post({ id: 3, method: "tools/call", params });
    expect(plain(await response.json())).toMatchObject({ id: 3 }); // Nothing was logged.
    expect(await own.next()).not.toHaveProperty("message");
    const { message } = (await own.next())!;
    expect(message).toMatchObject({ method: "notifications/resources/updated" });
    own.drop();
  });
});
