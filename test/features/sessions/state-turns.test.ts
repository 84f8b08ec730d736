// @module-tag state
import { describe, expect, test } from "vitest";
import { begin, goOn, newAddress, prepare, send, type Sent } from "../../worker/calls/client.ts";
import { beginTask, updateTask, withTasks } from "../../worker/calls/faults.ts";
import { Events, resultIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin as beginSession } from "../../worker/mcp/legacy/session-steps.ts";
import { until } from "../../worker/calls/task-steps.ts";

/** Servlets that keep state, and wait for their user. */

prepare();
describe("a call that waits for its user lets others go first", () => {
  const newSent = (): Sent => ({ headers: { "cf-connecting-ip": newAddress() } });
  const add = (name: string, sent: Sent) =>
    send("tools/call", { name: "growing-add", arguments: { name } }, sent);
  const LATER = { name: "growing-add_later", arguments: { name: "later" } };
  const YES = { action: "accept", content: { text: "yes" } };
  const countIn = async (sent: Sent) => {
    const { result } = await send("tools/call", { name: "growing-later" }, sent);
    return (result!["content"] as { text: string }[])[0]!.text;
  };

  test("in the modern era", { tags: ["carried"] }, async () => {
    const sent = newSent();
    const round = await begin("tools/call", LATER, sent);
    expect((await add("one", sent)).result).toBeDefined();
    const [key] = Object.keys(round.requests);
    expect((await goOn(round, { [key!]: YES })).result).toMatchObject({
      content: [{ text: "added" }],
    });
    expect(await countIn(sent)).toBe("later of 2");
  });

  test("in a task", async () => {
    // Of a caller whose address nobody knows.
    const id = await beginTask(LATER.name, LATER.arguments);
    const task = await until(id, "input_required");
    const [key] = Object.keys(task["inputRequests"]);
    expect((await add("one", withTasks)).result).toBeDefined();
    await updateTask(id, { [key!]: YES });
    expect(await until(id, "completed")).toMatchObject({
      result: { content: [{ text: "added" }] },
    });
    expect(await countIn(withTasks)).toBe("later of 2");
  });

  test("in a session", async () => {
    const sent = newSent();
    const client = await beginSession(sent);
    const stream = new Events(await client.call(LATER.name, LATER.arguments));
    const asked = await stream.message();
    expect(asked["method"]).toBe("elicitation/create");
    await resultIn(await client.call("growing-add", { name: "one" }));
    await client.answer(asked["id"], YES);
    expect(await stream.message()).toMatchObject({ result: { content: [{ text: "added" }] } });
    expect(await countIn(sent)).toBe("later of 2");
  });
});
