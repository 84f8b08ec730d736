// Schedules, a webhook and events, each run of which tells the world what it is.
import { defineServlet, type Context, type ScheduleTime } from "edge-servlets/servlet";

const ID = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;
const URL = { type: "object", properties: { url: { type: "string" } }, required: ["url"] } as const;
const TEXT = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
} as const;

async function tell(url: string, { fetch }: Context): Promise<string> {
  const { status } = await fetch(url, { method: "PUT", body: "told" });
  return `The world says ${status}.`;
}

export default defineServlet({
  events: {
    told: { description: "A text for the caller", payload: TEXT },
    told_all: { description: "A text for everyone", payload: TEXT, to: "everyone" },
  },
  tools: {
    later: {
      description: "Has the world told later.",
      input: {
        type: "object",
        properties: {
          id: { type: "string" },
          at: { type: "string" },
          every: { type: "number" },
          url: { type: "string" },
        },
        required: ["id", "url"],
      },
      async handler({ id, url, ...when }, { schedule }) {
        const { next } = await schedule({
          id,
          tool: "tell",
          arguments: { url },
          ...(when as ScheduleTime),
        });
        return { next: next?.getTime() };
      },
    },
    tell: {
      description: "Tells the world when it was due, and how many earlier times it makes up for.",
      input: URL,
      handler({ url }, context) {
        const { due, missed } = context.meta["edge-servlets/schedule"] as {
          due: string;
          missed: number;
        };
        return tell(`${url}/${Date.parse(due)}/${missed}`, context);
      },
    },
    planned: {
      description: "Schedules of the caller.",
      handler: async (_args, { schedules }) => ({ ids: (await schedules()).map(({ id }) => id) }),
    },
    cancel: {
      description: "Cancels a schedule of the caller.",
      input: ID,
      handler: async ({ id }, { cancelSchedule }) => ({ wasThere: await cancelSchedule(id) }),
    },
    emit: {
      description: "Emits an event for the caller.",
      input: TEXT,
      handler: async ({ text }, context) => ({ id: (await context.emit("told", { text })).id }),
    },
    emit_all: {
      description: "Emits an event for everyone.",
      input: TEXT,
      async handler({ text }, context) {
        return { id: (await context.emit("told_all", { text }, { to: "everyone" })).id };
      },
    },
  },
  webhooks: {
    inbox: {
      verify: { type: "standard", secret: "HOOK_STANDARD" },
      receive: ({ body }, context) => tell(body, context),
    },
  },
});
