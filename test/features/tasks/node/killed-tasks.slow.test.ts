import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { steps } from "../../../node/http/official.ts";
import { serving } from "../../../node/http/serving.ts";

/** Very many tasks at once, on workerd itself, which is killed again and again while they are made and first run. */
const TASKS = 2000;
const KILLS = 6;
const METHODS = ["PUT", "POST", "GET"];

const { url, restart } = await serving({
  variables: { TEST_LIMITS: JSON.stringify({ rerunMs: 300, sleepInPlaceMs: 300 }) },
});

/** How often each path was asked for. */
const arrived = new Map<string, number>();
const internet = createServer((request, response) => {
  const path = request.url!;
  arrived.set(path, (arrived.get(path) ?? 0) + 1);
  request.resume();
  response.end(`answer to ${path}`);
});
let base: string;
beforeAll(async () => {
  internet.listen(0, "127.0.0.1");
  await once(internet, "listening");
  base = `http://127.0.0.1:${(internet.address() as AddressInfo).port}`;
});
afterAll(() => {
  internet.closeAllConnections();
  internet.close();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends a request until it is answered; undefined if `isOver` says so first. */
async function asked(
  method: string,
  params: Record<string, unknown>,
  attempts = Infinity,
): Promise<Record<string, any> | undefined> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          "mcp-name": String(params["name"] ?? params["taskId"]),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method,
          params: {
            ...params,
            _meta: {
              "io.modelcontextprotocol/protocolVersion": "2026-07-28",
              "io.modelcontextprotocol/clientCapabilities": {
                extensions: { "io.modelcontextprotocol/tasks": {} },
              },
            },
          },
        }),
      });
      const { result } = (await response.json()) as { result?: Record<string, any> };
      if (result !== undefined) return result;
    } catch {
      // It was killed.
    }
    await pause(100);
  }
  return undefined;
}

test(
  "a task that has completed says what has become of each of its requests",
  { timeout: 1_800_000 },
  async () => {
    const made: { taskId: string; path: string }[] = [];
    let next = 0;
    const making = async () => {
      while (next < TASKS) {
        const at = next++;
        const path = `/${at}`;
        const requests = METHODS.map((method) => ({
          do: "http",
          method,
          url: `${base}${path}/${method}`,
        }));
        const args = steps(...requests, { do: "sleep", ms: 500 }, requests[0]!);
        const result = await asked("tools/call", { name: "plan_always", arguments: args }, 1);
        // Whoever got no answer does not know of a task.
        if (result?.["taskId"] !== undefined) made.push({ taskId: result["taskId"], path });
      }
    };
    const all = Promise.all(Array.from({ length: 40 }, making));
    for (let kills = 0; kills < KILLS; kills++) {
      await pause(300 + Math.random() * 700);
      await restart();
    }
    await all;
    const outcomes: Record<string, number> = {};
    const wrong: unknown[] = [];
    const looking = async (own: typeof made) => {
      for (const { taskId, path } of own) {
        let task = await asked("tasks/get", { taskId });
        while (task!["status"] === "working") {
          await pause(200);
          task = await asked("tasks/get", { taskId });
        }
        const { said } = task!["result"]?.structuredContent ?? {};
        if (said === undefined) {
          wrong.push(task);
          continue;
        }
        for (const [at, method] of METHODS.entries()) {
          const one = `${path}/${method}`;
          const count = arrived.get(one) ?? 0;
          const isAnswered = Array.isArray(said[at]);
          const kind = isAnswered ? "answered" : String(said[at]).slice(0, 20);
          const outcome = `${method} ${kind} after ${Math.min(count, 3)}`;
          outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
          if (isAnswered ? count === 0 : !/unknown/.test(said[at]))
            wrong.push({ one, count, said });
        }
      }
    };
    await Promise.all(
      Array.from({ length: 20 }, (_, nth) => looking(made.filter((_one, at) => at % 20 === nth))),
    );
    console.log(`${made.length} tasks: ${JSON.stringify(outcomes)}`);
    expect(wrong).toEqual([]);
    expect(made.length).toBeGreaterThan(TASKS / 4);
  },
);
