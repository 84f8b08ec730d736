import { defineServlet } from "edge-servlets/servlet";

/** Emits events: what a caller asks for, as many as it asks for, with data of any size. */
export default defineServlet({
  events: {
    "note.added": {
      description: "A note was added",
      input: {
        type: "object",
        properties: { topic: { type: "string" }, size: { type: "integer" } },
        additionalProperties: false,
      },
      payload: {
        type: "object",
        properties: {
          topic: { type: "string" },
          text: { type: "string" },
          size: { type: "integer" },
        },
        required: ["topic"],
        additionalProperties: false,
      },
    },
    news: {
      description: "Something that everyone hears",
      payload: { type: "object", properties: { text: { type: "string" } } },
      to: "everyone",
    },
  },
  tools: {
    emit: {
      description:
        "Emits an event, or several, with text of a length; asks its client then if told to",
      input: {
        type: "object",
        properties: {
          name: { type: "string" },
          data: { type: "object" },
          id: { type: "string" },
          to: { type: "string" },
          times: { type: "integer" },
          length: { type: "integer" },
          isAsking: { type: "boolean" },
        },
        required: ["name"],
      },
      async handler({ name, data = {}, id, to, times = 1, length, isAsking = false }, context) {
        const ids: string[] = [];
        const whole = { ...data, ...(length !== undefined && { text: "x".repeat(length) }) };
        for (let nth = 0; nth < times; nth++) {
          try {
            const options = { ...(id !== undefined && { id }), ...(to !== undefined && { to }) };
            ids.push((await context.emit(name, whole, options as { to?: "everyone" })).id);
          } catch (error) {
            return { ids, error: (error as Error).message };
          }
        }
        if (isAsking) await context.roots();
        return { ids };
      },
    },
  },
});
