import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { buildWorker, serve, stop, type Served } from "../workerd.ts";
import { breaking } from "./network.ts";
import { clients, steps, textOf } from "./official.ts";

/** The official clients take their streams up again where a network breaks them, or the server is killed. */
const PORT = 8878;
const STORAGE = ".bundle/test-sessions-reconnect/storage";
let folder: string;
let served: Served;
beforeAll(async () => {
  folder = await buildWorker("test/worker/index.ts", ".bundle/test-sessions-reconnect");
  await rm(STORAGE, { recursive: true, force: true });
  await start();
});
afterAll(() => stop(served));

async function start(): Promise<void> {
  const variables = { SEASON: "plums" };
  served = await serve(folder, PORT, { durable: STORAGE, variables, quiet: true });
}

/** An answer to all that is asked here. */
const ADA = { action: "accept", content: { name: "Ada", confirm: true, value: "seven" } };

describe.each(Object.entries(clients))("%s comes back by itself", (_name, connect) => {
  let network: Awaited<ReturnType<typeof breaking>>;
  beforeAll(async () => {
    network = await breaking(PORT);
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
    const { client, call } = await open(async () => {
      await stop(served);
      await start();
    });
    expect(textOf(await call("confirm_delete", { filename: "it" }))).toBe("Deleted it.");
    expect(textOf(await call("greet", { name: "Ada" }))).toBe("Hello, Ada!");
    await client.close();
  });

  test("where the server is killed while it waits for a task", async () => {
    const { client } = await open(async () => {
      await stop(served);
      await start();
    });
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
      restarted ??= stop(served).then(start);
    };
    const plan = steps({ do: "elicit" }, { do: "progress" }, { do: "sleep", ms: 3000 });
    const { structuredContent } = await call("plan", plan, { onprogress });
    await restarted;
    expect(structuredContent.said).toEqual(["seven", null, "slept"]);
    expect(heard).toEqual([1]);
    await client.close();
  });
});
