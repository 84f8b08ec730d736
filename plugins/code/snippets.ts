/** Scripts that a caller has saved, and their runs with arguments. */
import { runScript, type Context } from "edge-servlets/servlet";
import { mendBuiltIns } from "./built-ins.ts";

/** The arguments of the snippet that begins, until it takes them. */
let given: unknown;
/** A global by which a snippet takes its arguments when it begins. */
export function takeSnippetArguments(): unknown {
  const taken = given;
  given = undefined;
  return taken;
}

/** How `run_code` reads scripts. */
interface Script {
  /** True for the error of a script with a `return` outside of functions. */
  isReturn(error: unknown): boolean;
  /** True if a value is the one function that a script is. */
  isWhole(value: object, code: string): boolean;
}

/**
 * Runs a snippet and returns its value. It reads its arguments from `args`, or is one arrow function that gets them. Its
 * declarations are local: several snippets may run at once, and none changes the variables of scripts by declaring its own.
 */
export async function valueOfSnippet(
  code: string,
  args: unknown,
  { isReturn, isWhole }: Script,
): Promise<unknown> {
  const begun = (script: string): unknown => {
    given = args;
    // In strict code, functions are local to their block. Without `void 0`, the value of an empty block would be the directive.
    const running = runScript(`"use strict"; void 0; ${script}`);
    mendBuiltIns();
    return running;
  };
  let value: unknown;
  try {
    value = await begun(`{ const args = takeSnippetArguments(); ${code}\n}`);
  } catch (error) {
    if (!isReturn(error)) throw error;
    value = await begun(`(async (args) => { ${code}\n})(takeSnippetArguments())`);
  }
  if (typeof value !== "function" || !isWhole(value, code)) return value;
  const called: unknown = (value as (args: unknown) => unknown)(args);
  mendBuiltIns();
  return called;
}

/** Why a snippet cannot be saved; undefined if it can be. */
async function problemOf(code: string): Promise<string | undefined> {
  const problem = await syntaxProblem(code);
  if (problem !== undefined) return `The code does not parse: ${problem}`;
  const names = new Set([...code.matchAll(/\bvar\s+([\w$]+)/g)].map(([, name]) => name));
  if (names.size === 0) return undefined;
  // A var clashes with a let of the block around it, unless it is inside of a function.
  const clash = await syntaxProblem(`let ${[...names].join()}; {${code}\n}`);
  return clash?.includes("redefinition") === true
    ? "The code declares a variable by var, which would be one of run_code, too. Declare it by let or const."
    : undefined;
}

/**
 * Why code does not parse; undefined if it does. This runs none of it, even if it closes the brackets around it: a script with a
 * syntax error does not begin, and this one has an error after the code.
 */
async function syntaxProblem(code: string): Promise<string | undefined> {
  const before = `"use strict"; (async (args) => { ${code}\n})\n`;
  const line = before.split("\n").length;
  const error = await Promise.try(() => runScript(`${before}@`)).catch((thrown: unknown) => thrown);
  const isAfter = error instanceof Error && error.stack?.includes(`script:${line}:`) === true;
  return isAfter ? undefined : String(error);
}

export interface SnippetInput {
  name: string;
  description: string;
  code: string;
  input?: object | undefined;
  listed?: boolean | undefined;
}

/** Saves a snippet; returns a text that says how to run it. Throws an `Error` that says what to change. */
export async function saved(
  { name, description, code, input, listed }: SnippetInput,
  context: Context,
): Promise<string> {
  const problem = await problemOf(code);
  if (problem !== undefined) throw new Error(problem);
  const { isNew, tool } = await context.saveSnippet({
    name,
    description,
    code,
    ...(input && { input }),
    ...(listed && { listed }),
  });
  const run = `run_snippet({ name: "${name}", arguments: {...} })`;
  const also = tool === undefined ? "" : `, or as the tool ${tool}, which is now in your list`;
  return `${isNew ? "Saved the snippet" : "Replaced the snippet"} ${name}. Run it by ${run}${also}. In scripts: await runSnippet("${name}", {...}).`;
}

/** Lists the snippets of the caller as text, or shows the code of one. Deletes one first if asked to. */
export async function listed(
  { show, delete: deleted }: { show?: string | undefined; delete?: string | undefined },
  context: Context,
): Promise<string> {
  const lines: string[] = [];
  if (deleted !== undefined) {
    const existed = await context.deleteSnippet(deleted);
    lines.push(existed ? `Deleted ${deleted}.` : `There was no snippet ${deleted}.`);
  }
  if (show !== undefined) return [...lines, (await context.savedSnippet(show)).code].join("\n");
  for (const { name, description, input, listed: isTool } of await context.savedSnippets()) {
    const schema = input === undefined ? "" : ` Arguments: ${JSON.stringify(input)}`;
    const about = description.replaceAll(/\s+/g, " ");
    lines.push(`${name}${isTool ? " (a tool)" : ""}: ${about}${schema}`);
  }
  const isEmpty = lines.length === (deleted === undefined ? 0 : 1);
  return [...lines, ...(isEmpty ? ["No snippet is saved. save_snippet saves one."] : [])].join(
    "\n",
  );
}
