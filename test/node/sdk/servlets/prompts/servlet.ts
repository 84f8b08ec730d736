/** Prompts of each form. */
import { defineServlet, type PromptOutput } from "edge-servlets/servlet";

export default defineServlet({
  prompts: {
    summary: {
      title: "Summary",
      description: "Sums a topic up",
      arguments: {
        topic: {
          title: "Topic",
          description: "What about",
          required: true,
          complete: async (value) => [`${value}1`, `${value}2`],
        },
        tone: { complete: (value, { arguments: { topic } }) => [`${value} on ${topic}`] },
        length: { required: false },
      },
      get({ topic, tone, length }) {
        const exact: [string, string | undefined, string | undefined] = [topic, tone, length];
        // @ts-expect-error: the tone may be missing.
        const wrong: string = tone;
        return `${exact.join("|")} ${wrong === tone}`;
      },
    },
    chat: {
      get: () => [
        { role: "user", content: "a" },
        { role: "assistant", content: { type: "text", text: "b" } },
      ],
    },
    whole: {
      description: "As it is listed",
      get: async () => ({
        description: "As it is given",
        messages: [
          {
            role: "user",
            content: { type: "image", data: new Uint8Array([7]), mimeType: "image/png" },
          },
        ],
        _meta: { a: 1 },
      }),
    },
    told: {
      get(_args, { progress, id }) {
        progress(1);
        return String(id);
      },
    },
    throws: {
      get() {
        throw new Error("no prompt");
      },
    },
    wrong: { get: () => 5 as unknown as PromptOutput },
    many: {
      arguments: {
        n: { complete: (value) => Array.from({ length: Number(value) }, (_, at) => `${at}`) },
        failing: {
          complete() {
            throw new Error("no idea");
          },
        },
      },
      get: ({ n }) => n ?? "",
    },
  },
});
