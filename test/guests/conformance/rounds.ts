/**
 * Tools that do not wait for their answers: they return what they ask, and are called again.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/mrtr
 */
import {
  defineTool,
  RpcError,
  type Context,
  type InputRequest,
  type InputRequired,
} from "edge-servlets/servlet";
import { CONFIRM, oneLine } from "./forms.ts";
import { NOTHING } from "./schemas.ts";

const NAME = form("What is your name?", oneLine("name"));
const CONFIRMATION = form("Please confirm", CONFIRM);
const CAPITAL = question("What is the capital of France?", 100);
const ROOTS: InputRequest = { method: "roots/list", params: {} };

export const rounds = {
  test_input_required_result_elicitation: defineTool({
    description: "Asks for a name, and greets",
    input: NOTHING,
    handler(_args, context) {
      const form = formUnder("user_name", context);
      return form ? `Hello, ${form["name"]}!` : ask({ user_name: NAME });
    },
  }),
  test_input_required_result_sampling: defineTool({
    description: "Asks the client's model for a capital",
    input: NOTHING,
    handler(_args, context) {
      const said = textUnder("capital_question", context);
      return said ?? ask({ capital_question: CAPITAL });
    },
  }),
  test_input_required_result_list_roots: defineTool({
    description: "Asks for the client's roots",
    input: NOTHING,
    handler: (_args, context) =>
      rootsUnder("client_roots", context) ?? ask({ client_roots: ROOTS }),
  }),
  test_input_required_result_request_state: defineTool({
    description: "Asks for a confirmation, and wants its state back",
    input: NOTHING,
    handler: (_args, context) => confirm(context, "asked"),
  }),
  test_input_required_result_tampered_state: defineTool({
    description: "Asks for a confirmation, and refuses any state but its own",
    input: NOTHING,
    handler: (_args, context) => confirm(context, "sealed"),
  }),
  test_input_required_result_multiple_inputs: defineTool({
    description: "Asks the user, the model and the client at once",
    input: NOTHING,
    handler(_args, context) {
      const form = formUnder("user_name", context);
      const greeting = textUnder("greeting", context);
      const roots = rootsUnder("client_roots", context);
      if (form && greeting !== undefined && roots !== undefined) {
        return `${greeting} ${form["name"]} has ${roots}.`;
      }
      const requests = {
        user_name: NAME,
        greeting: question("Generate a greeting", 50),
        client_roots: ROOTS,
      };
      return ask(requests, "all at once");
    },
  }),
  test_input_required_result_multi_round: defineTool({
    description: "Asks for a name, then for a color",
    input: NOTHING,
    handler(_args, context) {
      const { requestState = "" } = context;
      const color = formUnder("step2", context)?.["color"];
      if (requestState.startsWith("name:")) {
        const name = requestState.slice("name:".length);
        return color === undefined ? askColor(name) : `${name} likes ${String(color)}.`;
      }
      const name = formUnder("step1", context)?.["name"];
      if (name !== undefined) return askColor(String(name));
      return ask({ step1: form("Step 1: What is your name?", oneLine("name")) }, "nameless");
    },
  }),
  test_input_required_result_capabilities: defineTool({
    description: "Asks only what the client says it can answer",
    input: NOTHING,
    handler(_args, context) {
      const answers = [
        formUnder("user_name", context)?.["name"],
        textUnder("capital_question", context),
        rootsUnder("client_roots", context),
      ].filter((answer) => answer !== undefined);
      if (answers.length > 0) return answers.join(", ");
      const { elicitation, sampling, roots } = context.client.capabilities;
      const requests = {
        ...(elicitation !== undefined && { user_name: NAME }),
        ...(sampling !== undefined && { capital_question: CAPITAL }),
        ...(roots !== undefined && { client_roots: ROOTS }),
      };
      return Object.keys(requests).length > 0 ? ask(requests) : "There is nobody to ask.";
    },
  }),
};

/** An unfinished result. */
export function ask(requests: Record<string, InputRequest>, state?: string): InputRequired {
  return {
    resultType: "input_required",
    inputRequests: requests,
    ...(state !== undefined && { requestState: state }),
  };
}

export function form(message: string, requestedSchema: object): InputRequest {
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

function question(text: string, maxTokens: number): InputRequest {
  const messages = [{ role: "user", content: { type: "text", text } }];
  return { method: "sampling/createMessage", params: { messages, maxTokens } };
}

const askColor = (name: string) =>
  ask({ step2: form("Step 2: What is your favorite color?", oneLine("color")) }, `name:${name}`);

function confirm(context: Context, state: string): string | InputRequired {
  const { requestState } = context;
  if (requestState === undefined) return ask({ confirm: CONFIRMATION }, state);
  if (requestState !== state) throw new RpcError(-32602, "This state is not of this tool.");
  const answer = formUnder("confirm", context);
  return answer ? `state-ok, confirmed: ${answer["ok"]}` : ask({ confirm: CONFIRMATION }, state);
}

/** The form that the user filled in; undefined while there is none. Throws where there will be none. */
export function formUnder(key: string, { inputResponses }: Context) {
  const { action, content } = objectIn(inputResponses?.[key]);
  if (action === "decline" || action === "cancel") throw new Error("The user did not answer.");
  return action === "accept" ? objectIn(content) : undefined;
}

function textUnder(key: string, { inputResponses }: Context): string | undefined {
  const { text } = objectIn(objectIn(inputResponses?.[key])["content"]);
  return typeof text === "string" ? text : undefined;
}

function rootsUnder(key: string, { inputResponses }: Context): string | undefined {
  const { roots } = objectIn(inputResponses?.[key]);
  return Array.isArray(roots) ? roots.map((root) => objectIn(root)["uri"]).join(", ") : undefined;
}

/** Narrows a client's answer, which may be anything, to an object. */
function objectIn(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
