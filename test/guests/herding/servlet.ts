import { defineServlet } from "edge-servlets/servlet";

/** Has very many runs begin: all at once, or some in each second. */
export default defineServlet({
  tools: {
    herd: {
      description: "Has a tool called so many times from a time (Unix ms) on, with this pause.",
      input: {
        type: "object",
        properties: {
          count: { type: "number" },
          from: { type: "number" },
          pauseMs: { type: "number" },
        },
        required: ["count", "from", "pauseMs"],
      },
      async handler({ count, from, pauseMs }, { schedule }) {
        for (let nth = 0; nth < count; nth++)
          await schedule({
            tool: "graze",
            at: new Date(from + nth * pauseMs),
            id: `${from}-${nth}`,
          });
        return "done";
      },
    },
    graze: { description: "Does nothing.", handler: () => "done" },
    herd_begun: {
      description: "How late each run has begun, in ms.",
      async handler(_args, { schedules }) {
        const all = await schedules();
        return { late: all.map(({ at, last }) => last && last.getTime() - Date.parse(at ?? "")) };
      },
    },
  },
});
