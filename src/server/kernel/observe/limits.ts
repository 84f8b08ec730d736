/** Limits of traces. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Spans of one request, for calls that send many requests; and characters of each text in them, which is usually a
     * name.
     */
    requestSpans: 1000,
    spanCharacters: 256,
    /** Spans that wait for a collector, some 20 MB. */
    queuedSpans: 20_000,
  },
});
