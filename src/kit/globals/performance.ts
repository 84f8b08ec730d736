import { running } from "../host.ts";

/** Time since the call began, in ms: the interpreter's own origin is that of the snapshot. */
export const performance = {
  get timeOrigin(): number {
    return running.startedAt;
  },
  now(): number {
    return Date.now() - running.startedAt;
  },
};
