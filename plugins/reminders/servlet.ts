/** Reminders of each caller: a text at a time, or by a rule. When one is due, an event tells the caller's clients. */
import { defineServlet, ToolError, type MadeSchedule } from "edge-servlets/servlet";

const MOST_CHARACTERS = 500;

const TEXT = { type: "string", minLength: 1, maxLength: MOST_CHARACTERS } as const;
const ZONE = {
  type: "string",
  description: 'The time zone of the user: an IANA name, such as "Europe/Berlin".',
} as const;

/** A reminder as one line of text. */
function line({
  id,
  arguments: { text },
  cron,
  timeZone = "UTC",
  next,
  paused,
}: MadeSchedule): string {
  const when =
    paused !== undefined
      ? `paused: ${paused}`
      : next === null
        ? "over"
        : `${next.toISOString()}${cron === undefined ? "" : ` and then by ${cron}`} (${timeZone})`;
  return `${id}: ${String(text)}, ${when}`;
}

export default defineServlet({
  events: {
    "reminder.due": {
      description: "A reminder of the caller is due",
      payload: {
        type: "object",
        properties: {
          text: { type: "string" },
          due: { type: "string", description: "When it was due: ISO 8601, in UTC." },
          missed: { type: "integer", description: "How many earlier due times were missed." },
        },
        required: ["text", "due", "missed"],
      },
    },
  },
  tools: {
    remind_me: {
      description:
        "Reminds the user at a time, or again and again. When it is due, the event reminder.due tells their client.",
      input: {
        type: "object",
        properties: {
          text: { ...TEXT, description: "What to remind the user of." },
          at: {
            type: "string",
            description: 'Once, at this local time: "2030-12-04T09:00". Leave `repeat` out.',
          },
          repeat: {
            type: "string",
            description:
              'Again and again, by a cron line: "0 9 * * 1" is each Monday at nine. Leave `at` out.',
          },
          time_zone: ZONE,
        },
        required: ["text", "time_zone"],
      },
      async handler({ text, at, repeat, time_zone: timeZone }, { schedule }) {
        if ((at === undefined) === (repeat === undefined))
          throw new ToolError(`Give either at or repeat. It is ${new Date().toISOString()} now.`);
        const time = repeat === undefined ? { at: at! } : { cron: repeat };
        try {
          const made = await schedule({ tool: "ring", arguments: { text }, ...time, timeZone });
          return `Reminder ${line(made)}`;
        } catch (error) {
          throw new ToolError(
            `${(error as Error).message} It is ${new Date().toISOString()} now, in UTC.`,
          );
        }
      },
    },
    list_reminders: {
      description: "Lists the user's reminders, with their ids and when they are due next.",
      annotations: { readOnlyHint: true },
      async handler(_args, { schedules }) {
        const all = await schedules();
        return all.length === 0 ? "There are no reminders." : all.map(line).join("\n");
      },
    },
    cancel_reminder: {
      description: "Cancels a reminder of the user.",
      input: {
        type: "object",
        properties: { id: { type: "string", description: "As list_reminders has it." } },
        required: ["id"],
      },
      async handler({ id }, { cancelSchedule }) {
        if (await cancelSchedule(id)) return `Cancelled ${id}.`;
        throw new ToolError(`There is no reminder ${id}. See list_reminders.`);
      },
    },
    /** Called by schedules. */
    ring: {
      description: "Tells the clients of the user that a reminder is due.",
      input: { type: "object", properties: { text: TEXT }, required: ["text"] },
      visibility: ["app"],
      async handler({ text }, { emit, meta }) {
        const { due = new Date().toISOString(), missed = 0 } = (meta["edge-servlets/schedule"] ??
          {}) as { due?: string; missed?: number };
        await emit("reminder.due", { text, due, missed });
        return text;
      },
    },
  },
});
