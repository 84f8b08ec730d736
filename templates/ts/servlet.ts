import { defineServlet } from "edge-servlets/servlet";

// This runs once, when the servlet is built. Every call starts from there, on its own.
export default defineServlet({
  tools: {
    my_servlet_count: {
      description: "Counts the words, lines and characters of a text.",
      // A JSON Schema; a zod schema does as well. The handler's types come from it.
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
          words: { type: "integer" },
          lines: { type: "integer" },
          characters: { type: "integer" },
        },
        required: ["words", "lines", "characters"],
      },
      // A second parameter, `context`, can ask the user, report progress and more.
      handler({ text }) {
        return {
          words: text.split(/\s+/).filter((word) => word !== "").length,
          lines: text.split("\n").length,
          characters: [...text].length,
        };
      },
    },
  },
});
