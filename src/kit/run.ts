import {
  type ServletEntry,
  logThrown,
  messageOf,
  misuseAtBuild,
  NO_WORDS,
  running,
  thrownText,
} from "./host.ts";
import { jsonOrText } from "./json.ts";
import { isThenable } from "./results.ts";
import { dropCalls, makeCalls } from "./calls.ts";
import { clearTimers, leftTimers, runTimer } from "./timers.ts";

/**
 * An error that the client receives as a JSON-RPC error of the protocol, not as the error of a tool.
 *
 * @example
 * if (args["city"] === "Atlantis") throw new RpcError(-32602, "Unknown city", { city: args["city"] });
 */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Returns an export's output as JSON text, or a promise of it. */
export type ExportHandler = (input: Record<string, unknown>) => unknown;

const NO_INPUT = {};
const rejections = new Map<object, unknown>();
let settled: { output: string } | { failure: string } | undefined;

function succeed(output: unknown): void {
  settled = { output: String(output) };
}

function fail(error: unknown): void {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    settled = { output: JSON.stringify({ error: { code, message, data: jsonOrText(data) } }) };
    return;
  }
  logThrown(error);
  settled = { failure: messageOf(error) };
}

/** Drops timers and calls of tools that the call has not awaited, and logs a warning. */
function clearWaits(): void {
  const left = leftTimers();
  if (left.length > 0) {
    const text = `${running.what} has ended before ${left.length} of its timers, which are dropped: await them, or clear them.`;
    __host.log(3, [text, ...left.slice(0, 3)].join("\n"));
  }
  const unmade = dropCalls();
  if (unmade > 0) {
    const text = `${running.what} has ended before ${unmade} of its calls of tools, which were not made: await them.`;
    __host.log(3, text);
  }
  clearTimers();
  running.hasWaited = false;
}

/** The entry points for the shim. An answer's promise settles while the shim runs jobs and `turn` runs timers. */
export function entryOf(
  answers: Readonly<Record<string, ExportHandler>>,
): Omit<ServletEntry, "manifest"> {
  return {
    exports: Object.keys(answers),

    begin(name) {
      running.call = true;
      running.startedAt = Date.now();
      running.words = NO_WORDS;
      running.received = undefined;
      if (running.hasWaited) clearWaits();
      if (rejections.size > 0) rejections.clear();
      settled = undefined;
      running.what = name;
      try {
        const answer = answers[name];
        if (!answer) throw new RpcError(-32601, `The servlet has no ${name}.`);
        running.input = JSON.parse(__host.input() || "{}") as Record<string, unknown>;
        const output = answer(running.input);
        if (isThenable(output)) output.then(succeed, fail);
        else succeed(output);
      } catch (error) {
        fail(error);
      }
    },

    turn() {
      if (!settled) {
        if (makeCalls() || runTimer()) return 2;
        settled = { failure: `${running.what} awaits a promise that can never settle.` };
        // The call is unfinished, so its changes are incomplete.
        __host.call("discard_changes", "");
        for (const reason of rejections.values()) {
          settled.failure += ` A promise was rejected without a handler: ${messageOf(reason)}`;
        }
      }
      if (rejections.size > 0) {
        const traces = [...rejections.values()].map(thrownText).join("\n");
        __host.log(4, `A promise was rejected without a handler: ${traces}`);
        rejections.clear();
      }
      const ending = settled;
      // Anything left in memory would be stored with the servlet's state.
      if (running.hasWaited) clearWaits();
      settled = undefined;
      running.input = NO_INPUT;
      if ("output" in ending) {
        __host.output(ending.output);
        return 0;
      }
      __host.fail(ending.failure);
      return 1;
    },

    rejection(promise, reason, handled) {
      if (handled) rejections.delete(promise);
      else rejections.set(promise, reason);
    },

    misuse: misuseAtBuild,
  };
}
