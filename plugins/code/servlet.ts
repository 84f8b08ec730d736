/**
 * Runs a script that calls the server's tools: many steps are one call of the model, and what tools give does not pass through
 * it unless the script prints or returns it. What a script declares is there for the scripts after it.
 */
import {
  type Context,
  defineServlet,
  inspect,
  runScript,
  ToolCallError,
  type ContentBlock,
  type ToolCallResult,
} from "edge-servlets/servlet";
import { mendBuiltIns, protectGlobals } from "./built-ins.ts";
import { redeclarable, withoutReturn } from "./declarations.ts";
import { listed, saved, takeSnippetArguments, valueOfSnippet } from "./snippets.ts";

/** Characters of what one run prints, and of its value. */
const MOST = 50_000;
/** Pictures and other blocks that one run shows, and the characters of all of them. */
const MOST_BLOCKS = 10;
const MOST_DATA = 2_000_000;
/** Tools that are named when a script fails. */
const MOST_CALLS = 20;

/** The state of one run of a script. */
interface Run {
  printed: string[];
  /** Characters that may still be printed. */
  left: number;
  shown: ContentBlock[];
  data: number;
  /** How often each tool was called. */
  called: Map<string, number>;
  allowed: readonly string[] | undefined;
  /** No tool is called after this time, in Unix ms. */
  until: number;
}
let run: Run;
/** The functions of the host, of this call. */
let host: Context;

const begun = (allowed: Run["allowed"], timeout = Infinity): Run => ({
  printed: [],
  left: MOST,
  shown: [],
  data: 0,
  called: new Map(),
  allowed,
  until: Date.now() + timeout * 1000,
});

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} characters more)`;
const shown = (value: unknown) => (typeof value === "string" ? value : inspect(value));

function print(...values: unknown[]): void {
  if (run.left <= 0) return;
  const line = cut(values.map(shown).join(" "), run.left);
  run.left -= line.length;
  run.printed.push(line);
}

/** Shows a picture or another block of a tool's result to the model. */
function show(block: ContentBlock): void {
  const { length } = JSON.stringify(block);
  if (run.shown.length === MOST_BLOCKS || run.data + length > MOST_DATA)
    throw new Error(`A run shows at most ${MOST_BLOCKS} blocks of ${MOST_DATA} characters in all.`);
  run.data += length;
  run.shown.push(block);
}

/** Calls a tool; gives its whole result. Throws a `ToolCallError` if the tool was not called. */
async function callTool(name: string, args: object = {}): Promise<ToolCallResult> {
  if (run.allowed?.includes(name) === false)
    throw new Error(`This run may call ${run.allowed.join(", ") || "no tools"}, not ${name}.`);
  if (Date.now() > run.until) throw new Error("The run has taken longer than its timeout.");
  const result = await host.callTool(name, args);
  run.called.set(name, (run.called.get(name) ?? 0) + 1);
  return result;
}

/** A result as `tools.NAME` gives it: its structured content, else its text, else its blocks. Throws if the tool has failed. */
function valueOf(name: string, { isError, structuredContent, content }: ToolCallResult): unknown {
  const texts = content.flatMap((one) => (one.type === "text" ? [one.text] : []));
  if (isError === true) throw new Error(`${name}: ${texts.join("\n")}`);
  if (structuredContent !== undefined) return structuredContent;
  return texts.length === content.length ? texts.join("\n") : content;
}

const tools = new Proxy(
  {},
  {
    get: (_, name) =>
      typeof name === "string" && name !== "then"
        ? async (args?: object) => valueOf(name, await callTool(name, args))
        : undefined,
  },
);

/** Asks the user to fill in a form; undefined if they do not. */
async function ask(message: string, schema: object = { type: "object", properties: {} }) {
  const answer = await host.elicit({ message, schema: schema as { type: "object" } });
  return answer.action === "accept" ? answer.content : undefined;
}

/** An error with the line that it was thrown at, and what may help. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return `The script threw ${inspect(error)}`;
  const [, line, column] = /\bscript:(\d+)(?::(\d+))?/.exec(error.stack ?? "") ?? [];
  const [, name] = /^redeclaration of '(.*)'$/.exec(error.message) ?? [];
  if (name !== undefined)
    return `${String(error)}. ${name} is a class or a name of the language: take another name.`;
  const where = line === undefined ? "" : ` (line ${line}${column ? `, column ${column}` : ""})`;
  const trace = (error.stack ?? "").trimEnd();
  return `${String(error)}${where}${trace && `\n${trace}`}`;
}

/** The tools that a failed script has called: their effects stay. */
function done(): string {
  const calls = [...run.called].map(([name, times]) => (times === 1 ? name : `${name} (${times})`));
  if (calls.length === 0) return "It has called no tools.";
  const more = calls.length > MOST_CALLS ? `, and ${calls.length - MOST_CALLS} more` : "";
  return `Before that it has called ${calls.slice(0, MOST_CALLS).join(", ")}${more}: what these have done stays.`;
}

/** Runs a script in the global scope. Rejects with what it throws; before it begins, if it does not parse. */
async function running(script: string): Promise<unknown> {
  const value = runScript(redeclarable(script, protectedNames));
  // Once more after the script: the kit goes on while it waits.
  mendBuiltIns();
  return value;
}

/** The value of a script: of its last statement, of its `return`, or of a call if the script is one arrow function. */
async function valueOfScript(code: string): Promise<unknown> {
  let value: unknown;
  try {
    value = await running(code);
  } catch (error) {
    if (!isReturn(error)) throw error;
    value = await returnedBy(code);
  }
  if (typeof value !== "function" || !isWhole(value, code)) return value;
  // Models that know other code modes give it a parameter for the tools.
  const called: unknown = (value as (given: object) => unknown)(tools);
  mendBuiltIns();
  return called;
}

/** True if a script did not begin, because it has a `return` outside of functions. */
const isReturn = (error: unknown): boolean =>
  error instanceof SyntaxError &&
  error.message === "return not in a function" &&
  // Otherwise code that has begun threw it, such as an `eval`.
  /^\s*at script:/.test(error.stack ?? "");

/** The value of a script with a `return` outside of functions. If that is its last statement, its variables last. */
async function returnedBy(code: string): Promise<unknown> {
  const plain = withoutReturn(code);
  if (plain !== undefined && parses(plain)) {
    try {
      return await running(plain);
    } catch (error) {
      if (!isReturn(error)) throw error;
    }
  }
  return running(`(async () => {${code}\n})()`);
}

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
  code: string,
) => unknown;

function parses(code: string): boolean {
  try {
    void new AsyncFunction(code);
    return true;
  } catch {
    return false;
  }
}

/** True if a script is one arrow function, with at most comments, brackets and semicolons around it. */
function isWhole(value: object, code: string): boolean {
  const text = String(value);
  const at = code.indexOf(text);
  const around = [code.slice(0, at), code.slice(at + text.length)];
  const isArrow = !/^(?:async\s+)?(?:function|class)\b/.test(text);
  return isArrow && at >= 0 && around.every((one) => AROUND.test(one));
}

const AROUND = /^(?:[\s();]|\/\/.*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

/** The value of a saved script with these arguments. Throws if there is none, or they do not match its schema. */
async function runSnippet(name: string, args: object = {}): Promise<unknown> {
  const { code, arguments: fitted } = await host.savedSnippet(name, args);
  return valueOfSnippet(code, fitted, { isReturn, isWhole });
}

/** The result of a run that ends with the value of this work, or with its error. */
async function resultOf(work: () => Promise<unknown>, context: Context) {
  let value: unknown;
  let failure: string | undefined;
  try {
    value = await work();
  } catch (error) {
    failure = described(error);
  }
  mendBuiltIns();
  if (failure !== undefined) {
    context.discardChanges();
    const text = `${cut(failure, MOST)}\n${done()} No variable was changed.`;
    return { content: [textOf(text), ...run.shown], isError: true };
  }
  const last = value === undefined ? undefined : cut(inspect(value), MOST);
  return {
    content: [textOf(last), ...run.shown],
    structuredContent: { printed: textOf().text, ...(last !== undefined && { value: last }) },
  };
}

/** The result of a run. */
const output = {
  type: "object",
  properties: {
    printed: { type: "string" },
    value: { type: "string", description: "As console.log would show it" },
  },
  required: ["printed"],
} as const;

const snippetName = {
  type: "string",
  maxLength: 64,
  description: "Letters, digits and _",
} as const;

/** A block of what was printed, and a last line. */
const textOf = (last?: string) => ({
  type: "text" as const,
  text: [...run.printed, ...(last === undefined ? [] : [last])].join("\n"),
});

export default defineServlet({
  tools: {
    run_code: {
      title: "Run a script that calls tools",
      description: `Runs JavaScript (no types), and returns what it prints with console.log and its value: that of its last statement, or what it returns. Only that is shown: compute with what tools give instead of reading it.
- tools.NAME({...}) calls a tool of this server, by its listed name (tools["a-b"] for others): resolves with its structuredContent, else its text; throws if it fails. callTool(name, args) resolves with the whole result. Use Promise.all for calls that do not need each other.
- ask(message, schema?) asks the user, sleep(ms) waits, progress(done, total, message) tells how far it is, show(block) shows a picture of a result.
- runSnippet(name, args) gives the value of a script that save_snippet has saved.
- It may await at its top. What it declares at its top lasts for later runs: keep data in variables. One that returns from its middle, or is a function, keeps none.
If it throws, its variables are as they were before; what tools have done stays. There is no network, no file and no module to import.`,
      input: {
        type: "object",
        properties: {
          code: {
            type: "string",
            maxLength: 200_000,
            description: "The script",
            examples: ["[3, 1, 2].toSorted()"],
          },
          tools: {
            type: "array",
            items: { type: "string" },
            description: "The only tools that it may call; all if absent",
          },
          timeout: {
            type: "number",
            exclusiveMinimum: 0,
            description: "Seconds after which it calls no more tools; waiting for answers counts",
          },
          reset: {
            type: "boolean",
            description: "Forget after this run what scripts have declared, also in this one",
          },
        },
        required: ["code"],
        additionalProperties: false,
      },
      output,
      async handler({ code, tools: allowed, timeout, reset }, context) {
        [run, host] = [begun(allowed, timeout), context];
        const result = await resultOf(() => valueOfScript(code), context);
        if (reset === true && !("isError" in result)) context.resetState();
        return result;
      },
    },
    save_snippet: {
      title: "Save a script",
      description: `Saves a script for later, under a name: one for run_code that reads its arguments from the variable args, or one (async) arrow function that gets them. Saving again replaces it. What it declares is its own; it can read the variables of run_code.`,
      input: {
        type: "object",
        properties: {
          name: snippetName,
          description: {
            type: "string",
            minLength: 1,
            maxLength: 1000,
            description: "What it does, for who chooses it later",
          },
          code: {
            type: "string",
            minLength: 1,
            maxLength: 100_000,
            examples: ["async ({ id }) => tools.close_issue({ id })"],
          },
          input: {
            type: "object",
            additionalProperties: true,
            description: "JSON Schema of its arguments, an object; any if absent",
          },
          listed: {
            type: "boolean",
            description: "Whether it is also a tool of its own, snippet_NAME, for this user alone",
          },
        },
        required: ["name", "description", "code"],
        additionalProperties: false,
      },
      annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
      handler: saved,
    },
    run_snippet: {
      title: "Run a saved script",
      description: "Runs a script that save_snippet has saved. What it gives is that of run_code.",
      input: {
        type: "object",
        properties: {
          name: snippetName,
          arguments: { type: "object", additionalProperties: true },
        },
        required: ["name"],
        additionalProperties: false,
      },
      output,
      handler({ name, arguments: args }, context) {
        [run, host] = [begun(undefined), context];
        return resultOf(() => runSnippet(name, args), context);
      },
    },
    snippets: {
      title: "List saved scripts",
      description: "Lists the saved scripts; shows the code of one, or deletes one first.",
      input: {
        type: "object",
        properties: { show: snippetName, delete: snippetName },
        additionalProperties: false,
      },
      annotations: { openWorldHint: false },
      handler: listed,
    },
  },
});

/** No script can declare these. */
let protectedNames: ReadonlySet<string>;
const log = { log: print, info: print, debug: print, warn: print, error: print, dir: print };
protectedNames = protectGlobals({
  console: log,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  structuredClone,
  crypto,
  performance,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  tools,
  callTool,
  ToolCallError,
  ask,
  show,
  runSnippet,
  takeSnippetArguments,
  sleep: (ms: number) => host.sleep(ms),
  progress: (done: number, total?: number, message?: string) => host.progress(done, total, message),
});
