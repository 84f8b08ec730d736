/** The statuses of calls in words, and the groups of the list on the page Live. For the server and the pages' script. */

/** A task's status in words, after its name: "greet is in progress". */
export const STATUSES: Record<string, string> = {
  input_required: "needs an answer",
  working: "is in progress",
  completed: "has ended",
  failed: "has failed",
  cancelled: "was cancelled",
};

/** The headings of the groups, in their order on the page. */
export const GROUPS = {
  waiting: "Waiting for an answer",
  working: "In progress",
  sessions: "Sessions",
  ended: "Ended",
} as const;
export type Group = keyof typeof GROUPS;

/** The group of a call or session, both as `ListedCall` has them. */
export function groupOf({ kind, status }: { kind: string; status: string }): Group {
  if (kind === "session") return "sessions";
  return status === "input_required" ? "waiting" : status === "working" ? "working" : "ended";
}
