import { createHmac } from "node:crypto";
import type { Json } from "./attempt.ts";
import { Caller, type CallerWorld } from "./caller.ts";
import type { HttpServer } from "./http-server.ts";
import type { Step } from "./programs.ts";
import type { Call } from "./scene.ts";

const SERVLET = "unattended";
const HOST = "https://world.example";
const RECEIVER = "https://receiver.example";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The longest that a client waits for what is due: alarms may be late by more than a day. */
const PATIENCE = 5 * DAY;
/** What the sender of deliveries and the server both know; and what somebody else knows. */
export const HOOK_KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER_KEY = "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** A schedule that a client asked for: its runs tell the world `LABEL/DUE/MISSED`. */
export interface AskedSchedule {
  label: string;
  /** Its period or its time, in ms. */
  every?: number;
  at?: number;
  /** The servers' clock when it was asked for, and when it was first due; that is absent where no answer came. */
  asked: number;
  next?: number;
  /** The true time at which the answer came that it is cancelled. */
  cancelled?: number;
  /** True if its client has waited in vain for a run that was due. */
  isMissing?: boolean;
}

/** A delivery to the webhook: its run tells the world `LABEL`. */
export interface SentDelivery {
  label: string;
  isForged: boolean;
  isAccepted: boolean;
}

/** An event that a client has emitted; times are true. */
export interface Emission {
  type: string;
  caller: number;
  text: string;
  began: number;
  /** Absent where no answer came. */
  id?: string;
  ended?: number;
}

/** What a client has read of one type of events, from where it began; times are true. */
export interface ReadEvents {
  label: string;
  type: string;
  caller: number;
  began: number;
  /** When the last request began that was answered. */
  polled: number;
  seen: { id: string; text: string }[];
  isTruncated: boolean;
}

/** The webhook of a client's own events. */
export interface Subscription {
  label: string;
  type: string;
  caller: number;
  secret: string;
  /** The true time of the first grant. */
  granted: number;
  /** True if its client has waited in vain for an event. */
  isMissing: boolean;
}

/** What the clients of one scene have seen. */
export class Story {
  readonly schedules: AskedSchedule[] = [];
  readonly deliveries: SentDelivery[] = [];
  readonly emissions: Emission[] = [];
  readonly readings: ReadEvents[] = [];
  readonly subscriptions: Subscription[] = [];
  /** Answers that are no results: only where there were faults. */
  readonly refusals: string[] = [];
  /** Answers that no fault explains. */
  readonly problems: string[] = [];
}

type Internet = Pick<HttpServer, "sent" | "deliveries">;

/** Where a run of a schedule was due, in the label that it tells the world. */
export function dueIn(label: string): { of: string; due: number; missed: number } {
  const [of = "", due, missed] = label.split("/");
  return { of, due: Number(due), missed: Number(missed) };
}

export class UnattendedClient {
  readonly world: CallerWorld;
  readonly #call: Call & { label: string };
  readonly #story: Story;
  readonly #internet: Internet;
  readonly #caller: number;
  readonly #own: Caller;

  constructor(
    world: CallerWorld,
    call: Call & { label: string },
    { story, internet }: { story: Story; internet: Internet },
  ) {
    this.world = world;
    this.#call = call;
    this.#story = story;
    this.#internet = internet;
    this.#caller = call.caller ?? 0;
    this.#own = new Caller(world, this.#caller);
  }

  run(): Promise<void> {
    const { client } = this.#call;
    if (client === "scheduler") return this.#schedule();
    return client === "sender" ? this.#send() : this.#subscribe();
  }

  /** The steps of its program, each with its label. */
  get #steps(): { step: Step; label: string }[] {
    return this.#call.program.map((step, at) => ({ step, label: `${this.#call.label}.${at}` }));
  }

  async #schedule(): Promise<void> {
    const own: AskedSchedule[] = [];
    for (const { step, label } of this.#steps) {
      const { ms = 0 } = step;
      if (step.do === "sleep") await this.world.sleep(ms);
      else if (step.do === "look") await this.#tool("planned", {});
      else if (step.do === "cancel") {
        const newest = own.findLast(({ cancelled }) => cancelled === undefined);
        if (newest !== undefined) await this.#cancel(newest);
      } else await this.#ask(label, { [step.do]: ms }, own);
    }
    // Those that are due far ahead come last, so that the others are not run all the while.
    for (const one of own.toSorted((a, b) => (a.next ?? 0) - (b.next ?? 0))) {
      if (one.cancelled !== undefined) continue;
      if (one.next !== undefined) await this.#waitFor(one);
      await this.#cancel(one);
    }
  }

  /** Asks for a schedule until it is told when that is due; each time for another one, as nobody knows whether it got through. */
  async #ask(
    label: string,
    when: { every?: number; at?: number },
    own: AskedSchedule[],
  ): Promise<void> {
    for (let times = 1; ; times++) {
      const asked = this.world.clock();
      // The server reads times to the second.
      const at = when.at === undefined ? {} : { at: 1000 * Math.ceil((asked + when.at) / 1000) };
      const one: AskedSchedule = { label: `${label}-${times}`, asked, ...when, ...at };
      own.push(one);
      this.#story.schedules.push(one);
      const answer = await this.#tool("later", {
        id: one.label,
        url: `${HOST}/${one.label}`,
        ...(one.every !== undefined && { every: one.every }),
        ...(one.at !== undefined && { at: new Date(one.at).toISOString() }),
      });
      if (answer !== undefined) {
        one.next = answer["next"];
        // It may have been set back meanwhile.
        one.asked = Math.min(asked, this.world.clock());
        return;
      }
      await this.#pause(times);
    }
  }

  async #cancel(one: AskedSchedule): Promise<void> {
    await this.#surely("cancel", { id: one.label });
    one.cancelled = this.world.now();
  }

  /** Waits until a run has been seen that was due from now on, or at the schedule's own time. */
  async #waitFor(one: AskedSchedule): Promise<void> {
    const from = this.world.clock();
    const least = one.every === undefined ? one.next! : Math.max(from, one.next!);
    const isSeen = () =>
      this.#internet.sent.some(({ label }) => {
        const { of, due } = dueIn(label);
        return of === one.label && due >= least;
      });
    for (let times = 1; !isSeen(); times++) {
      one.isMissing = this.world.clock() > least + PATIENCE;
      if (one.isMissing) return;
      await this.world.sleep(Math.min(HOUR, (one.every ?? HOUR) / 2));
      if (times % 4 === 0) await this.#tool("planned", {});
    }
  }

  async #send(): Promise<void> {
    for (const { step, label } of this.#steps) {
      if (step.do === "sleep") {
        await this.world.sleep(step.ms ?? 0);
        continue;
      }
      const isForged = step.do === "forge";
      const delivery: SentDelivery = { label, isForged, isAccepted: false };
      this.#story.deliveries.push(delivery);
      // A delivery is sent again, after it was accepted, where the answer is late.
      for (let rest = step.do === "again" ? 2 : 1; rest > 0; rest--)
        for (let times = 1; ; times++) {
          const status = await this.#deliver(delivery);
          if (isForged && status === 202) this.#story.problems.push(`${label} is forged, and 202`);
          if (status === 202) delivery.isAccepted = true;
          if (status === 202 || isForged) break;
          await this.#pause(times);
        }
    }
  }

  /** The status of the answer to a delivery; undefined if it was lost. */
  async #deliver({ label, isForged }: SentDelivery): Promise<number | undefined> {
    const body = `${HOST}/${label}`;
    const seconds = Math.floor(this.world.clock() / 1000);
    const signed = `${label.replace(".", "-")}.${seconds}.${body}`;
    const headers = {
      "webhook-id": label.replace(".", "-"),
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${signature(isForged ? OTHER_KEY : HOOK_KEY, signed)}`,
    };
    const path = `/hooks/${SERVLET}/inbox`;
    this.world.note(`${path} ${body}`);
    return this.#own.request(path, { headers, body }, async (response) => {
      const { status } = response;
      this.world.note(`${status} ${(await response.text()).slice(0, 160)}`);
      return status;
    });
  }

  async #subscribe(): Promise<void> {
    const readings = await Promise.all(
      ["told", "told_all"].map(async (type) => {
        const began = this.world.now();
        const reading = {
          label: this.#call.label,
          type,
          caller: this.#caller,
          began,
          polled: began,
        };
        const one = { ...reading, seen: [], isTruncated: false, cursor: null as string | null };
        await this.#poll(one);
        one.began = this.world.now();
        this.#story.readings.push(one);
        return one;
      }),
    );
    const own: Subscribed[] = [];
    for (const { step, label } of this.#steps) {
      const { ms = 0 } = step;
      if (step.do === "sleep") await this.world.sleep(ms);
      else if (step.do === "poll") for (const one of readings) await this.#poll(one);
      else if (step.do === "refresh") for (const one of own) await this.#grant(one);
      else if (step.do === "emit") await this.#emit(label, step.keys![0]!);
      else own.push(await this.#newSubscription(label, step));
    }
    const from = this.world.clock();
    for (let times = 1; own.some((one) => this.#isMissing(one)); times++) {
      if (this.world.clock() > from + PATIENCE) break;
      await this.world.sleep(times < 20 ? 60_000 : HOUR / 2);
      for (const one of own) await this.#grant(one);
    }
    for (const one of own) {
      one.isMissing = this.#isMissing(one);
      await this.#rpc(
        "events/unsubscribe",
        { ...subjectOf(one), delivery: { url: one.url } },
        true,
      );
    }
    for (const one of readings) await this.#poll(one);
  }

  async #emit(label: string, type: string): Promise<void> {
    for (let times = 1; ; times++) {
      const text = `${label}-${times}`;
      const one: Emission = { type, caller: this.#caller, text, began: this.world.now() };
      this.#story.emissions.push(one);
      const answer = await this.#tool(type === "told" ? "emit" : "emit_all", { text });
      if (answer !== undefined) {
        one.id = answer["id"];
        one.ended = this.world.now();
        return;
      }
      await this.#pause(times);
    }
  }

  /** Reads on from the cursor to the end; from the same cursor again where the answer was lost. */
  async #poll(one: ReadEvents & { cursor: string | null }): Promise<void> {
    for (;;) {
      const began = this.world.now();
      const maxEvents = 1 + this.world.chance.below(3);
      const { cursor } = one;
      const page = await this.#rpc("events/poll", { ...subjectOf(one), cursor, maxEvents });
      for (const { eventId, data } of page["events"])
        one.seen.push({ id: eventId, text: data["text"] });
      one.cursor = page["cursor"];
      one.polled = began;
      if (page["truncated"] === true) one.isTruncated = true;
      if (page["hasMore"] !== true) return;
    }
  }

  async #newSubscription(label: string, { keys, ms }: Step): Promise<Subscribed> {
    const secret = `whsec_${Buffer.from(`secret of the webhook ${label}`.padEnd(32)).toString("base64")}`;
    const one: Subscribed = {
      label,
      type: keys![0]!,
      caller: this.#caller,
      secret,
      granted: 0,
      isMissing: false,
      url: `${RECEIVER}/${label}`,
      cursor: null,
      ttlMs: ms,
    };
    await this.#grant(one);
    one.granted = this.world.now();
    this.#story.subscriptions.push(one);
    return one;
  }

  /** Subscribes, or refreshes the subscription: from where it was, should it have expired. */
  async #grant(one: Subscribed): Promise<void> {
    const { url, secret, cursor, ttlMs } = one;
    const delivery = { mode: "webhook", url, secret };
    const params = { ...subjectOf(one), delivery, cursor, ...(ttlMs !== undefined && { ttlMs }) };
    const granted = await this.#rpc("events/subscribe", params);
    one.cursor = granted["cursor"];
  }

  /** True if its receiver lacks an event that this client has emitted since it was granted. */
  #isMissing({ label, type, granted }: Subscription): boolean {
    return this.#story.emissions.some(
      ({ id, began, text, ...one }) =>
        id !== undefined &&
        one.type === type &&
        began > granted &&
        text.startsWith(`${this.#call.label}.`) &&
        !this.#internet.deliveries.some(
          (other) => other.label === label && other.id === id && other.hasArrived,
        ),
    );
  }

  /** What a tool returns; undefined where nobody can tell whether it has run. */
  async #tool(name: string, args: Json): Promise<Json | undefined> {
    const params = { name: `${SERVLET}-${name}`, arguments: args };
    const result = await this.#answer("tools/call", params);
    if (result === undefined) return undefined;
    if (result["isError"] !== true) return result["structuredContent"];
    const { text } = result["content"][0];
    // It took too long to get there.
    if (args["at"] === undefined || !/its time is over/.test(text)) this.#story.refusals.push(text);
    return undefined;
  }

  /** The same call until it returns. */
  async #surely(name: string, args: Json): Promise<Json> {
    for (let times = 1; ; times++) {
      const answer = await this.#tool(name, args);
      if (answer !== undefined) return answer;
      await this.#pause(times);
    }
  }

  /** The same request until there is a result; the extension's "not found" is one, if `isEnding`. */
  async #rpc(method: string, params: Json, isEnding = false): Promise<Json> {
    for (let times = 1; ; times++) {
      const answer = await this.#answer(method, params, isEnding);
      if (answer !== undefined) return answer;
      await this.#pause(times);
    }
  }

  #answer(method: string, params: Json, isEnding = false): Promise<Json | undefined> {
    const headers = { "mcp-protocol-version": "2025-11-25" };
    return this.#own.message({ method, params, headers }, ({ status }, text) => {
      const { result, error } = JSON.parse(text) as Json;
      if (result !== undefined) return result as Json;
      if (isEnding && error?.code === NOT_FOUND) return {};
      this.#story.refusals.push(`${method}: ${status} ${text}`);
      return undefined;
    });
  }

  #pause(times: number): Promise<void> {
    return this.#own.pause(times);
  }
}

const NOT_FOUND = -32_011;

interface Subscribed extends Subscription {
  url: string;
  cursor: string | null;
  ttlMs: number | undefined;
}

const subjectOf = ({ type }: { type: string }) => ({ name: `${SERVLET}-${type}` });

/** The signature of Standard Webhooks, without its version. */
export const signature = (secret: string, text: string): string =>
  createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(text)
    .digest("base64");
