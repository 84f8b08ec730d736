import {
  AskError,
  ToolCallError,
  type Context,
  type InputRequired,
  type ToolCallResult,
} from "edge-servlets/servlet";

/** Of one step: what to do, and what of the rest it needs. */
const PLAIN_STEP = {
  type: "object",
  properties: {
    do: {
      type: "string",
      enum: [
        "elicit",
        "elicit_url",
        "sample",
        "sample_tools",
        "roots",
        "inputs",
        "back",
        "http",
        "sleep",
        "url_done",
        "updated",
        "changed",
        "config",
        "secret",
        "log",
        "progress",
        "random",
        "chance",
        "all",
        "forever",
        "fail",
        "keep",
        "tally",
        "ask_secret",
        "kept",
        "ask_as",
        "call",
      ],
    },
    /** Of a form, a page, a log line, or progress. */
    message: { type: "string" },
    /** Of a form, in ms. */
    timeout: { type: "number" },
    /** Of the values that are asked for at once. */
    keys: { type: "array", items: { type: "string" } },
    /** The JSON Schema of each of these values. */
    schema: { type: "object" },
    method: { type: "string" },
    url: { type: "string" },
    /** Of a sleep. */
    ms: { type: "number" },
    /** How far it says to be. */
    progress: { type: "number" },
    /** Of a page. */
    id: { type: "string" },
    /** Of an elicitation that is made as it stands. */
    params: { type: "object" },
    /** Of an HTTP request. */
    account: { type: "string" },
    /** Of a secret, and whether it is asked for anew. */
    name: { type: "string" },
    replace: { type: "boolean" },
    /** Goes on where the client has no answer or a tool was not called, and says why. */
    catches: { type: "boolean" },
    /** Calls of tools that are made together. */
    calls: {
      type: "array",
      items: {
        type: "object",
        properties: { tool: { type: "string" }, args: { type: "object" } },
        required: ["tool"],
      },
    },
    /** The tools that follow the branches of a call. */
    tools: { type: "array", items: { type: "string" } },
    /** How often a call is made, one after the other. */
    times: { type: "integer" },
  },
  required: ["do"],
  additionalProperties: false,
} as const;

/** A step with plans that are followed at the same time, for `all` and `call`. */
const over = <const S>(step: S) =>
  ({
    ...PLAIN_STEP,
    properties: {
      ...PLAIN_STEP.properties,
      branches: { type: "array", items: { type: "array", items: step } },
    },
  }) as const;

const STEP = over(over(over(over(over(PLAIN_STEP)))));

export const PLAN = {
  type: "object",
  properties: { steps: { type: "array", items: STEP } },
  required: ["steps"],
  additionalProperties: false,
} as const;

export interface Step {
  do: string;
  message?: string;
  name?: string;
  replace?: boolean;
  account?: string;
  params?: object;
  timeout?: number;
  keys?: readonly string[];
  schema?: object;
  method?: string;
  url?: string;
  ms?: number;
  progress?: number;
  id?: string;
  catches?: boolean;
  calls?: readonly { tool: string; args?: object }[];
  tools?: readonly string[];
  times?: number;
  branches?: readonly (readonly Step[])[];
}

export interface Followed {
  /** Outcome of each step. */
  said: unknown[];
  /** Random, one for each step; they go out with HTTP requests. */
  ids: string[];
  /** When each step was over, in Unix ms. */
  times: number[];
}

/** What a servlet asks to be opened by default. */
const PAGE = "https://page.example/";

const VALUE = {
  type: "object",
  properties: { value: { type: "string" } },
  required: ["value"],
} as const;

const TOOLS = [{ name: "look_up", inputSchema: { type: "object", properties: {} } }];

const pageOf = ({ id }: Step) => (id === undefined ? {} : { elicitationId: id });

/** Where the servlet keeps state: the messages of all steps `keep` that were committed. */
const kept: string[] = [];

const NOTHING: Followed = { said: [], ids: [], times: [] };

/** Follows the plan from where it was, to its end or to the first step that returns what it asks. */
export async function follow(
  steps: readonly Step[],
  context: Context,
  before = NOTHING,
): Promise<Followed> {
  const followed = structuredCopy(before);
  for (const step of steps.slice(followed.said.length)) {
    if (step.do === "back") break;
    const id = crypto.randomUUID();
    const said = doing(step, id, context).catch((error: unknown) => {
      const isRefused = error instanceof AskError || error instanceof ToolCallError;
      if (step.catches === true && isRefused) return error.reason;
      throw error;
    });
    push(followed, await said, id);
  }
  return followed;
}

const structuredCopy = ({ said, ids, times }: Followed): Followed => ({
  said: [...said],
  ids: [...ids],
  times: [...times],
});

function push(followed: Followed, said: unknown, id: string): void {
  followed.said.push(said);
  followed.ids.push(id);
  followed.times.push(Date.now());
}

/** The same where a step `back` is returned: the servlet is called anew, with its own state. */
export async function followBack(
  steps: readonly Step[],
  context: Context,
): Promise<Followed | InputRequired> {
  const { requestState, inputResponses } = context;
  const before = requestState === undefined ? NOTHING : (JSON.parse(requestState) as Followed);
  const given = structuredCopy(before);
  const asked = steps[given.said.length];
  if (requestState !== undefined && asked?.do === "back") {
    push(given, inputResponses, crypto.randomUUID());
  }
  const followed = await follow(steps, context, given);
  const next = steps[followed.said.length];
  if (next === undefined) return followed;
  return {
    resultType: "input_required",
    inputRequests: requestsOf(next),
    requestState: JSON.stringify(followed),
  };
}

function requestsOf({ message = "What?", keys = [], schema = VALUE }: Step) {
  return Object.fromEntries(
    keys.map((key) => {
      const params = { message: `${message} ${key}`, requestedSchema: schema };
      return [key, { method: "elicitation/create" as const, params }];
    }),
  );
}

/** What a tool gave, in brief. */
function valueOf({ structuredContent, content, isError }: ToolCallResult): unknown {
  const text = content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join(" ");
  if (isError) return `error: ${text}`;
  return structuredContent ?? (text.startsWith("{") ? JSON.parse(text) : text);
}

async function doing(step: Step, id: string, context: Context): Promise<unknown> {
  const { account, message = "What?", timeout, keys = [], method = "GET", url = "", ms = 0 } = step;
  const { name = "key", replace = false } = step;
  switch (step.do) {
    case "elicit": {
      const form = { message, schema: VALUE, ...(timeout !== undefined && { timeout }) };
      const { action, content } = await context.elicit(form);
      return content?.value ?? action;
    }
    case "elicit_url":
      return (await context.elicitUrl({ message, url: url || PAGE, ...pageOf(step) })).action;
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
    case "keep":
      kept.push(message);
      return [...kept];
    case "tally": {
      const asked = `${message} after ${kept.length}`;
      const { action, content } = await context.elicit({ message: asked, schema: VALUE });
      return [asked, content?.value ?? action];
    }
    case "roots":
      return context.roots();
    case "inputs": {
      const asks = keys.map((key) => {
        const about = step.message === undefined ? message : `${message} ${key}`;
        const params = { message: about, requestedSchema: step.schema ?? VALUE };
        return [key, { method: "elicitation/create", params }] as const;
      });
      return context.requestInput(Object.fromEntries(asks));
    }
    case "http": {
      const body = method === "GET" ? {} : { body: id };
      const as = account === undefined ? {} : { account };
      const response = await context
        .fetch(url, { method, headers: { "x-id": id }, ...body, ...as })
        .catch((error: Error) => error.message);
      return typeof response === "string" ? response : [response.status, await response.text()];
    }
    case "ask_as": {
      const request = { method: "elicitation/create", params: step.params } as never;
      return context.requestInput({ a: request }).catch((error: Error) => error.message);
    }
    case "sleep":
      await context.sleep(ms);
      return "slept";
    case "config":
      return context.config("greeting");
    case "secret":
      return context.secret("vault", "probe");
    case "ask_secret":
      return (await context.askSecret({ name, message, replace })) ?? null;
    case "kept":
      return context.secret(name) ?? null;
    case "log":
      context.log("info", message);
      console.log(message);
      return undefined;
    case "progress":
      context.progress(step.progress ?? 1, 2, message);
      return undefined;
    case "chance":
      return Math.random();
    case "all":
      return Promise.all((step.branches ?? []).map((branch) => follow(branch, context)));
    case "call": {
      const { branches = [], tools = [], times = 1 } = step;
      const plans = branches.map((steps, nth) => ({ tool: tools[nth]!, args: { steps } }));
      const calls = step.calls ?? plans;
      const answers: unknown[] = [];
      for (let nth = 0; nth < times; nth++) {
        const made = calls.map(({ tool, args }) => context.callTool(tool, args));
        answers.push(...(await Promise.all(made)).map(valueOf));
      }
      return answers;
    }
    case "forever":
      for (;;) context.config("greeting");
    case "fail":
      throw new Error(message);
    default:
      return Math.random() < 1;
  }
}
