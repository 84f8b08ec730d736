import type { CallContext } from "../call-context.ts";
import type { FileStore } from "../files/file-store.ts";
import type { Files } from "../files/files.ts";
import type { BundledServlet } from "../servlets/bundle.ts";
import type { Change, StatefulRun } from "./remote-hooks.ts";
import type { StateRows } from "./state-rows.ts";

/** A run of an export here. */
export type Run = Pick<StatefulRun, "export" | "input" | "call" | "recorded" | "seed"> & {
  /** True if it may be run again from its record. */
  isDurable?: boolean;
};

/** What a run needs of its call's context. */
export type Context = Pick<
  CallContext,
  "signal" | "notify" | "ask" | "gate" | "sending" | "keeper"
>;

/** A call, and the state that it runs in. */
export interface Stateful {
  servlet: BundledServlet;
  rows: StateRows;
  files: Files | undefined;
  run: Run;
  /** Changes of which it tells once it is committed. */
  changes: Change[];
  isCommitted?: boolean;
  signal: AbortSignal;
}

/** What is stored for a scope. */
export interface Stored {
  rows: StateRows;
  files: FileStore;
}

/** What a memory can be used with: its servlet's code and folders, which it has open. */
export const buildOf = ({
  hash,
  manifest: { allowed_paths: paths = [] },
}: BundledServlet): string => [hash, ...paths].join(" ");
