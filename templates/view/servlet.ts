import { defineServlet } from "edge-servlets/servlet";

// This runs once, when the servlet is built. Every call starts from there, on its own.
export default defineServlet({
  // Pages that clients show for the results of tools; those that show none read the text.
  views: {
    words: { file: "./words.tsx", title: "Words" },
  },
  tools: {
    my_servlet_words: {
      description: "Counts how often each word is in a text, the most frequent first.",
      view: "words",
      input: {
        type: "object",
        properties: {
          text: { type: "string", description: "The text to look at." },
        },
        required: ["text"],
      },
      output: {
        type: "object",
        properties: {
          words: {
            type: "array",
            items: {
              type: "object",
              properties: { word: { type: "string" }, count: { type: "integer" } },
              required: ["word", "count"],
            },
          },
        },
        required: ["words"],
      },
      handler({ text }) {
        const counts = new Map<string, number>();
        for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu))
          counts.set(word, (counts.get(word) ?? 0) + 1);
        const words = [...counts].map(([word, count]) => ({ word, count }));
        return { words: words.toSorted((a, b) => b.count - a.count) };
      },
    },
  },
});
