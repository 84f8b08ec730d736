/**
 * Tools whose calls may go on as tasks.
 * https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
import { defineTool, RpcError } from "edge-servlets/servlet";
import { oneLine } from "./forms.ts";
import { ask, form, formUnder } from "./rounds.ts";
import { NOTHING, oneString } from "./schemas.ts";

const SLOW = {
  type: "object",
  properties: {
    seconds: { type: "number", minimum: 0, maximum: 3600, description: "How long it takes" },
    label: { type: "string", description: "What to call it" },
  },
  required: ["seconds"],
  additionalProperties: false,
} as const;

const YES_OR_NO = {
  type: "object",
  properties: { confirm: { type: "boolean", description: "Whether to delete it" } },
  required: ["confirm"],
} as const;

const NAME_AND_YES = {
  type: "object",
  properties: { name: { type: "string" }, confirm: { type: "boolean" } },
  required: ["name", "confirm"],
} as const;

const MAY_BE_A_TASK = { execution: { taskSupport: "optional" as const } };
const MUST_BE_A_TASK = { execution: { taskSupport: "required" as const } };

export const tasks = {
  slow_compute: defineTool({
    description: "Computes for some seconds",
    ...MAY_BE_A_TASK,
    input: SLOW,
    async handler({ seconds, label = "something" }, { progress, sleep }) {
      progress(0, 1, `Computing ${label}`);
      await sleep(seconds * 1000);
      progress(1, 1, `Computed ${label}`);
      return `Computed ${label} in ${seconds} s.`;
    },
  }),
  confirm_delete: defineTool({
    description: "Deletes nothing, after asking the user",
    ...MAY_BE_A_TASK,
    input: oneString("filename", "What not to delete"),
    async handler({ filename }, { elicit }) {
      const answer = await elicit({ message: `Delete ${filename}?`, schema: YES_OR_NO });
      return answer.content?.confirm ? `Deleted ${filename}.` : `Kept ${filename}.`;
    },
  }),
  multi_input: defineTool({
    description: "Asks the user two things at once",
    ...MAY_BE_A_TASK,
    input: NOTHING,
    async handler(_args, { requestInput }) {
      const { first, second } = await requestInput({
        first: form("Who is the first?", NAME_AND_YES),
        second: form("Who is the second?", NAME_AND_YES),
      });
      return `Got ${JSON.stringify([first, second])}.`;
    },
  }),
  protocol_error_job: defineTool({
    description: "Ends with a JSON-RPC error",
    ...MAY_BE_A_TASK,
    input: NOTHING,
    handler() {
      throw new RpcError(-32603, "This job ends with a protocol error on purpose.");
    },
  }),
  failing_job: defineTool({
    description: "Fails after a second, as a task only",
    ...MUST_BE_A_TASK,
    input: NOTHING,
    async handler(_args, { sleep }) {
      await sleep(1000);
      throw new Error("This job fails on purpose.");
    },
  }),
  test_tool_with_task: defineTool({
    description: "Asks for a name first, then greets from a task",
    ...MUST_BE_A_TASK,
    input: NOTHING,
    async handler(_args, context) {
      const answer = formUnder("user_name", context);
      if (!answer) return ask({ user_name: form("What is your name?", oneLine("name")) });
      await context.sleep(100);
      return `Hello, ${answer["name"]}!`;
    },
  }),
};
