import { defineServlet } from "edge-servlets/servlet";

let count = 0;
const notes: string[] = [];

const FORM = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
} as const;

export default defineServlet({
  tools: {
    next: {
      description: "Counts one more.",
      handler: () => String(++count),
    },
    fail: {
      description: "Counts one more, and fails.",
      handler: () => {
        count++;
        throw new Error("failed on purpose");
      },
    },
    spin: {
      description: "Counts one more, and computes until it is stopped.",
      handler: () => {
        count++;
        for (;;);
      },
    },
    later: {
      description: "Counts one more after two minutes.",
      handler: async (_args, context) => {
        await context.sleep(120_000);
        return String(++count);
      },
    },
    note: {
      description: "Keeps a text that the user gives, and says how many there are.",
      handler: async (_args, context) => {
        context.progress(notes.length);
        const message = `The note after ${count}?`;
        const { content } = await context.elicit({ message, schema: FORM });
        notes.push(content?.text ?? "");
        return notes.join(" ");
      },
    },
  },
});
