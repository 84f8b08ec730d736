import { running } from "../host.ts";

/** Time since the start of the call, in ms: the interpreter's own time origin is that of the snapshot. */
export const performance = {
  get timeOrigin(): number {
    return running.startedAt;
  },
  now(): number {
    return Date.now() - running.startedAt;
  },
};
