import { defineServlet, type ScheduleTime } from "edge-servlets/servlet";

/** What has run, of all callers. */
const seen: string[] = [];

const WHEN = {
  id: { type: "string" },
  at: { type: "string" },
  every: { type: "number" },
  cron: { type: "string" },
  timeZone: { type: "string" },
} as const;

const FORM = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
} as const;

export default defineServlet({
  tools: {
    seen: { description: "What has run.", handler: () => seen.join("\n") },
    note: {
      description: "Keeps a text, with who has called.",
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }, { client, meta }) => {
        const { missed = 0 } = (meta["edge-servlets/schedule"] ?? {}) as { missed?: number };
        seen.push(`${client.principal}: ${text}, missed ${missed}`);
        return text;
      },
    },
    later: {
      description: "Has a tool called later.",
      input: {
        type: "object",
        properties: { ...WHEN, tool: { type: "string" }, text: { type: "string" } },
        required: ["text"],
      },
      async handler({ text, tool = "note", ...when }, { schedule }) {
        const made = await schedule({ tool, arguments: { text }, ...(when as ScheduleTime) });
        return { ...made };
      },
    },
    planned: {
      description: "What will be called later.",
      handler: async (_args, { schedules }) => ({ all: await schedules() }),
    },
    forget: {
      description: "Cancels what would be called later.",
      input: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      handler: async ({ id }, { cancelSchedule }) => String(await cancelSchedule(id)),
    },
    crowd: {
      description: "Has many tools called later.",
      input: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
      async handler({ count }, { schedule }) {
        for (let nth = 0; nth < count; nth++)
          await schedule({ every: 3_600_000, tool: "note", arguments: { text: String(nth) } });
        return "done";
      },
    },
    wait: {
      description: "Waits for two days.",
      async handler(_args, { sleep }) {
        await sleep(2 * 86_400_000);
        return "waited";
      },
    },
  },
  schedules: {
    digest: {
      cron: "0 8 * * 1-5",
      timeZone: "Europe/Berlin",
      run({ client }, { due, missed }) {
        seen.push(`${client.principal}: digest ${due.toISOString()}, missed ${missed}`);
      },
    },
    asking: {
      cron: "0 0 1 1 *",
      async run({ elicit }) {
        const answer = await elicit({ message: "What is new?", schema: FORM });
        seen.push(`asked: ${answer.content?.text}`);
      },
    },
  },
});
