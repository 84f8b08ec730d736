/** Limits of bodies and responses. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Responses and event streams that their clients have not read yet, in one isolate; each caller, or /48, may have
     * half of what the others leave before its next request is refused. Responses below `smallAnswer` fit into network
     * buffers.
     */
    unreadBytes: 32 * 1024 * 1024,
    /**
     * Larger responses are written in pieces of this size, one in each turn of the event loop, so that other guests can
     * compute in between.
     */
    answerPiece: 256 * 1024,
    /** Nesting depth of a body: arguments of tools are rarely deeper than ten. */
    bodyDepth: 64,
    /** Unread bytes per stream: the most that its filter can deliver at once. A client with more reads too slowly. */
    listenBacklogBytes: 1024 * 1024,
  },
});
