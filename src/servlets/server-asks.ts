import type { Asker } from "../core/asks.ts";
import { limits } from "../core/limits.ts";
import type { Json } from "../core/model.ts";
import { cannotAsk } from "./ask-failures.ts";

/**
 * An asker that answers elicitations of this mode itself, by `lookUp`: a result, or why there is none. It is given `ms`,
 * how long it may wait; it is not waited for once the call is not wanted any more.
 */
export const serverAsker =
  (mode: string, ask: Asker, lookUp: (params: Json, ms: number) => Promise<Json | string>): Asker =>
  async (asks, signal) => {
    const [[key, asked] = []] = Object.entries(asks);
    if (key === undefined || asked?.params["mode"] !== mode) return ask(asks, signal);
    const ms = Math.min(Number(asked.params["ms"]) || 0, limits.pageMs);
    const result = await Promise.race([lookUp(asked.params, ms), aborted(signal)]);
    return { [key]: typeof result === "string" ? cannotAsk(asked, result) : { result } };
  };

/** Rejects when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
