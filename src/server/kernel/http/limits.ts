/** Limits of bodies and answers. */
import { addLimits } from "../core/limits.ts";
export { limits } from "../core/limits.ts";

declare module "../core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /**
     * Answers and event streams that their clients have not read yet, in one isolate; each caller, or /48, may have half of what
     * the others leave before its next request is refused. Those of less than `smallAnswer` fit into the buffers of the network.
     */
    unreadBytes: 32 * 1024 * 1024,
    /** In such pieces larger answers are written, each in a turn of the event loop, between which others' guests may compute. */
    answerPiece: 256 * 1024,
    /** How deep a body may be nested: arguments of tools are rarely deeper than ten. */
    bodyDepth: 64,
    /** Unread bytes per stream: the most that its filter can deliver at once. A client with more reads too slowly. */
    listenBacklogBytes: 1024 * 1024,
  },
});
