import type { PromptMessage, PromptSpec } from "edge-servlets/servlet";
import { embedded, IMAGE } from "./contents.ts";
import { oneLine } from "./forms.ts";
import { ask, form, formUnder } from "./rounds.ts";

const WORDS = ["paris", "park", "party", "test"];

const word = (description: string) => ({
  description,
  required: true,
  complete: (typed: string) => WORDS.filter((one) => one.startsWith(typed)),
});

const user = (content: PromptMessage["content"]): PromptMessage => ({ role: "user", content });

export const prompts = {
  test_simple_prompt: {
    description: "A prompt without arguments",
    get: () => "This is a simple prompt for testing.",
  },
  test_prompt_with_arguments: prompt({
    description: "A prompt with two arguments",
    arguments: { arg1: word("First test argument"), arg2: word("Second test argument") },
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  }),
  test_prompt_with_embedded_resource: prompt({
    description: "A prompt that embeds a resource",
    arguments: {
      resourceUri: { description: "URI of the resource to embed", required: true },
    },
    get: ({ resourceUri }) => [
      user(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user("Please process the embedded resource above."),
    ],
  }),
  test_prompt_with_image: {
    description: "A prompt with an image",
    get: () => [user(IMAGE), user("Please analyze the image above.")],
  },
  test_input_required_result_prompt: prompt({
    description: "A prompt that asks the user for its context",
    get(_args, context) {
      const answer = formUnder("user_context", context);
      return answer
        ? `Use this context: ${answer["context"]}`
        : ask({ user_context: form("What context should the prompt use?", oneLine("context")) });
    },
  }),
};

/** The kit has `defineTool`, and nothing such for prompts. */
function prompt<const A>(spec: PromptSpec<A>): PromptSpec<A> {
  return spec;
}
