import { expect, test } from "vitest";
import { callOf, limited, prepare, type Json } from "../../worker/calls/client.ts";
import { saidIn, steps } from "../../worker/calls/plans.ts";
import { server } from "../../worker/pages/browser.ts";
import { eventually } from "../../worker/waiting.ts";
import { call, failureOf, serverOf, valueOf } from "./client.ts";

/** Calls that take too long for a response without a stream. */
prepare();

const SLEEP = { do: "sleep", ms: 1 };

/** What a call has said in the end. */
const ended = (id: string): Promise<Json> =>
  eventually(async () => {
    const said = saidIn(await callOf("get_result", { id }, { server, capabilities: {} }));
    expect(said).toBeDefined();
    return said;
  });

test("the id of a call that takes too long is given", { tags: ["people"] }, async () => {
  const live = valueOf(await call("durable.plan", steps(SLEEP, SLEEP), {}, server)) as Json;
  limited({ silentMs: -1 });
  const error = failureOf(await call("durable.plan", steps(SLEEP, SLEEP), {}, server));
  expect(error).toMatchObject({ message: "This call is still running.", can_retry: true });
  const said = error["additional_prompt_content"] as string;
  const [, id] = /Call server\.get_result with id (\S+) in a moment\./.exec(said)!;
  expect(await ended(id!)).toEqual(live["said"]);
});

test("a caller whose call cannot be handed over is told what to do instead", async () => {
  limited({ silentEndMs: 0 });
  const app = serverOf(undefined, { AUTH: "none", LINKS: "off" });
  const error = failureOf(await call("durable.plan", steps({ do: "sleep", ms: 20_000 }), {}, app));
  expect(error["message"]).toMatch(/not ended within 0 s.*no call_id.*Send a call_id/);
});

test("a recorded call goes on, and its caller asks for it again", async () => {
  limited({ silentEndMs: 0 });
  const app = serverOf(undefined, { AUTH: "none", LINKS: "off" });
  const more = { call_id: crypto.randomUUID() };
  const plan = steps({ do: "sleep", ms: 100 });
  for (let nth = 0; nth < 2; nth++)
    expect(valueOf(await call("durable.plan", plan, more, app))).toMatchObject({
      said: ["slept"],
    });
});
