import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/kernel/auth/limits.ts";
import type { Deployment } from "../simulate/deployment.ts";
import type { Chance } from "./chance.ts";

/**
 * Bytes in flight: many requests whose bodies are announced or chunked, and come in pieces, do not come to their end, or
 * break off, against the Worker's own code. What is read is counted beside it, from outside: each refusal and each
 * admission must be the one that this count asks for, nothing is read of what is refused before, and in the end
 * everything is given back, to the byte.
 */

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const ENDS = [PING, "{", '{"jsonrpc":"2.0","id":1,"method":"nope"}', "[]"];
const REFUSED = /bytes in concurrent requests|no room for a body/;

/** Where a request comes from, and goes to. */
interface Sender {
  address: string;
  /** Whose account its bytes are on: the address's, or its /48's. */
  owner: string;
  path: "/mcp" | "/nope";
}

function senderOf(chance: Chance): Sender {
  const site = chance.below(3);
  const path = chance.of(0.7) ? "/mcp" : "/nope";
  if (chance.of(0.5)) return { address: `192.0.2.${site}`, owner: `192.0.2.${site}`, path };
  const owner = `2001:db8:${site}`;
  return { address: `${owner}:${chance.below(9)}::1`, owner, path };
}

/** A request, and what of its body was read. */
class Flight {
  readonly sender: Sender;
  /** The bytes that it announces. */
  readonly announced: number | undefined;
  /** Bytes that its account should have. */
  counted = 0;
  pulled = 0;
  isOver = false;
  status = 0;
  text = "";
  #waiting: (() => void) | undefined;
  readonly #parts: Uint8Array[] = [];
  #end: "closed" | "broken" | undefined;

  constructor(
    app: { fetch(request: Request): Promise<Response> },
    sender: Sender,
    announced: number | undefined,
  ) {
    this.sender = sender;
    this.announced = announced;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          while (this.#parts.length === 0 && this.#end === undefined)
            await new Promise<void>((resolve) => (this.#waiting = resolve));
          const part = this.#parts.shift();
          if (part !== undefined) {
            this.pulled += part.length;
            controller.enqueue(part);
          } else if (this.#end === "closed") controller.close();
          else controller.error(new Error("Network connection lost."));
        },
      },
      { highWaterMark: 0 },
    );
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "cf-connecting-ip": sender.address,
      ...(announced !== undefined && { "content-length": String(announced) }),
    };
    const init = { method: "POST", headers, body, duplex: "half" };
    const request = new Request(new URL(sender.path, "http://localhost:8787"), init);
    void this.#settle(app.fetch(request));
  }

  async #settle(coming: Promise<Response>): Promise<void> {
    const response = await coming;
    this.status = response.status;
    this.text = await response.text();
    this.isOver = true;
  }

  give(text: string): void {
    this.#parts.push(new TextEncoder().encode(text));
    this.#waiting?.();
  }

  end(how: "closed" | "broken"): void {
    this.#end ??= how;
    this.#waiting?.();
  }
}

/** Until all has been done that can be done without another event. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Throws where an account is wrong. */
export async function flyBodies(
  chance: Chance,
  { createApp }: Pick<Deployment, "createApp">,
): Promise<void> {
  const usual = { ...limits };
  configureLimits({ bodiesBytes: chance.pick([2000, 20_000, 100_000]) });
  try {
    const app = createApp({ LOG_LEVEL: "error" });
    await play(chance, app);
  } finally {
    configureLimits(usual);
  }
}

async function play(chance: Chance, app: ReturnType<Deployment["createApp"]>): Promise<void> {
  const flights: Flight[] = [];
  const told: string[] = [];
  const fail = (why: string): never => {
    throw new Error(`${why}, of ${limits.bodiesBytes}:\n${told.join("\n")}`);
  };
  const sum = (some: Flight[]) => some.reduce((bytes, { counted }) => bytes + counted, 0);
  const open = () => flights.filter(({ isOver }) => !isOver);

  /** Does what brings more bytes of a request, and sees that they are taken or refused as they should be. */
  async function more(
    { owner, path }: Sender,
    { held, bytes }: { held: number; bytes: number },
    act: () => Flight,
  ): Promise<Flight> {
    const all = sum(open());
    const own = sum(open().filter(({ sender }) => sender.owner === owner));
    const most = Math.floor((limits.bodiesBytes - (all - own)) / 2);
    const isRefused = own + bytes > most && all > held;
    const flight = act();
    await settled();
    // At a path that does not exist a refusal ends the reading, and is not told.
    const wasRefused = path === "/nope" ? isRefused && flight.isOver : REFUSED.test(flight.text);
    if (wasRefused !== isRefused)
      fail(
        `${bytes} more of ${owner} are ${wasRefused ? "" : "not "}refused (own ${own}, all ${all}, most ${most}, status ${flight.status})`,
      );
    if (!isRefused) flight.counted += bytes;
    return flight;
  }

  async function begin(sender: Sender, announced: number | undefined): Promise<Flight> {
    const made = () => {
      const flight = new Flight(app, sender, announced);
      flights.push(flight);
      return flight;
    };
    told.push(`${sender.owner} begins, ${announced === undefined ? "chunked" : `of ${announced}`}`);
    const limit = sender.path === "/nope" ? limits.strayBodyBytes : limits.bodyBytes;
    const isCounted = announced !== undefined && announced <= limit;
    const flight = isCounted ? await more(sender, { held: 0, bytes: announced }, made) : made();
    await settled();
    if (announced !== undefined && announced > limit && !flight.isOver)
      fail("a body that is announced as too large is waited for");
    return flight;
  }

  async function goOn(flight: Flight): Promise<void> {
    const { announced, sender } = flight;
    const isStray = sender.path === "/nope";
    if (chance.of(0.3)) {
      const how = chance.of(0.7) ? "closed" : "broken";
      told.push(`${sender.owner} is ${how}`);
      flight.end(how);
      await settled();
      if (!flight.isOver) fail("a request whose body has ended is not answered");
      return;
    }
    const left = (announced ?? Infinity) - flight.pulled;
    const bytes = Math.min(left, 1 + chance.below(chance.pick([10, 1000, limits.bodiesBytes])));
    if (bytes <= 0) return;
    told.push(`${sender.owner} sends ${bytes}`);
    const text =
      bytes > 60 && chance.of(0.3) ? chance.pick(ENDS).padStart(bytes) : " ".repeat(bytes);
    if (announced !== undefined) {
      flight.give(text);
      await settled();
    } else if (isStray && flight.counted + bytes > limits.strayBodyBytes) {
      flight.give(text);
      await settled();
      if (!flight.isOver) fail("a long body at a path that does not exist is read");
    } else
      await more(sender, { held: flight.counted, bytes }, () => {
        flight.give(text);
        return flight;
      });
  }

  for (let events = 10 + chance.below(60); events > 0; events--) {
    const going = open();
    if (going.length === 0 || chance.of(0.4)) {
      const announced = chance.of(0.5)
        ? undefined
        : 1 + chance.below(chance.pick([10, 1000, limits.bodiesBytes, 2 * limits.bodiesBytes]));
      await begin(senderOf(chance), announced);
    } else await goOn(chance.pick(going));
    const held = open();
    const bytes = held.reduce((all, { pulled }) => all + pulled, 0);
    // A body that is alone always has room.
    const alone = Math.max(0, ...held.map(({ pulled }) => pulled));
    if (bytes > Math.max(limits.bodiesBytes, alone)) fail(`${bytes} bytes are held`);
  }
  for (const flight of open()) flight.end(chance.of(0.5) ? "closed" : "broken");
  await settled();
  const [stuck] = open();
  if (stuck !== undefined) fail(`a request of ${stuck.sender.owner} has no end`);
  told.push("all have ended");
  await allIsBack(begin);
}

/** Each account has room for exactly half of what another leaves. */
async function allIsBack(
  begin: (sender: Sender, announced: number | undefined) => Promise<Flight>,
) {
  const from = (address: string): Sender => ({ address, owner: address, path: "/mcp" });
  const held = await begin(from("198.51.100.1"), 1);
  const most = Math.floor((limits.bodiesBytes - 1) / 2);
  for (const site of [0, 1, 2]) {
    const owner = `2001:db8:${site}`;
    const two: Sender[] = [from(`192.0.2.${site}`), { ...from(`${owner}::1`), owner }];
    for (const sender of two) {
      for (const bytes of [most, most + 1]) {
        const flight = await begin(sender, bytes);
        flight.end("broken");
        await settled();
      }
    }
  }
  held.end("closed");
  await settled();
}
