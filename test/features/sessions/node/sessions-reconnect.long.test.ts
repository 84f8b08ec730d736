import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { breaking } from "./network.ts";
import { clients, steps, textOf } from "../../../node/http/official.ts";
import { serving } from "../../../node/http/serving.ts";

/** The official clients take their streams up again where a network breaks them, or the server is killed. */
const TEST_LIMITS = JSON.stringify({ retryMs: 100 });
const { port, restart } = await serving({ variables: { TEST_LIMITS } });

/** An answer to all that is asked here. */
const ADA = { action: "accept", content: { name: "Ada", confirm: true, value: "seven" } };

describe.each(Object.entries(clients))("%s comes back by itself", (_name, connect) => {
  let network: Awaited<ReturnType<typeof breaking>>;
  beforeAll(async () => {
    network = await breaking(port);
  });
  afterAll(() => network.close());

  const open = (onAsked: () => void | Promise<void> = () => {}) =>
    connect(network.url, {
      capabilities: { elicitation: {} },
      answers: {
        "elicitation/create": async () => {
          await onAsked();
          return ADA;
        },
      },
      transport: {
        reconnectionOptions: {
          initialReconnectionDelay: 100,
          maxReconnectionDelay: 100,
          reconnectionDelayGrowFactor: 1,
          maxRetries: 100,
        },
      },
    });

  test.each([
    ["before it is asked", ["Delete it?"]],
    ["before the result", ["Deleted it."]],
    ["before both", ["Delete it?", "Deleted it."]],
  ])("where its stream breaks off %s", async (_when, texts) => {
    let asked = 0;
    const { client, call } = await open(() => void asked++);
    texts.forEach(network.lose);
    expect(textOf(await call("confirm_delete", { filename: "it" }))).toBe("Deleted it.");
    expect(asked).toBe(1);
    await client.close();
  });

  test("where its stream breaks off while its user thinks", async () => {
    const before = network.seen.length;
    const { client, call } = await open(network.cut);
    expect(textOf(await call("confirm_delete", { filename: "it" }))).toBe("Deleted it.");
    expect(network.seen.slice(before)).toContainEqual(expect.stringMatching(/^GET \w+-1-1$/));
    await client.close();
  });

  test("where the server is killed while its user thinks", async () => {
    const { client, call } = await open(restart);
    expect(textOf(await call("confirm_delete", { filename: "it" }))).toBe("Deleted it.");
    expect(textOf(await call("greet", { name: "Ada" }))).toBe("Hello, Ada!");
    await client.close();
  });

  test("where the server is killed while it waits for a task", async () => {
    const { client } = await open(restart);
    const request = (method: string, params: object): Promise<any> =>
      (client as any).request({ method, params }, z.looseObject({}));
    const named = { name: "confirm_delete", arguments: { filename: "it" } };
    const { task } = await request("tools/call", { ...named, task: { ttl: 600_000 } });
    expect(textOf(await request("tasks/result", { taskId: task.taskId }))).toBe("Deleted it.");
    await client.close();
  });

  test("where the server is killed while the call goes on after an answer", async () => {
    const { client, call } = await open();
    const heard: number[] = [];
    let restarted: Promise<void> | undefined;
    const onprogress = ({ progress }: { progress: number }) => {
      heard.push(progress);
      restarted ??= restart();
    };
    const plan = steps({ do: "elicit" }, { do: "progress" }, { do: "sleep", ms: 1000 });
    const { structuredContent } = await call("plan", plan, { onprogress });
    await restarted;
    expect(structuredContent.said).toEqual(["seven", null, "slept"]);
    expect(heard).toEqual([1]);
    await client.close();
  });
});
