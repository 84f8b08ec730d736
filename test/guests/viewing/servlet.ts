import { defineServlet } from "edge-servlets/servlet";

/** Has views, a tool that is for views alone, and one that is not for views. */
export default defineServlet({
  tools: {
    list: {
      description: "Lists",
      input: { type: "object", properties: { card: { type: "string" } } },
      handler: ({ card = "water" }) => ({ cards: [card] }),
    },
    pause: {
      description: "Asks whether to go on",
      handler: async (_given, { elicit }) =>
        (await elicit({ message: "Go on?", schema: { type: "object", properties: {} } })).action,
    },
    pick: {
      description: "Asks for a seat, by a view",
      input: { type: "object", properties: { view: { type: "string" } } },
      handler: async ({ view = "ui://viewing/board" }, { elicit }) => {
        const seat = { type: "integer", minimum: 1, maximum: 9 } as const;
        const schema = { type: "object", properties: { seat }, required: ["seat"] } as const;
        const asked = { message: "Which seat?", schema, _meta: { ui: { resourceUri: view } } };
        return JSON.stringify(await elicit(asked));
      },
    },
    stay_silent: { description: "Has a view that never starts", handler: () => "quiet" },
    move: { description: "Moves", handler: () => "moved" },
    think: { description: "Thinks", handler: () => "thought" },
  },
  resources: { "board://text": { name: "text", read: () => "water" } },
});
