import { loadServlet } from "edge-servlets/testing";
import { expect, test } from "vitest";

const reminders = await loadServlet(import.meta.dirname);

/** A server that keeps schedules and events in memory. */
function server() {
  const kept: Record<string, unknown>[] = [];
  const emitted: unknown[] = [];
  const hostFunctions = {
    "schedules.add": (payload: unknown) => {
      const made = { ...(payload as object), next: Date.UTC(2030, 11, 4, 8), last: null };
      kept.push(made);
      return made;
    },
    "schedules.list": () => kept,
    "schedules.cancel": (payload: unknown) => {
      const at = kept.findIndex(({ id }) => id === (payload as { id: string }).id);
      return at >= 0 && kept.splice(at, 1).length === 1;
    },
    "events.emit": (payload: unknown) => emitted.push(payload),
  };
  const call = async (name: string, args = {}, meta = {}) => {
    const { result } = await reminders.callTool(name, args, { hostFunctions, meta });
    const [block] = result.content;
    return block?.type === "text" ? block.text : "";
  };
  return { call, kept, emitted };
}

test("keeps a reminder for a time, lists it and cancels it", async () => {
  const { call, kept } = server();
  const said = await call("remind_me", {
    text: "Call Ada",
    at: "2030-12-04T09:00",
    time_zone: "Europe/Berlin",
  });
  expect(said).toContain("Call Ada, 2030-12-04T08:00:00.000Z (Europe/Berlin)");
  expect(kept).toMatchObject([{ tool: "ring", arguments: { text: "Call Ada" } }]);
  expect(await call("list_reminders")).toContain("Call Ada");
  const { id } = kept[0] as { id: string };
  expect(await call("cancel_reminder", { id })).toBe(`Cancelled ${id}.`);
  expect(await call("cancel_reminder", { id })).toContain("There is no reminder");
  expect(await call("list_reminders")).toBe("There are no reminders.");
});

test("keeps one that comes again, and says what time it is where there is no time", async () => {
  const { call } = server();
  const weekly = { text: "Water the plants", repeat: "0 9 * * 1", time_zone: "Europe/Berlin" };
  expect(await call("remind_me", weekly)).toContain("and then by 0 9 * * 1");
  expect(await call("remind_me", { text: "x", time_zone: "UTC" })).toContain("Give either");
});

test("tells the client when it is due", async () => {
  const { call, emitted } = server();
  const due = "2030-12-04T08:00:00.000Z";
  const meta = { "edge-servlets/schedule": { name: "a", due, missed: 2 } };
  await call("ring", { text: "Call Ada" }, meta);
  expect(emitted).toMatchObject([
    { name: "reminder.due", data: { text: "Call Ada", due, missed: 2 } },
  ]);
});
