/** A tool for each kind of call whose cost is measured, but for those that keep state. */
import { defineServlet, defineTool, type Context } from "edge-servlets/servlet";

const NAME = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
} as const;

async function greetAsked({ elicit }: Context): Promise<string> {
  const { content } = await elicit({ message: "Who are you?", schema: NAME });
  return `Hello, ${content?.name}!`;
}

const ask = defineTool({
  description: "Greets a person whose name it asks.",
  input: { type: "object", properties: {} },
  handler: (_given, context) => greetAsked(context),
});

export default defineServlet({
  tools: {
    greet: {
      description: "Greets a person by name.",
      input: NAME,
      annotations: { readOnlyHint: true },
      handler: ({ name }) => `Hello, ${name}!`,
    },
    fetch: {
      description: "Greets with what an API says.",
      async handler(_given, context) {
        return `Hello, ${await (await fetch(context.config("url")!)).text()}!`;
      },
    },
    ask,
    ask_later: ask,
  },
});
