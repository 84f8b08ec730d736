import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/wasm/limits.ts";
import { residentMB } from "../workerd.ts";
import { steps } from "./official.ts";
import { serving } from "./serving.ts";

/** Clients that leave in the middle of a call, against workerd itself. */
/** Those who have an address are counted by it: so many of their requests are served at once. */
const PLACES = 8;
const ADDRESS = "192.0.2.9";
let log = "";
const { port, url, served } = await serving({
  // By signs of life, clients of calls that wait see that these have begun.
  variables: {
    TEST_LIMITS: JSON.stringify({ concurrentCalls: PLACES, keepAliveMs: 200, roomMs: 0 }),
  },
  log: (text) => (log += text),
});

/** The host that guests fetch from; it never answers. */
const world = createServer(() => {});
beforeAll(() => once(world.listen(0, "127.0.0.1"), "listening"));
afterAll(() => {
  world.closeAllConnections();
  world.close();
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

/** How a client leaves: by a reset, or by just closing. */
type Way = "reset" | "close";

/** Sends a request and leaves once `until` is settled. */
async function leave(
  what: string,
  until: (socket: Socket) => Promise<unknown>,
  how: Way = "reset",
): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const isTime = until(socket);
  socket.write(what);
  await isTime;
  if (how === "reset") socket.resetAndDestroy();
  else socket.destroy();
}

/** A request whose call fetches what never answers, and so many clients that leave once all have begun to. */
async function leaveUnanswered(count = 1, how?: Way, address?: string): Promise<void> {
  const { port: at } = world.address() as AddressInfo;
  const args = { request: { url: `http://127.0.0.1:${at}/` }, body: "" };
  let open = 0;
  const begun = new Promise<void>((resolve) => {
    world.on("request", () => ++open === count && resolve());
  });
  const sent = request("fetch", args, undefined, address);
  await Promise.all(Array.from({ length: count }, () => leave(sent, () => begun, how)));
  world.removeAllListeners("request");
}

/** So many clients that leave after the first event of their stream. */
async function leaveStream(count = 1, address?: string): Promise<void> {
  const args = steps({ do: "progress", message: "begun" }, { do: "sleep", ms: 120_000 });
  const sent = request("plan_never", args, "t", address);
  const heard = (socket: Socket) =>
    new Promise<void>((resolve) => {
      socket.on("data", (chunk) => String(chunk).includes("begun") && resolve());
    });
  await Promise.all(Array.from({ length: count }, () => leave(sent, heard)));
}

async function called(name: string, args: object, address = ADDRESS): Promise<string> {
  const params = { name, arguments: args };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "cf-connecting-ip": address },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

/** How many calls were stopped as their clients have left. */
const stops = () => log.split("The client has left").length - 1;
const SOON = { timeout: 20_000, interval: 20 };

// Stops are counted, and those of the last tests, of which there are thousands, come late.
describe("a client that leaves", { shuffle: false }, () => {
  test.each<[string, () => Promise<void>]>([
    ["before it was answered", () => leaveUnanswered()],
    ["in the middle of the stream", () => leaveStream()],
    [
      "without a word, which its server learns by signs of life,",
      () => leaveUnanswered(1, "close"),
    ],
  ])("%s stops its call", async (_when, leaving) => {
    const before = stops();
    await leaving();
    await expect.poll(stops, SOON).toBe(before + 1);
  });

  test.each<[string, () => Promise<void>]>([
    ["before it was answered", () => leaveUnanswered(PLACES, "reset", ADDRESS)],
    ["in the middle of the stream", () => leaveStream(PLACES, ADDRESS)],
  ])("%s leaves its place to others of its address", async (_when, leaving) => {
    const before = stops();
    await leaving();
    await expect.poll(stops, SOON).toBe(before + PLACES);
    expect(await called("greet", { name: "Ada" })).toContain("Hello, Ada!");
  });

  test("leaves the state that its call has held to the next", async () => {
    const before = stops();
    const sent = request("counting-later", {}, undefined, ADDRESS);
    const sign = (socket: Socket) => once(socket, "data");
    await Promise.all(Array.from({ length: PLACES }, () => leave(sent, sign)));
    await expect.poll(stops, SOON).toBeGreaterThan(before);
    expect(await called("counting-next", {})).toContain('"text":"1"');
  });

  test("two thousand times harms nobody", async () => {
    const doze = request("doze", {});
    const many = async (count: number) => {
      for (let at = 0; at < count; at++)
        await leave(doze, () => new Promise((resolve) => setTimeout(resolve, 15)));
    };
    await Promise.all(Array.from({ length: 32 }, () => many(25)));
    const halfway = await residentMB(served());
    await Promise.all(Array.from({ length: 32 }, () => many(40)));
    expect(served().process.exitCode).toBeNull();
    expect(await residentMB(served())).toBeLessThan(halfway * 2);
    const response = await fetch(new URL("/health", url));
    expect(response.status).toBe(200);
  });

  // A guest that is left behind would take the room of one that waits here.
  test("leaves no guest behind: only so much memory may wait at once; one more call must retry later", async () => {
    // Its guest has a page of 64 KiB, and so has its kernel.
    const ofGuest = 2 * 65536 + limits.waitingOverheadBytes;
    // An eighth of the room is for calls whose guests were unwound.
    const withGuests = Math.floor(((7 / 8) * limits.waitingBytes) / ofGuest);
    const rest = limits.waitingBytes - withGuests * ofGuest;
    const most = withGuests + Math.floor(rest / limits.unwoundOverheadBytes);
    const sockets = Array.from({ length: most + 10 }, () => connect(port, "127.0.0.1"));
    // Each has an answer, or a sign of life.
    const answers = await Promise.all(
      sockets.map(async (socket) => {
        socket.write(request("doze", {}));
        return String(await once(socket, "data"));
      }),
    );
    for (const socket of sockets) socket.resetAndDestroy();
    const refused = answers.filter((answer) => answer.includes("Too many calls are waiting"));
    expect(refused).toHaveLength(10);
  });
});

describe("a client of a session that leaves", () => {
  async function sessionOf(): Promise<string> {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a" } };
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    await response.text();
    return response.headers.get("mcp-session-id")!;
  }

  test("has not cancelled its call, which goes on", async () => {
    const asked: string[] = [];
    const held = Promise.withResolvers<ServerResponse>();
    world.on("request", ({ url: path = "" }, response: ServerResponse) => {
      asked.push(path);
      if (path === "/first") held.resolve(response);
      else response.end("there");
    });
    const { port: at } = world.address() as AddressInfo;
    const get = (path: string) => ({
      do: "http",
      method: "GET",
      url: `http://127.0.0.1:${at}${path}`,
    });
    const plan = steps(get("/first"), get("/second"), { do: "sleep", ms: 2000 }, get("/third"));
    const headers = `accept: application/json, text/event-stream\r\nmcp-session-id: ${await sessionOf()}`;
    const sent = request("plan", plan).replace(/accept: [^\r]*/, headers);
    await leave(sent, () => held.promise);
    (await held.promise).end("there");
    // The third from the session's object.
    await expect.poll(() => asked, SOON).toEqual(["/first", "/second", "/third"]);
    world.removeAllListeners("request");
  });

  test("two thousand times harms nobody", async () => {
    const session = await sessionOf();
    const doze = request("doze", {}).replace("accept:", `mcp-session-id: ${session}\r\naccept:`);
    const many = async (count: number) => {
      for (let at = 0; at < count; at++)
        await leave(doze, () => new Promise((resolve) => setTimeout(resolve, 15)));
    };
    await Promise.all(Array.from({ length: 32 }, () => many(65)));
    expect(served().process.exitCode).toBeNull();
    expect((await fetch(new URL("/health", url))).status).toBe(200);
    expect(await called("greet", { name: "Ada" })).toContain("Hello, Ada!");
  });
});

test.each<Way>(["reset", "close"])(
  "clients that leave in the middle of short bodies leave places to others of their address: %s",
  async (way) => {
    const whole = request("greet", { name: "Ada" }, undefined, ADDRESS);
    const partial = async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(whole.slice(0, -5));
      // Its answer is not needed: other requests of the same turn are answered after it has begun.
      await called("greet", { name: "Ada" }, "192.0.2.11");
      if (way === "reset") socket.resetAndDestroy();
      else socket.destroy();
    };
    for (let at = 0; at < 3 * PLACES; at++) await partial();
    await expect.poll(() => called("greet", { name: "Ada" }), SOON).toContain("Hello, Ada!");
  },
);

test.each<Way>(["reset", "close"])(
  "a client that leaves in the middle of its body gives back the room: %s",
  async (way) => {
    const head = (address: string) =>
      `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncf-connecting-ip: ${address}\r\ncontent-length: 4000000\r\n\r\n{`;
    const large = async () => {
      const headers = { "content-type": "application/json", "cf-connecting-ip": "192.0.2.10" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", more: "x".repeat(1e6) });
      const response = await fetch(url, { method: "POST", headers, body });
      await response.text();
      return response.status;
    };
    const sockets: Socket[] = [];
    // Until as many are there as have room: some may be refused while `large` is read.
    const crowded = () => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      socket.write(head("192.0.2.10"));
      sockets.push(socket);
      return large();
    };
    await expect.poll(crowded, SOON).toBe(429);
    for (const socket of sockets) {
      if (way === "close") socket.destroy();
      else socket.resetAndDestroy();
    }
    await expect.poll(large, SOON).toBe(200);
  },
);
