import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";

// This runs once, when the servlet is built. Every call starts from there, on its own.
export default defineServlet({
  tools: {
    greet: {
      description: "Greets somebody by name.",
      input: z.object({ name: z.string() }),
      handler: ({ name }) => `Hello, ${name}!`,
    },
  },
});
