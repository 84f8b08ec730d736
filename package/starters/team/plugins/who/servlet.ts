import { defineServlet } from "edge-servlets/servlet";

// This runs once, when the servlet is built. Every call starts from there, on its own.
export default defineServlet({
  tools: {
    who: {
      description: "Says as whom the caller has signed in.",
      handler: (_args, { client }) => `You are ${client.principal}.`,
    },
  },
});
