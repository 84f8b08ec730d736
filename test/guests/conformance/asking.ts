// Tools that ask the user or the client's model in the middle of a call, and wait.
import { defineTool, type Context } from "edge-servlets/servlet";
import { CONFIRM, DEFAULTS, ENUMS, NAME_AND_EMAIL } from "./forms.ts";
import { NOTHING, oneString } from "./schemas.ts";

export const asking = {
  test_sampling: defineTool({
    description: "Has the client's model answer a prompt",
    input: oneString("prompt", "What to ask the model"),
    handler: ({ prompt }, context) => askModel(context, prompt),
  }),
  test_missing_capability: defineTool({
    description: "Needs sampling",
    input: NOTHING,
    handler: (_args, context) => askModel(context, "Say anything."),
  }),
  test_elicitation: defineTool({
    description: "Asks the user for a name and an address",
    input: oneString("message", "What to say to the user"),
    handler: ({ message }, context) => askUser(context, message, NAME_AND_EMAIL),
  }),
  test_elicitation_sep1034_defaults: defineTool({
    description: "Asks the user with a form that has default values",
    input: NOTHING,
    handler: (_args, context) => askUser(context, "Please review your details", DEFAULTS),
  }),
  test_elicitation_sep1330_enums: defineTool({
    description: "Asks the user with a form that has all kinds of choices",
    input: NOTHING,
    handler: (_args, context) => askUser(context, "Please choose", ENUMS),
  }),
  test_streaming_elicitation: defineTool({
    description: "Asks the user to confirm",
    input: NOTHING,
    handler: (_args, context) => askUser(context, "Please confirm", CONFIRM),
  }),
};

async function askModel({ sample }: Context, prompt: string): Promise<string> {
  const { content } = await sample({
    messages: [{ role: "user", content: { type: "text", text: prompt } }],
    maxTokens: 100,
  });
  return `LLM response: ${content.type === "text" ? content.text : content.type}`;
}

async function askUser({ elicit }: Context, message: string, schema: object): Promise<string> {
  const { action, content } = await elicit({ message, schema });
  return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
}
