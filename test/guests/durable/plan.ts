import { AskError, type Context } from "edge-servlets/servlet";

/** Of one step: what to do, and what of the rest it needs. */
const STEP = {
  type: "object",
  properties: {
    do: {
      type: "string",
      enum: [
        ...["elicit", "elicit_url", "sample", "sample_tools", "roots", "inputs", "http", "sleep"],
        ...["url_done", "updated", "changed"],
        ...["config", "secret", "log", "progress", "random", "forever", "fail"],
      ],
    },
    /** Of a form, a page, a log line, or progress. */
    message: { type: "string" },
    /** Of a form, in ms. */
    timeout: { type: "number" },
    /** Of the values that are asked for at once. */
    keys: { type: "array", items: { type: "string" } },
    method: { type: "string" },
    url: { type: "string" },
    /** Of a sleep. */
    ms: { type: "number" },
    /** Of a page. */
    id: { type: "string" },
    /** Goes on where the client has no answer, and says why there is none. */
    catches: { type: "boolean" },
  },
  required: ["do"],
  additionalProperties: false,
} as const;

export const PLAN = {
  type: "object",
  properties: { steps: { type: "array", items: STEP } },
  required: ["steps"],
  additionalProperties: false,
} as const;

interface Step {
  do: string;
  message?: string;
  timeout?: number;
  keys?: readonly string[];
  method?: string;
  url?: string;
  ms?: number;
  id?: string;
  catches?: boolean;
}

interface Followed {
  /** What came of each step. */
  said: unknown[];
  /** Random, one for each step; they go out with HTTP requests. */
  ids: string[];
  /** When each step was over, in Unix ms. */
  times: number[];
}

const VALUE = {
  type: "object",
  properties: { value: { type: "string" } },
  required: ["value"],
} as const;

const TOOLS = [{ name: "look_up", inputSchema: { type: "object", properties: {} } }];

const pageOf = ({ id }: Step) => (id === undefined ? {} : { elicitationId: id });

export async function follow(steps: readonly Step[], context: Context): Promise<Followed> {
  const followed: Followed = { said: [], ids: [], times: [] };
  for (const step of steps) {
    const id = crypto.randomUUID();
    const said = doing(step, id, context).catch((error: unknown) => {
      if (step.catches === true && error instanceof AskError) return error.reason;
      throw error;
    });
    followed.said.push(await said);
    followed.ids.push(id);
    followed.times.push(Date.now());
  }
  return followed;
}

async function doing(step: Step, id: string, context: Context): Promise<unknown> {
  const { message = "What?", timeout, keys = [], method = "GET", url = "", ms = 0 } = step;
  switch (step.do) {
    case "elicit": {
      const form = { message, schema: VALUE, ...(timeout !== undefined && { timeout }) };
      const { action, content } = await context.elicit(form);
      return content?.value ?? action;
    }
    case "elicit_url":
      return (await context.elicitUrl({ message, url, ...pageOf(step) })).action;
    case "url_done":
      context.notifyElicitationComplete(step.id ?? "");
      return undefined;
    case "sample":
    case "sample_tools": {
      const content = { type: "text" as const, text: message };
      const asked = { messages: [{ role: "user" as const, content }], maxTokens: 10 };
      const tools = step.do === "sample" ? {} : { tools: TOOLS, toolChoice: { mode: "required" } };
      return (await context.sample({ ...asked, ...tools })).content;
    }
    case "updated":
      context.notifyResourceUpdated(url);
      return undefined;
    case "changed":
      context.notifyResourcesChanged();
      return undefined;
    case "roots":
      return context.roots();
    case "inputs": {
      const params = { message, requestedSchema: VALUE };
      const asks = keys.map((key) => [key, { method: "elicitation/create", params }] as const);
      return context.requestInput(Object.fromEntries(asks));
    }
    case "http": {
      const body = method === "GET" ? {} : { body: id };
      const response = await context
        .fetch(url, { method, headers: { "x-id": id }, ...body })
        .catch((error: Error) => error.message);
      return typeof response === "string" ? response : [response.status, await response.text()];
    }
    case "sleep":
      await context.sleep(ms);
      return "slept";
    case "config":
      return context.config("greeting");
    case "secret":
      return context.secret("vault", "probe");
    case "log":
      context.log("info", message);
      console.log(message);
      return undefined;
    case "progress":
      context.progress(1, 2, message);
      return undefined;
    case "forever":
      for (;;) context.config("greeting");
    case "fail":
      throw new Error(message);
    default:
      return Math.random() < 1;
  }
}
