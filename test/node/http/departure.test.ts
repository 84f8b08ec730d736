import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { residentMB } from "../workerd.ts";
import { serving } from "./serving.ts";

/** Clients that leave in the middle of a call, against workerd itself. */
/** Those who have an address are counted by it: so many of their requests are served at once. */
const PLACES = 8;
const ADDRESS = "192.0.2.9";
let log = "";
const { port, url, served } = await serving({
  variables: { LIMITS: JSON.stringify({ concurrentCalls: PLACES }) },
  log: (text) => (log += text),
});

function request(name: string, args: object, token?: string, address?: string): string {
  const meta = token === undefined ? {} : { _meta: { progressToken: token } };
  const params = { name, arguments: args, ...meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return [
    "POST /mcp HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    ...(address === undefined ? [] : [`cf-connecting-ip: ${address}`]),
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** Sends a request and leaves after `ms`: by a reset, or by just closing. */
function leave(what: string, ms: number, how: "reset" | "close"): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(what);
      setTimeout(() => {
        if (how === "reset") socket.resetAndDestroy();
        else socket.destroy();
        resolve();
      }, ms);
    });
    socket.on("error", reject);
  });
}

async function called(name: string, args: object): Promise<string> {
  const params = { name, arguments: args };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "cf-connecting-ip": ADDRESS },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

const stops = () => log.split("The client has left").length - 1;

async function until(condition: () => boolean, ms: number): Promise<void> {
  const end = Date.now() + ms;
  while (!condition() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe("a client that leaves", () => {
  test("before it was answered stops its call", async () => {
    const before = stops();
    await leave(request("doze", {}), 100, "reset");
    await until(() => stops() > before, 20_000);
    expect(stops()).toBe(before + 1);
  });

  test("in the middle of the stream stops its call", async () => {
    const before = stops();
    await leave(request("wait", { seconds: 30 }, "t"), 1300, "reset");
    await until(() => stops() > before, 20_000);
    expect(stops()).toBe(before + 1);
  });

  test("without a word is noticed by the signs of life", { timeout: 30_000 }, async () => {
    const before = stops();
    await leave(request("doze", {}), 100, "close");
    await until(() => stops() > before, 20_000);
    expect(stops()).toBe(before + 1);
  });

  test.each([
    ["before it was answered", "doze", {}, undefined, 300],
    ["in the middle of the stream", "wait", { seconds: 30 }, "t", 1300],
  ] as const)(
    "%s leaves its place to others of its address",
    async (_when, name, args, token, ms) => {
      const before = stops();
      const sent = request(name, args, token, ADDRESS);
      await Promise.all(Array.from({ length: PLACES }, () => leave(sent, ms, "reset")));
      await until(() => stops() >= before + PLACES, 20_000);
      expect(await called("greet", { name: "Ada" })).toContain("Hello, Ada!");
    },
  );

  test("leaves the state that its call has held to the next", async () => {
    const before = stops();
    const sent = request("counting-later", {}, undefined, ADDRESS);
    await Promise.all(Array.from({ length: PLACES }, () => leave(sent, 300, "reset")));
    await until(() => stops() > before, 20_000);
    expect(await called("counting-next", {})).toContain('"text":"1"');
  });

  test(
    "ten thousand times harms nobody: no suspended guest is left behind",
    { timeout: 120_000 },
    async () => {
      const doze = request("doze", {});
      const many = async (count: number) => {
        for (let at = 0; at < count; at++) await leave(doze, 15, "reset");
      };
      await Promise.all(Array.from({ length: 32 }, () => many(150)));
      const halfway = await residentMB(served());
      await Promise.all(Array.from({ length: 32 }, () => many(250)));
      expect(served().process.exitCode).toBeNull();
      expect(await residentMB(served())).toBeLessThan(halfway * 2);
      const response = await fetch(new URL("/health", url));
      expect(response.status).toBe(200);
    },
  );
});

test(
  "only so much memory may wait at once; one more call must retry later",
  { timeout: 60_000 },
  async () => {
    // Its guest has a page of 64 KiB, and so has its kernel.
    const most = Math.floor(limits.waitingBytes / (2 * 65536 + limits.waitingOverheadBytes));
    const sockets = Array.from({ length: most + 10 }, () => connect(port, "127.0.0.1"));
    const answers: string[] = [];
    for (const socket of sockets) {
      socket.on("data", (chunk) => answers.push(chunk.toString()));
      socket.write(request("doze", {}));
    }
    await until(() => answers.length >= 10, 20_000);
    for (const socket of sockets) socket.resetAndDestroy();
    const refused = answers.filter((answer) => answer.includes("Too many calls are waiting"));
    expect(refused).toHaveLength(10);
  },
);
