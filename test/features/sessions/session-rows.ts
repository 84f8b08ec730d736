import { runInDurableObject } from "cloudflare:test";
import type { Json } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";

/** An object's own tables and its alarm, without the platform's tables. */
export const keptIn = (object: DurableObjectStub) =>
  runInDurableObject(object, async (_instance, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'",
      )
      .toArray();
    return { tables: tables.map(({ name }) => name), alarm: await storage.getAlarm() };
  });
export const NOTHING = { tables: [], alarm: null };
export const isGone = async (task: string) => (await keptIn(objectOf(task))).tables.length === 0;

export const messagesIn = (events: { message?: Json }[]) =>
  events.flatMap(({ message }) => message ?? []);
