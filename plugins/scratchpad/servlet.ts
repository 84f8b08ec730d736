/** Computes in JavaScript: what a script declares is there for the scripts after it. */
import { defineServlet, inspect, runScript } from "edge-servlets/servlet";
import { mendBuiltIns, protectGlobals } from "./built-ins.ts";

/** Characters of what one call prints, and of its value. */
const MOST = 50_000;

/** What the script of this call has printed. */
let printed: string[] = [];
let left = MOST;

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} characters more)`;
const shown = (value: unknown) => (typeof value === "string" ? value : inspect(value));

function print(...values: unknown[]): void {
  if (left <= 0) return;
  const line = cut(values.map(shown).join(" "), left);
  left -= line.length;
  printed.push(line);
}

/** An error with the line that it was thrown at, and what may help. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return `The script threw ${inspect(error)}`;
  const [, line] = /\bscript:(\d+)/.exec(error.stack ?? "") ?? [];
  const [, name] = /^redeclaration of '(.*)'$/.exec(error.message) ?? [];
  if (name !== undefined)
    return `${String(error)}. ${name} is declared already: assign to it, or take another name.`;
  const trace = (error.stack ?? "").trimEnd();
  return `${String(error)}${line === undefined ? "" : ` (line ${line})`}${trace && `\n${trace}`}`;
}

/** A block of what was printed, and a last line. */
const textOf = (last?: string) => ({
  type: "text" as const,
  text: [...printed, ...(last === undefined ? [] : [last])].join("\n"),
});

export default defineServlet({
  tools: {
    run: {
      title: "Run JavaScript",
      description:
        "Runs a script and returns what it prints with console.log and the value of its last statement. Variables, functions and classes declared at its top last until `reset`: compute step by step, and keep data between calls. It may `await` at its top. If it throws or computes for too long, nothing of it remains: variables are as they were before. There is no network, no file and no module to import.",
      input: {
        type: "object",
        properties: {
          code: { type: "string", maxLength: 200_000, description: "The script, in JavaScript" },
        },
        required: ["code"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          printed: { type: "string" },
          value: { type: "string", description: "As console.log would show it" },
        },
        required: ["printed"],
      },
      annotations: { destructiveHint: false, openWorldHint: false },
      async handler({ code }, context) {
        [printed, left] = [[], MOST];
        let value: unknown;
        let failure: string | undefined;
        try {
          const running = runScript(code);
          // Twice: the kit goes on while the script waits.
          mendBuiltIns();
          value = await running;
        } catch (error) {
          failure = described(error);
        }
        mendBuiltIns();
        if (failure !== undefined) {
          context.discardChanges();
          const text = `${cut(failure, MOST)}\nNothing of this script was kept.`;
          return { content: [textOf(text)], isError: true };
        }
        const last = value === undefined ? undefined : cut(inspect(value), MOST);
        return {
          content: [textOf(last)],
          structuredContent: { printed: textOf().text, ...(last !== undefined && { value: last }) },
        };
      },
    },
    reset: {
      title: "Forget all variables",
      description: "Forgets everything that scripts have declared and changed.",
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
      handler: (_args, context) => {
        context.resetState();
        return "The next script begins with nothing.";
      },
    },
  },
});

const log = { log: print, info: print, debug: print, warn: print, error: print, dir: print };
protectGlobals({
  ...{ console: log, setTimeout, clearTimeout, setInterval, clearInterval, structuredClone },
  ...{ crypto, performance, TextDecoder, TextEncoder, URL, URLSearchParams },
});
