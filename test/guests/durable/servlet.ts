// Calls that ask the host for many things: what, and in which order, is an argument.
import {
  defineServlet,
  defineTool,
  type Context,
  type InputRequest,
  type InputRequired,
  type PromptSpec,
} from "edge-servlets/servlet";
import { follow, followBack, PLAN } from "./plan.ts";

const ROUNDS = {
  type: "object",
  properties: {
    rounds: { type: "integer", description: "How often it asks" },
    key: { type: "string", description: "Under which key" },
    post: { type: "string", description: "Where it posts each time, before it asks" },
    isSilent: { type: "boolean", description: "Whether it returns without asking for anything" },
  },
  required: ["rounds"],
} as const;

const NAME = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
} as const;

/** Follows the plan; what came of each step, and the random numbers and times that it saw. */
const plan = defineTool({
  description: "Follows a plan",
  input: PLAN,
  handler: ({ steps }, context) => follow(steps, context),
});

/** The same, for plans with steps `back`. */
const planBack = defineTool({
  description: "Follows a plan, and returns in between",
  input: PLAN,
  handler: ({ steps }, context) => followBack(steps, context),
});

/** Returns what it asks, and is called anew, with its own state: the names so far. */
const rounds = defineTool({
  description: "Asks for names, and returns in between",
  input: ROUNDS,
  async handler({ rounds: count, key = "name", post, isSilent = false }, context) {
    const names = namesSoFar(context, key);
    if (post !== undefined) {
      const { status } = await context.fetch(post, { method: "POST", body: "again" });
      if (status !== 200) throw new Error(`The world says ${status}.`);
    }
    if (names.length >= count) return names.join(" and ");
    return isSilent ? callAgain([...names, "nobody"]) : askFor(key, names);
  },
});

function namesSoFar({ requestState, inputResponses }: Context, key: string): string[] {
  const before = requestState === undefined ? [] : (JSON.parse(requestState) as string[]);
  const answer = inputResponses?.[key] as { content?: { name: string } } | undefined;
  return answer?.content ? [...before, answer.content.name] : before;
}

function askFor(key: string, names: string[]): InputRequired {
  const params = { message: `Name ${names.length + 1}?`, requestedSchema: NAME };
  const request: InputRequest = { method: "elicitation/create", params };
  return {
    resultType: "input_required",
    inputRequests: { [key]: request },
    requestState: JSON.stringify(names),
  };
}

const callAgain = (names: string[]): InputRequired => ({
  resultType: "input_required",
  requestState: JSON.stringify(names),
});

async function nameOf({ elicit }: Context): Promise<string> {
  const { action, content } = await elicit({ message: "Who?", schema: NAME });
  return content?.name ?? action;
}

export default defineServlet({
  instructions: "Plan first.",
  tools: {
    plan,
    plan_never: plan,
    plan_always: plan,
    plan_required: plan,
    plan_back: planBack,
    plan_back_always: planBack,
    rounds,
    rounds_always: rounds,
  },
  prompts: {
    plan_prompt: {
      description: "Asks who it is for",
      get: async (_args, context) => `A prompt for ${await nameOf(context)}`,
    } satisfies PromptSpec<unknown>,
  },
  resources: {
    "plan://resource": {
      name: "plan-resource",
      read: async (_uri, context) => `A resource for ${await nameOf(context)}`,
    },
  },
});
