import { defineServlet, type ScheduleTime } from "edge-servlets/servlet";

const TIMES: Record<string, ScheduleTime> = {
  at: { at: new Date(1_893_484_800_000) },
  every: { every: 7_200_000 },
  cron: { cron: "0 8 * * *", timeZone: "Europe/Berlin" },
};

export default defineServlet({
  tools: {
    plan: {
      input: { type: "object", properties: { kind: { type: "string" } }, required: ["kind"] },
      async handler({ kind }, { schedule }) {
        const made = await schedule({ tool: "say", arguments: { text: "x" }, ...TIMES[kind]! });
        return { ...made };
      },
    },
    planned: { handler: async (_args, { schedules }) => ({ all: await schedules() }) },
    forget: {
      input: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      handler: async ({ id }, { cancelSchedule }) => cancelSchedule(id),
    },
    say: { handler: () => "said" },
  },
  schedules: {
    digest: {
      cron: "0 8 * * 1-5",
      timeZone: "Europe/Berlin",
      run: (_context, { due, missed }) => `${due.toISOString()} ${missed}`,
    },
    failing: {
      every: 3_600_000,
      run() {
        throw new Error("on purpose");
      },
    },
    silent: { every: 3_600_000, run: () => undefined },
  },
});
