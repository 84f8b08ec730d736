import { describe, expect, test } from "vitest";
import {
  caller,
  clock,
  newSecret,
  note,
  NOTE,
  prepareEvents,
  ring,
  type Answer,
  type Received,
} from "./subscribers.ts";

/** Receivers as the rules describe them, line by line: that of ChatGPT, and one of the specification. */
const own = prepareEvents();

/** What both have in common: Standard Webhooks. Throws for whatever breaks a rule. */
class Receiver {
  readonly secret = newSecret();
  readonly events = new Map<string, any>();
  readonly problems: string[] = [];
  subscription: string | undefined;
  url = "";
  /** How many deliveries fail before one is taken. */
  failing = 0;

  /** True if it takes the bodies `gap` and `terminated`. */
  readonly takesControl: boolean = false;
  readonly control: any[] = [];

  readonly answer: Answer = async (received) => {
    try {
      return await this.#taken(received);
    } catch (error) {
      this.problems.push((error as Error).message);
      return new Response(null, { status: 400 });
    }
  };

  async #taken({ headers, text, body }: Received): Promise<Response> {
    const demand = (is: boolean, rule: string) => {
      if (!is) throw new Error(rule);
    };
    demand(headers.get("content-type")?.startsWith("application/json") === true, "JSON");
    demand(text.length <= 256 * 1024, "at most 256 KiB");
    const id = headers.get("webhook-id") ?? "";
    demand(/^[!-~]+$/.test(id), "webhook-id");
    const seconds = Number(headers.get("webhook-timestamp"));
    demand(Math.abs(seconds - Date.now() / 1000) < 300, "a timestamp within five minutes");
    demand(await this.#isSigned(`${id}.${seconds}.${text}`, headers), "a signature of ours");
    const subscription = headers.get("x-mcp-subscription-id") ?? "";
    demand(/^\S+$/.test(subscription), "X-MCP-Subscription-Id");
    demand((this.subscription ??= subscription) === subscription, "one id for a subscription");
    if (body.type === "verification") {
      demand(Object.keys(body).toSorted().join() === "challenge,type", "a plain verification");
      return Response.json({ challenge: body.challenge });
    }
    if (body.type !== undefined) {
      demand(this.takesControl, `no body of the type ${body.type}`);
      demand(id.startsWith(`msg_${body.type}_`), "an id of a control body");
      this.control.push(body);
      return new Response(null, { status: 200 });
    }
    demand(body.eventId === id, "webhook-id is eventId");
    demand(body.name === "note.added", "the name that was subscribed to");
    demand(!Number.isNaN(Date.parse(body.timestamp)), "a timestamp as ISO 8601");
    demand(typeof body.data === "object" && body.data !== null, "data is an object");
    demand(body.cursor === null || typeof body.cursor === "string", "a cursor");
    if (this.failing > 0) {
      this.failing--;
      return new Response(null, { status: 503 });
    }
    this.events.set(body.eventId, body);
    return new Response(null, { status: 202 });
  }

  async #isSigned(signed: string, headers: Headers): Promise<boolean> {
    const bytes = Uint8Array.fromBase64(this.secret.slice("whsec_".length));
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    const all = (headers.get("webhook-signature") ?? "").split(" ");
    for (const one of all) {
      if (!one.startsWith("v1,")) continue;
      const signature = Uint8Array.fromBase64(one.slice(3));
      const text = new TextEncoder().encode(signed);
      if (await crypto.subtle.verify("HMAC", key, signature, text)) return true;
    }
    return false;
  }
}

/** That of the specification takes the bodies that it defines. */
class SpecificationReceiver extends Receiver {
  override readonly takesControl = true;
}

describe.each<[name: string, make: () => Receiver, capabilities: object]>([
  ["ChatGPT", () => new Receiver(), {}],
  [
    "the specification",
    () => new SpecificationReceiver(),
    { extensions: { "io.modelcontextprotocol/events": {} } },
  ],
])("a receiver of %s", (_name, make, capabilities) => {
  async function connected() {
    const ada = await caller();
    const receiver = make();
    receiver.url = own.receivers.add(receiver.answer);
    const { capabilities: server } = await ada.ask("server/discover", {}, { capabilities });
    expect(server.events).toEqual({});
    const { events } = await ada.ask("events/list", {}, { capabilities });
    const found = events.find(({ name }: any) => name === NOTE.name);
    expect(found.delivery).toContain("webhook");
    const params = {
      name: found.name,
      arguments: { topic: "a" },
      delivery: { mode: "webhook", url: receiver.url, secret: receiver.secret },
    };
    const granted = await ada.ask("events/subscribe", params, { capabilities });
    expect(granted).toMatchObject({
      id: receiver.subscription,
      refreshBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      truncated: false,
    });
    const refresh = () => ada.ask("events/subscribe", params, { capabilities });
    return { ada, receiver, params, granted, refresh };
  }

  test("is satisfied from its verification to the end of the subscription", async () => {
    const { ada, receiver, params, granted, refresh } = await connected();
    receiver.failing = 1;
    await ada.emit(note("one"));
    await ada.emit(note("of another topic", "b"));
    await ada.emit(note("two"));
    await expect.poll(() => receiver.events.size).toBe(1);
    await ring(ada);
    clock.aheadMs += 11_000;
    await ring(ada);
    await expect.poll(() => receiver.events.size).toBe(2);
    const refreshed = await refresh();
    expect(refreshed.id).toBe(granted.id);
    expect(refreshed.deliveryStatus).toMatchObject({ active: true, lastError: null });
    expect(Date.parse(refreshed.refreshBefore)).toBeGreaterThanOrEqual(
      Date.parse(granted.refreshBefore),
    );
    // The watermark: nothing that came before it is missing.
    const { events } = await ada.ask("events/poll", { ...NOTE, cursor: refreshed.cursor });
    expect(events).toEqual([]);
    await ada.ask("events/unsubscribe", params, { capabilities });
    await ada.emit(note("three"));
    await ring(ada);
    const texts = new Set([...receiver.events.values()].map(({ data }) => data.text as string));
    expect(texts).toEqual(new Set(["one", "two"]));
    expect(receiver.problems).toEqual([]);
  });

  test("that was away for long gets only bodies that it takes", async () => {
    const { ada, receiver, refresh } = await connected();
    receiver.failing = 5;
    await ada.emit(note("lost"));
    await expect.poll(() => receiver.failing).toBe(4);
    for (const seconds of [11, 61, 181, 481]) {
      clock.aheadMs += seconds * 1000;
      await ring(ada);
    }
    expect((await refresh()).deliveryStatus).toMatchObject({ lastError: "http_5xx" });
    await ada.emit(note("next"));
    await ring(ada);
    await expect.poll(() => receiver.events.size).toBe(1);
    expect(receiver.problems).toEqual([]);
    expect(receiver.control.map(({ type }) => type)).toEqual(receiver.takesControl ? ["gap"] : []);
  });

  test("gets every event after its cursor when its subscription had lapsed", async () => {
    const { ada, receiver, params, granted } = await connected();
    await ada.ask("events/unsubscribe", params, { capabilities });
    for (const text of ["one", "two", "three"]) await ada.emit(note(text));
    const again = await ada.ask(
      "events/subscribe",
      { ...params, cursor: granted.cursor },
      { capabilities },
    );
    expect(again).toMatchObject({ id: granted.id, truncated: false });
    await expect.poll(() => receiver.events.size).toBe(3);
    expect([...receiver.events.values()].map(({ data }) => data.text)).toEqual([
      "one",
      "two",
      "three",
    ]);
    expect(receiver.problems).toEqual([]);
  });
});
