import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { accept, beginTool, callOf, goOn, limited, prepare, textIn, type Json } from "./client.ts";
import { answersTo, beginTask, objectOf, updateTask } from "./faults.ts";
import { ELICIT, http, saidIn, steps } from "./plans.ts";
import { Events } from "../mcp/legacy/session-client.ts";
import { begin } from "../mcp/legacy/session-steps.ts";
import { busyTurns, NAP, planned, until } from "./task-steps.ts";

/** The fuel that all runs of one call share. */
prepare();

const TOO_LONG = /too long in all runs of this call together/;
const DOZE = { do: "sleep", ms: 1 };
const many = (step: Json) => Array.from({ length: 60 }, () => step);
/** Room for any one of the runs below, but not for all of them together. */
const scarce = { callTanks: 0.01, sleepInPlaceMs: 0 };

/** Answers whatever a call asks by rounds, until it has a result. */
async function ended(tool: string, args: Json): Promise<string> {
  const round = await beginTool(tool, args);
  for (;;) {
    const answer = await goOn(round, answersTo(round.requests));
    if (answer.result?.["resultType"] !== "input_required") return textIn(answer);
    round.state = answer.result["requestState"];
    round.requests = answer.result["inputRequests"];
  }
}

describe("a servlet that computes for too long in many short runs is stopped", () => {
  test("in a task that sleeps", async () => {
    limited(scarce);
    const { result } = await until(await planned(...many(DOZE)), "completed");
    expect(textIn({ status: 200, result })).toMatch(TOO_LONG);
  });

  test("in a task that is asked anew each time", async () => {
    limited({ ...scarce, callTanks: 0.0007 });
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("tick"));
    const post = "https://world.example/tick";
    const id = await beginTask("rounds_always", { rounds: 60, isSilent: true, post });
    const { result } = await until(id, "completed");
    expect(textIn({ status: 200, result })).toMatch(TOO_LONG);
  });

  test("in a call that its client carries", async () => {
    limited(scarce);
    expect(await ended("plan", steps(...many(ELICIT)))).toMatch(TOO_LONG);
  });

  test("in a call that its client carries, by a servlet that returns what it asks", async () => {
    // The first instance of an isolate is started with this fuel, too.
    await beginTool("rounds", { rounds: 1 });
    limited({ ...scarce, callTanks: 0.00017 });
    expect(await ended("rounds", { rounds: 60 })).toMatch(TOO_LONG);
  });

  test("in a session", async () => {
    limited(scarce);
    const client = await begin();
    const events = new Events(await client.call("plan", steps(...many(ELICIT))));
    let message = await events.message();
    while ("method" in message) {
      await client.answer(message["id"], accept("Ada"));
      message = await events.message();
    }
    expect(message["result"].content[0].text).toMatch(TOO_LONG);
  });
});

test("a tool that is called, and computes between waits of which each is short, is stopped", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    await scheduler.wait(2);
    return new Response("there");
  });
  // A run of the tool that has waited for so long is repeated, from where the tool was.
  limited({ guestFuel: 60e6, callTanks: 1, waitMs: 1000, httpMs: 1000 });
  const inside = { tool: "plan_never", args: steps(...many(http("GET", "/")).slice(0, 30)) };
  const { result } = await until(await planned({ do: "call", calls: [inside] }), "completed");
  // Of what is left, it gets a part.
  expect(JSON.stringify(result)).toMatch(/computed for too long/);
});

test("runs that find no room to wait in use up nothing", async () => {
  limited({ ...scarce, waitingBytes: 1, shortageMs: 5 });
  const other = callOf("plan_never", steps({ do: "sleep", ms: 500 }));
  const id = await planned(NAP);
  expect(saidIn(await until(id, "completed"))).toEqual(["slept"]);
  await other;
});

test("nor do those that find the state of a tool in use that they call", async () => {
  limited({ shortageMs: 5, callTanks: 1 });
  const asked = busyTurns(8);
  const inside = { tool: "counting-next", args: {} };
  const { result } = await until(await planned({ do: "call", calls: [inside] }), "completed");
  expect(asked()).toBeGreaterThan(8);
  expect(saidIn({ result })).toEqual([[expect.anything()]]);
});

test("a task of before, whose fuel was not counted, goes on", async () => {
  const id = await planned(ELICIT);
  await until(id, "input_required");
  await runInDurableObject(objectOf(id), (_task, { storage }) => {
    storage.sql.exec("ALTER TABLE task DROP COLUMN seen");
    storage.sql.exec("ALTER TABLE task DROP COLUMN fuel");
  });
  await evictDurableObject(objectOf(id));
  await updateTask(id, { ask_1: accept("Ada") });
  expect(saidIn(await until(id, "completed"))).toEqual(["Ada"]);
});
