import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { ShownSchedule } from "../../../src/server/features/schedules/schedule.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  clock,
  newAddress,
  prepare,
  send,
  serverOf,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";

/** The servlet `reminders`, whose schedules emit events, as time passes. */
prepare();

const server = serverOf(bundle);

/** A person at an address, with a client that polls for reminders. */
async function person() {
  const address = newAddress();
  const schedules = env.SCHEDULES!.getByName(`address ${address}`);
  const sent = { server, headers: { "cf-connecting-ip": address }, capabilities: {} };
  const ask = async (method: string, params: Json): Promise<any> => {
    const { result, error } = await send(method, params, sent);
    if (result === undefined) throw new Error(JSON.stringify(error));
    return result;
  };
  const call = async (name: string, args: Json = {}) =>
    textIn(await send("tools/call", { name, arguments: args }, sent));
  let cursor: string | null = null;
  const heard = async (): Promise<Json[]> => {
    const polled: Json = await ask("events/poll", { name: "reminder.due", arguments: {}, cursor });
    cursor = polled["cursor"];
    return polled["events"].map(({ data }: Json) => data);
  };
  const listed = (): Promise<ShownSchedule[]> => schedules.list();
  /** Lets all alarms until this time (Unix ms) go off, at their times or, if the server was down, at its end. */
  const passUntil = async (end: number, { isDown = false } = {}) => {
    for (;;) {
      const all = await listed();
      const next = Math.min(...all.map((one) => one.next ?? Infinity));
      if (next > end) break;
      clock.aheadMs += (isDown ? end : next) - Date.now();
      await runDurableObjectAlarm(schedules);
      const begun = (await listed()).flatMap(({ runs }) => runs);
      for (const { task } of begun) if (task) await runDurableObjectAlarm(objectOf(task));
    }
    clock.aheadMs += Math.max(0, end - Date.now());
  };
  await heard();
  return { call, heard, passUntil };
}

const DAY = 86_400_000;
/** The first Friday, at nine in Berlin, that is more than two days ahead. */
function friday(): { local: string; due: number } {
  const day = new Date(Date.now() + 2 * DAY);
  while (day.getUTCDay() !== 5) day.setTime(day.getTime() + DAY);
  const date = day.toISOString().slice(0, 10);
  const berlin = new Intl.DateTimeFormat("en", {
    timeZone: "Europe/Berlin",
    hour: "numeric",
    hourCycle: "h23",
  });
  const isSummer = berlin.format(new Date(`${date}T07:00:00Z`)) === "09";
  return { local: `${date}T09:00`, due: Date.parse(`${date}T0${isSummer ? 7 : 8}:00:00Z`) };
}

describe("a reminder", () => {
  test("reaches the client of its caller at its time, once", async () => {
    const { call, heard, passUntil } = await person();
    const { local, due } = friday();
    const wanted = { text: "Call Ada", at: local, time_zone: "Europe/Berlin" };
    expect(await call("remind_me", wanted)).toContain(new Date(due).toISOString());
    await passUntil(due - 1000);
    expect(await heard()).toEqual([]);
    await passUntil(due + 1000);
    const told = { text: "Call Ada", due: new Date(due).toISOString(), missed: 0 };
    expect(await heard()).toEqual([told]);
    await passUntil(due + 8 * DAY);
    expect(await heard()).toEqual([]);
    expect(await call("list_reminders")).toContain("over");
  });

  test("that comes again each Monday says which days it could not be kept", async () => {
    const { call, heard, passUntil } = await person();
    const wanted = { text: "Water", repeat: "0 9 * * 1", time_zone: "Europe/Berlin" };
    await call("remind_me", wanted);
    const start = Date.now();
    for (const days of [7, 14]) {
      await passUntil(start + days * DAY);
      expect(await heard()).toMatchObject([{ missed: 0 }]);
    }
    await passUntil(start + 35 * DAY, { isDown: true });
    expect(await heard()).toMatchObject([{ text: "Water", missed: 2 }]);
  });

  test("that is cancelled reaches nobody, nor does another caller's", async () => {
    const [ada, bob] = [await person(), await person()];
    const { local, due } = friday();
    const wanted = { text: "Call Ada", at: local, time_zone: "Europe/Berlin" };
    const [, id] = /Reminder (\S+):/.exec(await ada.call("remind_me", wanted))!;
    await bob.call("remind_me", { ...wanted, text: "Bob's" });
    expect(await bob.call("cancel_reminder", { id })).toContain("There is no reminder");
    expect(await ada.call("cancel_reminder", { id })).toBe(`Cancelled ${id}.`);
    await ada.passUntil(due + DAY);
    expect(await ada.heard()).toEqual([]);
  });
});
