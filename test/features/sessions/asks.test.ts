import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { Session } from "../../../src/server/features/sessions/session.ts";
import {
  ABLE,
  accept,
  clock,
  limited,
  prepare,
  ROOTS,
  SAID,
  type Json,
} from "../../worker/calls/client.ts";
import { objectOf as taskOf } from "../../worker/calls/faults.ts";
import {
  catching,
  ASKING,
  ELICIT,
  log,
  saidIn,
  steps,
  type Asking,
} from "../../worker/calls/plans.ts";
import { Events, resultIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  listened,
  objectOf,
  planned,
  textOf,
} from "../../worker/mcp/legacy/session-steps.ts";

/** Servlets that ask the client of a session, and calls that it does not want any more. */
prepare();

/** The task that the session's only call has become. */
const taskIn = (client: SessionClient) =>
  runInDurableObject(
    objectOf(client),
    (_instance, { storage }) =>
      storage.sql.exec<{ task: string }>("SELECT task FROM calls").one().task,
  );

describe("a servlet that asks", () => {
  test.each<Asking>([
    [
      { do: "elicit", message: "Size?" },
      { method: "elicitation/create", params: { message: "Size?" } },
      accept("m"),
      "m",
    ],
    [{ do: "elicit" }, { method: "elicitation/create" }, { action: "decline" }, "decline"],
    [{ do: "elicit" }, { method: "elicitation/create" }, { action: "cancel" }, "cancel"],
    ...ASKING,
    [{ do: "roots" }, { method: "roots/list" }, ROOTS, ROOTS.roots],
  ])("%j", async (step, request, answer, said) => {
    const client = await begin();
    const events = await planned(client, step);
    const asked = await events.message();
    expect(asked).toMatchObject({ jsonrpc: "2.0", id: expect.any(Number), ...request });
    expect(asked["params"]).not.toHaveProperty("_meta");
    expect((await client.answer(asked["id"], answer)).status).toBe(202);
    expect(saidIn(await events.message())).toEqual([said]);
    expect(await events.rest()).toEqual([]);
  });

  test("keeps its question where a message of the time before it comes late", async () => {
    const client = await begin();
    const events = await planned(client, ELICIT, ELICIT);
    await client.answer((await events.message())["id"], accept("one"));
    const second = await events.message();
    const task = await taskIn(client);
    await runInDurableObject<Session, boolean>(
      objectOf(client) as DurableObjectStub<Session>,
      (session) =>
        session.progressed(task, {
          view: { taskId: task, status: "working" },
          asks: {},
          round: 1,
        }) as Promise<boolean>,
    );
    await client.answer(second["id"], accept("two"));
    expect(saidIn(await events.message())).toEqual(["one", "two"]);
  });

  test("is asked one after the other, each under its own id, and says everything once", async () => {
    const client = await begin();
    const meta = { _meta: { progressToken: 7 } };
    const plan = steps(log("a"), ELICIT, log("b"), { do: "sample" }, log("c"));
    const heard: Json[] = [];
    const { result } = await resultIn(await client.call("plan", plan, meta), async (message) => {
      heard.push(message);
      if (message["method"] === "elicitation/create") {
        await client.answer(message["id"], accept("x"));
      }
      if (message["method"] === "sampling/createMessage") await client.answer(message["id"], SAID);
    });
    const told = heard.map(({ method, params }) => params.data ?? method);
    expect(told).toEqual(["a", "elicitation/create", "b", "sampling/createMessage", "c"]);
    const ids = heard.flatMap(({ id }) => id ?? []);
    expect(new Set(ids).size).toBe(2);
    expect(result.structuredContent.said).toEqual([null, "x", null, SAID.content, null]);
  });

  test("for many things at once, and answered in any order", async () => {
    const client = await begin();
    const events = await planned(client, { do: "inputs", keys: ["a", "b", "c"] });
    const asked = [await events.message(), await events.message(), await events.message()];
    const ids = asked.map(({ id }) => id);
    await client.answer(ids[2], accept("C"));
    await Promise.all([client.answer(ids[0], accept("A")), client.answer(ids[1], accept("B"))]);
    expect(saidIn(await events.message())).toEqual([
      { a: accept("A"), b: accept("B"), c: accept("C") },
    ]);
  });

  test("by returning what it asks, is called anew", async () => {
    const client = await begin();
    const events = new Events(await client.call("rounds", { rounds: 2 }));
    for (const name of ["Ada", "Bob"]) {
      const { id } = await events.message();
      await client.answer(id, accept(name, "name"));
    }
    expect((await events.message())["result"].content[0].text).toBe("Ada and Bob");
  });

  test("in a prompt, and in a resource", async () => {
    const client = await begin();
    const prompt = new Events(await client.request("prompts/get", { name: "plan_prompt" }));
    const resource = new Events(await client.request("resources/read", { uri: "plan://resource" }));
    for (const events of [prompt, resource]) {
      const { id } = await events.message();
      await client.answer(id, accept("Ada", "name"));
    }
    const { result } = await prompt.message();
    expect(result.messages[0].content.text).toBe("A prompt for Ada");
    const read = await resource.message();
    expect(read["result"].contents[0].text).toBe("A resource for Ada");
  });

  test("in two calls at once, each on its own stream", async () => {
    const client = await begin();
    const one = await planned(client, { do: "elicit", message: "one" });
    const two = await planned(client, { do: "elicit", message: "two" });
    const [first, second] = [await one.message(), await two.message()];
    expect([first["params"].message, second["params"].message]).toEqual(["one", "two"]);
    await client.answer(second["id"], accept("2"));
    expect(saidIn(await two.message())).toEqual(["2"]);
    await client.answer(first["id"], accept("1"));
    expect(saidIn(await one.message())).toEqual(["1"]);
  });

  test("to open a page, names it, and says when all is done there", async () => {
    const client = await begin();
    const page = { do: "elicit_url", url: "https://pay.example/" };
    const plan = [{ ...page, id: "p1" }, { do: "url_done", id: "p1" }, page];
    const events = await planned(client, ...plan);
    const first = await events.message();
    expect(first["params"]).toMatchObject({ mode: "url", elicitationId: "p1" });
    await client.answer(first["id"], { action: "accept" });
    expect(await events.message()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/elicitation/complete",
      params: { elicitationId: "p1" },
    });
    const second = await events.message();
    expect(second["params"]).toMatchObject({ mode: "url", elicitationId: expect.any(String) });
    await client.answer(second["id"], { action: "decline" });
    expect(saidIn(await events.message())).toEqual(["accept", null, "decline"]);
  });

  test("in vain until its deadline: the request is withdrawn", async () => {
    const client = await begin();
    const events = await planned(client, { ...ELICIT, timeout: 60_000 });
    const { id } = await events.message();
    const task = taskOf(await taskIn(client));
    clock.aheadMs += 61_000;
    await runDurableObjectAlarm(task);
    clock.aheadMs = 0;
    const withdrawn = await events.message();
    expect(withdrawn).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: id },
    });
    expect((await client.answer(id, accept("late"))).status).toBe(202);
    await runDurableObjectAlarm(task);
    expect(saidIn(await events.message())).toEqual(["cancel"]);
  });

  test("a call that lasts goes on elsewhere, which its client does not see", async () => {
    limited({ promoteAfterMs: 0 });
    const client = await begin();
    const nap = { do: "sleep", ms: 5 };
    const response = await client.call("plan", steps(nap, log("a"), nap, { do: "config" }));
    const heard: string[] = [];
    const answer = await resultIn(response, (message) => void heard.push(textOf(message)));
    expect(heard).toEqual(["a"]);
    expect(saidIn(answer)).toEqual(["slept", null, "slept", "hi"]);
  });
});

test("answers that are too large together: the last of them is a failure", async () => {
  limited({ hostBytes: 1_000_000 });
  const client = await begin();
  const events = await planned(client, { do: "inputs", keys: ["a", "b"] });
  const large = accept("x".repeat(600_000));
  for (const { id } of [await events.message(), await events.message()]) {
    expect((await client.answer(id, large)).status).toBe(202);
  }
  const { result } = await events.message();
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toContain("cannot be used: it is too large");
});

describe("notifications/cancelled", () => {
  test("ends a call, and withdraws what it asks; no answer comes", async () => {
    const client = await begin();
    const events = new Events(await client.call("plan", steps(ELICIT), {}, "call"));
    const { id } = await events.message();
    const task = await taskIn(client);
    const cancelled = await client.notify("notifications/cancelled", { requestId: "call" });
    expect(cancelled.status).toBe(202);
    const rest = (await events.rest()).map(({ message }) => message);
    expect(rest).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: expect.any(String) },
      },
    ]);
    expect((await client.answer(id, accept("late"))).status).toBe(202);
    expect(await taskOf(task).get({ name: "anonymous" })).toBeUndefined();
  });

  test("ends a call that is answered with JSON: there is nothing to say then", async () => {
    const client = await begin({ headers: { accept: "application/json" } });
    const plan = steps({ do: "config" }, { do: "sleep", ms: 60_000 });
    const waiting = client.call("plan", plan, {}, "call");
    const over = waiting.then(() => true);
    const soon = () => new Promise<false>((resolve) => setTimeout(() => resolve(false), 2));
    for (let look = 0; look < 500 && !(await Promise.race([over, soon()])); look++) {
      await client.notify("notifications/cancelled", { requestId: "call" });
    }
    const response = await waiting;
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 202,
      body: "",
    });
  });

  test("ends only the call that it names", async () => {
    const client = await begin();
    const one = new Events(await client.call("plan", steps(ELICIT), {}, 1));
    const other = new Events(await client.call("plan", steps(ELICIT), {}, "1"));
    const { id } = await other.message();
    await client.notify("notifications/cancelled", { requestId: 1 });
    const rest = await one.rest();
    expect(rest.at(-1)?.message).toMatchObject({ method: "notifications/cancelled" });
    await client.answer(id, accept("x"));
    expect(saidIn(await other.message())).toEqual(["x"]);
  });

  test("a client that goes away cancels nothing", async () => {
    const client = await begin();
    const events = await planned(client, log("a"), ELICIT);
    await events.next();
    const last = await events.next();
    expect(textOf(last?.message)).toBe("a");
    await events.drop();
    const again = await listened(client, last?.id);
    const asked = await again.message();
    await client.answer(asked["id"], accept("x"));
    expect(saidIn(await again.message())).toEqual([null, "x"]);
  });
});

describe("a client that makes tasks of what it is asked", () => {
  const capabilities = {
    ...ABLE,
    tasks: { requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } },
  };
  const made = { task: { taskId: "c1", status: "working", createdAt: "", ttl: 1 } };

  test.each([
    [{ do: "elicit" }, accept("x"), "x"],
    [{ do: "sample" }, SAID, SAID.content],
  ])("is asked for its result then: %j", async (step, answer, said) => {
    const client = await begin({ capabilities });
    const events = await planned(client, step);
    const asked = await events.message();
    expect(asked["params"].task).toEqual({ ttl: expect.any(Number) });
    expect((await client.answer(asked["id"], made)).status).toBe(202);
    const wanted = await events.message();
    expect(wanted).toMatchObject({ method: "tasks/result", params: { taskId: "c1" } });
    expect(wanted["id"]).not.toBe(asked["id"]);
    expect((await client.answer(asked["id"], answer)).status).toBe(202);
    expect((await client.answer(wanted["id"], answer)).status).toBe(202);
    const { result } = await events.message();
    expect(result.structuredContent.said).toEqual([said]);
  });

  test("may answer at once all the same, or fail", async () => {
    const client = await begin({ capabilities });
    const events = await planned(client, { do: "elicit" }, catching({ do: "elicit" }));
    await client.answer((await events.message())["id"], accept("x"));
    await client.answer((await events.message())["id"], made);
    const { id } = await events.message();
    expect((await client.refuse(id, { code: -1, message: "Task failed." })).status).toBe(202);
    const { result } = await events.message();
    expect(result.structuredContent.said).toEqual(["x", "client-error"]);
  });

  test("is asked as any other for what it does not make tasks of", async () => {
    const client = await begin({ capabilities });
    const events = await planned(client, { do: "roots" });
    expect((await events.message())["params"]).not.toHaveProperty("task");
    const plain = await begin();
    const others = await planned(plain, catching({ do: "elicit" }));
    const { id, params } = await others.message();
    expect(params).not.toHaveProperty("task");
    expect((await plain.answer(id, made)).status).toBe(202);
    expect((await others.message())["result"].structuredContent.said).toEqual(["unusable-answer"]);
  });
});
