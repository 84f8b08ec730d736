import { defineServlet } from "edge-servlets/servlet";

/** Has a view, and a tool that is for the view alone. */
export default defineServlet({
  tools: {
    list: { description: "Lists", handler: () => ({ cards: ["water"] }) },
    move: { description: "Moves", handler: () => "moved" },
  },
  resources: { "board://text": { name: "text", read: () => "water" } },
});
